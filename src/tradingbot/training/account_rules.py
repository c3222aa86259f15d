"""What learners ask of accounts: numbers that agents must see, positions that must be possible.

Told before torch is imported and data are opened; what reads the numbers asks again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from tradingbot.agents.options.rules import OPTION_READS
from tradingbot.configuration.conflicts import place_conflict
from tradingbot.configuration.yaml_reader import KeyPath, Place
from tradingbot.domain.errors import ConfigError
from tradingbot.market.goals import GOAL_READS
from tradingbot.training.config import TrainConfig

_PRIVATE, _MOST = "task.private", "task.rules.limits.max_position_frac"
_ENTRY = "options.entry_position_frac"


class _Reader(NamedTuple):
    """What reads private numbers of accounts beside their agents."""

    rule: str
    reads: tuple[str, ...]
    key: str
    """Dotted key that turns it on."""


def check_accounts(
    config: TrainConfig, places: Mapping[KeyPath, Place] = MappingProxyType({})
) -> None:
    """Refuse accounts that show too little, or allow too little, for what is to learn.

    Args:
        config: Of a run that is to begin.
        places: Where values were written, as far as it is known.

    Raises:
        ConfigError: Naming the number that is missing, or the position that cannot be held.
    """
    shown = config.task.private
    for reader in _readers(config):
        missing = [name for name in reader.reads if shown and name not in shown]
        if missing:
            keys = [tuple(key.split(".")) for key in (_PRIVATE, reader.key)]
            raise ConfigError(
                reader.rule,
                was=f"no {missing[0]} among {', '.join(shown)}",
                where=place_conflict(places, keys),
                remedy=f"Add {missing[0]} to {_PRIVATE}, or leave {_PRIVATE} out",
            )
    if config.learner.spec.takes_options:
        _check_entry(config, places)


def _readers(config: TrainConfig) -> Iterator[_Reader]:
    name = config.learner.name
    if config.learner.spec.takes_options:
        rule = "options must see position, entry and return of the account"
        yield _Reader(rule, OPTION_READS, "learner.name")
    hindsight = getattr(config.learner.settings, "hindsight", None)
    if hindsight is not None and hindsight.strategy != "off":
        rule = "agents must see their return and drawdown for goals to be relabelled"
        yield _Reader(rule, GOAL_READS, f"learner.{name}.hindsight.strategy")


def _check_entry(config: TrainConfig, places: Mapping[KeyPath, Place]) -> None:
    """Refuse a position to open that the account may never hold."""
    entry = config.options.entry_position_frac
    most = config.task.rules.limits.max_position_frac
    if entry < most:
        return
    keys = [tuple(key.split(".")) for key in (_MOST, _ENTRY, "learner.name")]
    raise ConfigError(
        f"{_ENTRY} must be below {_MOST}: open_long would never reach it",
        was=f"{entry:g}, where positions are at most {most:g} of equity",
        where=place_conflict(places, keys),
        remedy=f"Set e.g. {_ENTRY}={most / 3.0:.3g}, or allow larger positions",
    )
