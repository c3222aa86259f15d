"""What a session was started with: `session.json` of its folder, from which it is resumed."""

from __future__ import annotations

from dataclasses import dataclass, field

from tradingbot.market.costs import CostProfile
from tradingbot.market.params import SimulatorParams
from tradingbot.risk.limits import SESSION_RISK, RiskLimits, SessionLimits
from tradingbot.runtime.brokers.paper.options import PaperOptions


@dataclass(frozen=True)
class SessionSettings:
    """Everything that must not change while a session lives."""

    name: str
    model: str
    """Path of the bundle that decides."""
    model_sha256: str
    run: str
    """Id of the run that the model was exported from."""
    dataset: str | None
    """Name of the dataset that is replayed; None: the market that the run generated."""
    data_sha256: str
    """Of the bars."""
    first_bar: int
    """Number of the bar of the first decision."""
    stop_bar: int | None
    """Number after that of the last bar; None: bars come as they close."""
    calendar: str
    timeframe: str
    grid: str
    rules: SimulatorParams = field(default_factory=SimulatorParams)
    costs: CostProfile = field(default_factory=CostProfile)
    limits: RiskLimits = SESSION_RISK
    """Of one order against the whole account."""
    session_limits: SessionLimits = field(default_factory=SessionLimits)
    venue: PaperOptions = field(default_factory=PaperOptions)
    broker: str = "paper"
    """`paper`: the built-in one; `alpaca`: Alpaca's paper account."""
    bars: str = "replay"
    """`replay` of the dataset; `alpaca` or `folder:PATH`: the dataset is history, and bars come as
    they close."""
    authorised: tuple[str, ...] = ()
    """Names of those who may arm a breaker again."""
    speed: float = 0.0
    """How many times faster than real time bars follow each other; 0: at once."""
    shadow: str | None = None
    """Path of the bundle that decides beside the model."""
    shadow_sha256: str | None = None
    splits: str | None = None
    """Path of the file that announces splits to the built-in broker."""
    journal: str | None = None
    """Address of the database that its journal is in, without a password; None: a file of its
    folder."""
    verdict: str | None = None
    """Of the gates on the model."""
    standing: str = ""
    """Version, state and accepted verdict of the model when the session was started."""

    @property
    def is_replay(self) -> bool:
        """Whether stored bars are traded again; else they come as they close."""
        return self.bars == "replay"
