"""A faithful local Alpaca paper account (RELIABILITY §3): REST, stream, rules, fills, faults."""

from fakes.alpaca.fake import FakeAlpaca
from fakes.alpaca.faults import FAULTS, FaultPlan, FaultSchedule
from fakes.alpaca.market_hours import AlwaysOpen, NewYorkHours
from fakes.alpaca.venue import VenueOptions

__all__ = [
    "FAULTS",
    "AlwaysOpen",
    "FakeAlpaca",
    "FaultPlan",
    "FaultSchedule",
    "NewYorkHours",
    "VenueOptions",
]
