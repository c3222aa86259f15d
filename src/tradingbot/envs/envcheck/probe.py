"""How the suite talks to an environment it has never seen: build it, act in it, read its account.

A probe is written once per environment. What it cannot read it leaves out; the checks that need it
then say "cannot be told" instead of guessing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

import gymnasium

from tradingbot.envs.envcheck.bars import DictatedBars

AnyEnv = gymnasium.Env[Any, Any]
Info = Mapping[str, Any]
Reader = Callable[[AnyEnv, Info], float | None]
"""Reads one number of the account after `reset` or `step`; None: cannot be told now."""
TermsReader = Callable[[AnyEnv, Info], Mapping[str, float] | None]
"""Reads the declared terms of the last reward by name."""

INITIAL_CASH_CCY = 10_000.0


class CannotTell(Exception):  # noqa: N818 - it is an answer, not an error
    """A check or probe lacks what it needs; the text says what. Becomes the verdict UNTESTABLE."""


class Intent(StrEnum):
    """What a check wants done; the probe knows which action that is."""

    HOLD = "hold"
    """Keep the position as it is."""
    BUY = "buy"
    """Put all cash into the instrument, as far as the environment allows."""
    SELL = "sell"
    """Sell all that is held."""
    SHORT = "short"
    """Go short, as far as the environment allows."""
    ANY = "any"
    """A draw of the seeded action space."""


class Build(Protocol):
    """Builds the environment on dictated bars with the given costs and nothing else charged."""

    def __call__(
        self, bars: DictatedBars, *, fee_frac: float, borrow_frac: float, initial_cash: float
    ) -> AnyEnv:
        """Build it.

        Args:
            bars: The market.
            fee_frac: Fee as a fraction of the traded value, both ways.
            borrow_frac: Cost of borrowing per bar as a fraction of the borrowed value.
            initial_cash: Account currency at the start of an episode.

        Raises:
            CannotTell: If the environment cannot be given these terms.
        """


def told_in_info(*names: str) -> dict[str, Any]:
    """Return readers of what `info` holds, by the names it has there."""
    return {name: lambda _env, info, name=name: info[name] for name in names}


def cannot_be_told(_env: AnyEnv, _info: Info) -> None:
    """Read nothing: the environment does not say."""
    return


@dataclass(frozen=True, kw_only=True)
class EnvProbe:
    """Everything the suite needs to know of one environment. One step must be one bar."""

    name: str
    """Shown in tables."""
    build: Build
    """Fixed start: the first observation shows bar `lead_bars`."""
    hold: Any = None
    """An action, or a function of the environment that returns one; None: there is none."""
    buy: Any = None
    """Likewise, for all cash."""
    sell: Any = None
    """Likewise, for all units held."""
    short: Any = None
    """Likewise, for going short."""
    lead_bars: int = 0
    """Bars before the one in the first observation."""
    build_varied: Build | None = None
    """As it is trained: start or balance drawn at reset. None: as `build`."""
    cash: Reader = cannot_be_told
    """Account currency not invested; negative is debt."""
    equity: Reader = cannot_be_told
    """Cash and positions, marked at the last bar's close."""
    units: Reader = cannot_be_told
    """Quantity held; negative is short."""
    fees_paid: Reader = cannot_be_told
    """Account currency since reset."""
    fill_price: Reader = cannot_be_told
    """Price of the last fill; None where the last step filled nothing."""
    reward_terms: TermsReader = cannot_be_told
    """Terms whose sum the last reward is declared to be."""
    version: str = ""
    """Version of the package it comes from."""
    dictates: bool = True
    """False: `build` ignores the bars, so only checks without known prices can be run."""

    def action(self, intent: Intent, env: AnyEnv) -> Any:
        """Return the action that carries out an intent now.

        Raises:
            CannotTell: If the environment has no such action.
        """
        if intent is Intent.ANY:
            return env.action_space.sample()
        action = getattr(self, intent.value)
        if action is None:
            raise CannotTell(f"there is no action for {intent.value!r}")
        return action(env) if callable(action) else action


def generic_probe(name: str, factory: Callable[[], AnyEnv]) -> EnvProbe:
    """Make a probe that knows nothing of an environment but how to build it."""

    def build(bars: DictatedBars, **costs: float) -> AnyEnv:
        return factory()

    return EnvProbe(name=name, build=build, dictates=False)
