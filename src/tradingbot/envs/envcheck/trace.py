"""Playing a script in an environment and keeping what was seen."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tradingbot.envs.envcheck.bars import DictatedBars, dictate
from tradingbot.envs.envcheck.probe import INITIAL_CASH_CCY, AnyEnv, CannotTell, EnvProbe, Intent

SEED = 7


@dataclass(frozen=True)
class TracedAccount:
    """What the probe could read; None where it cannot be told."""

    cash: float | None
    equity: float | None
    units: float | None
    fees_paid: float | None
    fill_price: float | None


@dataclass(frozen=True)
class Moment:
    """What a caller sees after `reset` (reward 0) or after a step."""

    observation: Any
    """A copy: some environments change what they have handed out."""
    handed_out: Any
    """The observation itself, which must not change any more."""
    reward: float
    terminated: bool
    truncated: bool
    account: TracedAccount
    reward_terms: Mapping[str, float] | None


@dataclass(frozen=True)
class Trace:
    """Moment 0 is the reset; moment k follows the k-th action."""

    moments: tuple[Moment, ...]

    @property
    def last(self) -> Moment:
        """The moment after the last action."""
        return self.moments[-1]

    @property
    def ended(self) -> bool:
        """The environment said that the episode is over."""
        return self.last.terminated or self.last.truncated

    @property
    def rewards(self) -> list[float]:
        """One reward per action."""
        return [moment.reward for moment in self.moments[1:]]

    def read(self, name: str) -> list[float]:
        """Return one account number at every moment.

        Raises:
            CannotTell: If it is unknown at any of them.
        """
        values = [getattr(moment.account, name) for moment in self.moments]
        if any(value is None for value in values):
            raise CannotTell(f"the environment does not tell its {name.replace('_', ' ')}")
        return [float(value) for value in values]

    def knows(self, name: str) -> bool:
        """Tell whether an account number is known at every moment."""
        return all(getattr(moment.account, name) is not None for moment in self.moments)


def build(
    probe: EnvProbe,
    prices: Sequence[float] | DictatedBars,
    *,
    fee_frac: float = 0.0,
    borrow_frac: float = 0.0,
    varied: bool = False,
) -> AnyEnv:
    """Build an environment on dictated prices, with the probe's lead-in before them.

    Args:
        probe: Whose environment.
        prices: One close per bar from the first observation on; or bars with their lead-in.
        fee_frac: Fraction of traded value.
        borrow_frac: Fraction of borrowed value, per bar.
        varied: As it is trained, where the probe knows how.
    """
    bars = (
        prices if isinstance(prices, DictatedBars) else dictate(prices, lead_bars=probe.lead_bars)
    )
    make = probe.build_varied if varied and probe.build_varied is not None else probe.build
    return make(bars, fee_frac=fee_frac, borrow_frac=borrow_frac, initial_cash=INITIAL_CASH_CCY)


def play(env: AnyEnv, probe: EnvProbe, intents: Sequence[Intent], *, seed: int = SEED) -> Trace:
    """Reset with `seed` and carry out the intents until they or the episode are used up."""
    env.action_space.seed(seed)
    observation, info = env.reset(seed=seed)
    seen: tuple[Any, ...] = (observation, 0.0, False, False, info)
    moments = [_moment(env, probe, *seen)]
    for intent in intents:
        seen = env.step(probe.action(intent, env))
        moments.append(_moment(env, probe, *seen))
        if moments[-1].terminated or moments[-1].truncated:
            break
    return Trace(tuple(moments))


def flatten(observation: Any) -> NDArray[np.float64]:
    """Put the numbers of an observation into one vector; dictionaries by sorted key."""
    if isinstance(observation, Mapping):
        parts = [flatten(observation[key]) for key in sorted(observation, key=str)]
    elif isinstance(observation, tuple | list):
        parts = [flatten(part) for part in observation]
    else:
        return np.asarray(observation, dtype=np.float64).ravel()
    return np.concatenate(parts) if parts else np.zeros(0)


def same(first: Any, second: Any) -> bool:
    """Tell whether two observations hold the same numbers; NaN equals NaN."""
    a, b = flatten(first), flatten(second)
    return a.shape == b.shape and bool(np.array_equal(a, b, equal_nan=True))


def first_difference(first: Trace, second: Trace) -> int | None:
    """Return the first moment at which two traces differ in anything seen, or None."""
    for index, (a, b) in enumerate(zip(first.moments, second.moments, strict=False)):
        seen_a = (a.reward, a.terminated, a.truncated, a.account)
        seen_b = (b.reward, b.terminated, b.truncated, b.account)
        if seen_a != seen_b or not same(a.observation, b.observation):
            return index
    if len(first.moments) != len(second.moments):
        return min(len(first.moments), len(second.moments))
    return None


def mark(bars: DictatedBars, probe: EnvProbe, moment: int) -> float:
    """Return the close at which an account is marked at a moment; the last once bars are used."""
    return float(bars.closes[min(probe.lead_bars + moment, len(bars) - 1)])


def _moment(env: AnyEnv, probe: EnvProbe, *seen: Any) -> Moment:
    """Keep what `step` returned, and what the probe reads then."""
    observation, reward, terminated, truncated, info = seen
    told = {each.name: getattr(probe, each.name)(env, info) for each in fields(TracedAccount)}
    numbers = {name: None if each is None else float(each) for name, each in told.items()}
    account = TracedAccount(**numbers)
    terms = probe.reward_terms(env, info)
    declared = None if terms is None else {name: float(value) for name, value in terms.items()}
    ends = bool(terminated), bool(truncated)
    kept = copy.deepcopy(observation)
    return Moment(kept, observation, float(reward), *ends, account, declared)
