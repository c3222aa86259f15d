"""Every check passes the honest environment and fails the one with the fault it is about."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from tradingbot.envs.envcheck import CHECKS, CheckVerdict, EnvCheck, EnvProbe
from tradingbot.envs.envcheck.probe import cannot_be_told
from tradingbot.envs.envcheck.reference import BUY, SELL, ReferenceEnv, reference_probe
from tradingbot.envs.envcheck.suite import run_check

BY_ID = MappingProxyType({check.id: check for check in CHECKS})


class SizesAtTheDecision(ReferenceEnv):
    """Pays for the order with money that fee and gap have used up."""

    def size(self, action: Any, price: float) -> float:
        seen = float(self.bars.closes[self.bar])
        return self.cash / seen if action == BUY else super().size(action, price)


class MarksLate(ReferenceEnv):
    def describe(self, terms: dict[str, float], fill_price: float | None) -> dict[str, Any]:
        stale = self.cash + self.units * float(self.bars.closes[self.bar - 1])
        return super().describe(terms, fill_price) | {"equity": stale}


class ForgetsFees(ReferenceEnv):
    def fee(self, traded_ccy: float) -> float:
        return 0.0


class ChargesFeesTwice(ReferenceEnv):
    def fee(self, traded_ccy: float) -> float:
        return 2.0 * super().fee(traded_ccy)


class HidesFeesFromReward(ReferenceEnv):
    def reward(self, terms: dict[str, float]) -> float:
        return terms["market"]


class ChargesInterestOnce(ReferenceEnv):
    charged = False

    def interest(self) -> float:
        due = 0.0 if self.charged else super().interest()
        self.charged = self.charged or due > 0.0
        return due


class ForgetsInterest(ReferenceEnv):
    def interest(self) -> float:
        return 0.0


class ForgetsAFifthOfInterest(ReferenceEnv):
    def interest(self) -> float:
        return 0.8 * super().interest()


class IgnoresTheSeed(ReferenceEnv):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.starts = itertools.cycle((1, 5, 9, 13, 17))

    def draw_start(self) -> int:
        return next(self.starts)


class IgnoresTheSeedNowAndThen(ReferenceEnv):
    """Every fourth reset begins elsewhere."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.starts = itertools.cycle((1, 1, 1, 5))

    def draw_start(self) -> int:
        return next(self.starts)


class SlipsAtRandom(ReferenceEnv):
    """Starts well, but fills by a generator that reset does not seed."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.slips = itertools.cycle((1.0, 1.001, 1.002, 1.003, 1.004))

    def fill_price(self) -> float:
        return super().fill_price() * next(self.slips)


class TerminatesAtTheEnd(ReferenceEnv):
    def step(self, action: Any) -> Any:
        observation, reward, _, truncated, info = super().step(action)
        return observation, reward, truncated, False, info


class EndsBothWays(ReferenceEnv):
    def step(self, action: Any) -> Any:
        observation, reward, _, truncated, info = super().step(action)
        return observation, reward, truncated, truncated, info


class KeepsUnits(ReferenceEnv):
    def reset(self, **options: Any) -> Any:
        kept = getattr(self, "units", 0.0)
        observation, info = super().reset(**options)
        self.units = kept
        return observation, info


class RemembersWindows(ReferenceEnv):
    """Shows the position at the bar before, out of an array that no reset clears."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.positions = np.zeros(len(self.bars))

    def observe(self) -> Any:
        self.positions[self.bar] = self.units
        observation = super().observe()
        observation[0] = self.positions[self.bar - 1]
        return observation


class PaysTheSumAtTheEnd(ReferenceEnv):
    total = 0.0

    def reward(self, terms: dict[str, float]) -> float:
        reward = super().reward(terms)
        self.total += reward
        return self.total if self.ended else reward


class AddsAnUndeclaredBonus(ReferenceEnv):
    def reward(self, terms: dict[str, float]) -> float:
        return super().reward(terms) + 0.01


class FillsAtTheSeenClose(ReferenceEnv):
    def fill_price(self) -> float:
        return float(self.bars.closes[self.bar])


class FillsNearTheSeenClose(ReferenceEnv):
    """Nine parts of the price that was seen, one of the next."""

    def fill_price(self) -> float:
        return 0.9 * float(self.bars.closes[self.bar]) + 0.1 * super().fill_price()


class HidesThePosition(ReferenceEnv):
    def observe(self) -> Any:
        return np.array([super().observe()[0], 0.0, 0.0], dtype=np.float32)


class SellsOnNan(ReferenceEnv):
    def size(self, action: Any, price: float) -> float:
        return super().size(SELL if math.isnan(action) else action, price)


class SpoilsCashOnNan(ReferenceEnv):
    def size(self, action: Any, price: float) -> float:
        self.cash += 0.0 * float(action)
        return super().size(action, price)


class ReturnsDoubles(ReferenceEnv):
    def observe(self) -> Any:
        return super().observe().astype(np.float64)


class ShowsInfinity(ReferenceEnv):
    def observe(self) -> Any:
        observation = super().observe()
        observation[0] = np.inf if self.bar == 9 else observation[0]
        return observation


class StepsPastTheEnd(ReferenceEnv):
    def step(self, action: Any) -> Any:
        if self.ended:
            return self.observe(), 0.0, False, True, self.describe({}, None)
        return super().step(action)


class ScalesByTheWholeSample(ReferenceEnv):
    def observe(self) -> Any:
        observation = super().observe()
        observation[0] = self.bars.closes[self.bar] / self.bars.closes.max()
        return observation


class MarksAt(ReferenceEnv):
    """Marks the account at another price of the bar than its close."""

    price = "opens"

    @property
    def equity(self) -> float:
        return self.cash + self.units * float(getattr(self.bars, self.price)[self.bar])


class MarksAtTheHigh(MarksAt):
    price = "highs"


class ShowsThePositionLate(ReferenceEnv):
    """The invested fraction of one step before."""

    late = 0.0

    def observe(self) -> Any:
        observation = super().observe()
        self.late, observation[1] = float(observation[1]), self.late
        return observation


class ForgetsThePositionLate(ShowsThePositionLate):
    """Shows an entry at once, and an exit one step late."""

    def observe(self) -> Any:
        now = float(ReferenceEnv.observe(self)[1])
        observation = super().observe()
        observation[1] = max(now, observation[1])
        return observation


class RewardsAStalePrice(ReferenceEnv):
    """Declares the move of the bar before as its market term."""

    stale = 0.0

    def describe(self, terms: dict[str, float], fill_price: float | None) -> dict[str, Any]:
        if terms:
            self.stale, terms["market"] = terms["market"], self.stale
        return super().describe(terms, fill_price)


class RewardsTheOpen(ReferenceEnv):
    """Declares the move from open to open as its market term."""

    def describe(self, terms: dict[str, float], fill_price: float | None) -> dict[str, Any]:
        if terms:
            opens = self.bars.opens
            move = float(opens[self.bar] - opens[self.bar - 1])
            terms["market"] = self.units * move / self.initial_cash
        return super().describe(terms, fill_price)


class Peeks(ReferenceEnv):
    """Shows the direction of the next bar, now and then."""

    every, phase = 5, 0

    def observe(self) -> Any:
        observation = super().observe()
        if self.bar % self.every == self.phase and self.bar + 1 < len(self.bars):
            observation[0] = np.sign(self.bars.closes[self.bar + 1] - self.bars.closes[self.bar])
        return observation


class PeeksAtVolume(Peeks):
    def observe(self) -> Any:
        observation = ReferenceEnv.observe(self)
        observation[0] = self.bars.volumes[min(self.bar + 1, len(self.bars) - 1)]
        return observation


class FillsAtTheSeenCloseNowAndThen(ReferenceEnv):
    def fill_price(self) -> float:
        return float(self.bars.closes[self.bar]) if self.bar % 5 == 0 else super().fill_price()


class ReusesItsBuffer(ReferenceEnv):
    buffer: Any = None

    def observe(self) -> Any:
        fresh = super().observe()
        self.buffer = fresh if self.buffer is None else self.buffer
        self.buffer[:] = fresh
        return self.buffer


class WritesIntoItsLastObservation(ReferenceEnv):
    """Hands out a new array each time, and spoils the one before."""

    last: Any = None

    def observe(self) -> Any:
        if self.last is not None:
            self.last[0] += 1.0
        self.last = super().observe()
        return self.last


class NeverEnds(ReferenceEnv):
    """Stands still on the last bar but one instead of ending."""

    def step(self, action: Any) -> Any:
        observation, reward, _, _, info = super().step(action)
        self.bar, self.ended = min(self.bar, len(self.bars) - 2), False
        return observation, reward, False, False, info


def without_terms(probe: EnvProbe) -> EnvProbe:
    return replace(probe, reward_terms=cannot_be_told)


def by_cash_and_units(probe: EnvProbe) -> EnvProbe:
    return replace(probe, fill_price=cannot_be_told)


def by_equity(probe: EnvProbe) -> EnvProbe:
    return replace(by_cash_and_units(probe), cash=cannot_be_told, units=cannot_be_told)


def as_it_is(probe: EnvProbe) -> EnvProbe:
    return probe


FAULTS: tuple[tuple[str, type[ReferenceEnv], Callable[[EnvProbe], EnvProbe]], ...] = (
    ("cash_never_negative", SizesAtTheDecision, as_it_is),
    ("equity_identity", MarksLate, as_it_is),
    ("equity_identity", MarksAt, as_it_is),
    ("equity_identity", MarksAtTheHigh, as_it_is),
    ("fees_charged", ForgetsFees, as_it_is),
    ("fees_charged", ForgetsFees, by_equity),
    ("fees_charged", ChargesFeesTwice, as_it_is),
    ("fees_charged", ChargesFeesTwice, by_equity),
    ("fees_charged", HidesFeesFromReward, as_it_is),
    ("borrow_accrues", ChargesInterestOnce, as_it_is),
    ("borrow_accrues", ForgetsInterest, as_it_is),
    ("borrow_accrues", ForgetsAFifthOfInterest, as_it_is),
    ("reward_is_declared_terms", PaysTheSumAtTheEnd, as_it_is),
    ("reward_is_declared_terms", PaysTheSumAtTheEnd, without_terms),
    ("reward_is_declared_terms", AddsAnUndeclaredBonus, as_it_is),
    ("reward_is_declared_terms", AddsAnUndeclaredBonus, without_terms),
    ("reward_is_declared_terms", HidesFeesFromReward, without_terms),
    ("no_fill_before_next_bar", FillsAtTheSeenClose, as_it_is),
    ("no_fill_before_next_bar", FillsAtTheSeenClose, by_cash_and_units),
    ("no_fill_before_next_bar", FillsAtTheSeenClose, by_equity),
    ("no_fill_before_next_bar", FillsNearTheSeenClose, as_it_is),
    ("no_fill_before_next_bar", FillsAtTheSeenCloseNowAndThen, as_it_is),
    ("reward_is_of_this_bar", RewardsAStalePrice, as_it_is),
    ("reward_is_of_this_bar", RewardsAStalePrice, without_terms),
    ("reward_is_of_this_bar", RewardsTheOpen, as_it_is),
    ("future_not_in_observation", ScalesByTheWholeSample, as_it_is),
    ("future_not_in_observation", PeeksAtVolume, as_it_is),
    ("position_in_observation", HidesThePosition, as_it_is),
    ("position_in_observation", ShowsThePositionLate, as_it_is),
    ("position_in_observation", ForgetsThePositionLate, as_it_is),
    ("observation_is_not_reused", ReusesItsBuffer, as_it_is),
    ("observation_is_not_reused", WritesIntoItsLastObservation, as_it_is),
    ("observation_in_space", ReturnsDoubles, as_it_is),
    ("observation_in_space", ShowsInfinity, as_it_is),
    ("seed_determinism", IgnoresTheSeed, as_it_is),
    ("seed_determinism", IgnoresTheSeedNowAndThen, as_it_is),
    ("seed_determinism", SlipsAtRandom, as_it_is),
    ("no_bleeding_between_episodes", KeepsUnits, as_it_is),
    ("no_bleeding_between_episodes", RemembersWindows, as_it_is),
    ("truncated_is_not_terminated", TerminatesAtTheEnd, as_it_is),
    ("truncated_is_not_terminated", EndsBothWays, as_it_is),
    ("truncated_is_not_terminated", NeverEnds, as_it_is),
    ("step_after_end_refused", StepsPastTheEnd, as_it_is),
    ("nan_action_is_safe", SellsOnNan, as_it_is),
    ("nan_action_is_safe", SpoilsCashOnNan, as_it_is),
)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_honest_environment_passes(check: EnvCheck) -> None:
    finding = run_check(check, reference_probe())

    assert finding.verdict is CheckVerdict.PASS, finding.says
    assert finding.remedy == ""


@pytest.mark.parametrize(
    ("check", "environment", "view"),
    FAULTS,
    ids=[f"{check}-{env.__name__}-{view.__name__}" for check, env, view in FAULTS],
)
def test_planted_fault_is_found(
    check: str, environment: type[ReferenceEnv], view: Callable[[EnvProbe], EnvProbe]
) -> None:
    finding = run_check(BY_ID[check], view(reference_probe(environment)))

    assert finding.verdict is CheckVerdict.FAIL, finding.says
    assert "raised" not in finding.says
    assert finding.remedy


@pytest.mark.parametrize("every", [5, 13])
def test_look_at_the_next_bar_is_found_whatever_its_period_and_phase(every: int) -> None:
    for phase in range(every):
        peeking = type("Peeking", (Peeks,), {"every": every, "phase": phase})

        finding = run_check(BY_ID["future_not_in_observation"], reference_probe(peeking))

        assert finding.verdict is CheckVerdict.FAIL, (phase, finding.says)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_check_has_a_planted_fault(check: EnvCheck) -> None:
    assert check.id in {fault for fault, _, _ in FAULTS}


@pytest.mark.parametrize(
    ("check", "view"),
    [
        ("reward_is_declared_terms", without_terms),
        ("no_fill_before_next_bar", by_cash_and_units),
        ("no_fill_before_next_bar", by_equity),
        ("fees_charged", by_equity),
        ("nan_action_is_safe", by_equity),
        ("position_in_observation", by_equity),
        ("reward_is_of_this_bar", by_equity),
    ],
)
def test_honest_environment_that_tells_less_passes(
    check: str, view: Callable[[EnvProbe], EnvProbe]
) -> None:
    finding = run_check(BY_ID[check], view(reference_probe()))

    assert finding.verdict is CheckVerdict.PASS, finding.says


@pytest.mark.parametrize(
    ("check", "untold"),
    [
        ("cash_never_negative", {"cash": cannot_be_told}),
        ("equity_identity", {"units": cannot_be_told}),
        ("fees_charged", {"equity": cannot_be_told}),
        ("reward_is_of_this_bar", {"equity": cannot_be_told}),
        ("borrow_accrues", {"short": None}),
        ("borrow_accrues", {"equity": cannot_be_told}),
        ("borrow_accrues", {"units": cannot_be_told}),
        ("reward_is_declared_terms", {"reward_terms": cannot_be_told, "equity": cannot_be_told}),
        (
            "no_fill_before_next_bar",
            {"fill_price": cannot_be_told, "cash": cannot_be_told, "equity": cannot_be_told},
        ),
    ],
)
def test_what_is_not_told_is_not_judged(check: str, untold: dict[str, Any]) -> None:
    finding = run_check(BY_ID[check], replace(reference_probe(), **untold))

    assert finding.verdict is CheckVerdict.UNTESTABLE
    assert finding.observed is None


def test_known_answers_have_the_numbers_computed_by_hand() -> None:
    fees = run_check(BY_ID["fees_charged"], reference_probe(ForgetsFees))
    borrow = run_check(BY_ID["borrow_accrues"], reference_probe())
    fill = run_check(BY_ID["no_fill_before_next_bar"], reference_probe(FillsAtTheSeenClose))

    # 20 round trips of all cash without loss: 40 trades of 10,000 at 0.1 %.
    assert fees.limit == pytest.approx(400.0, rel=1e-3)
    assert fees.observed == pytest.approx(0.0, abs=1e-6)
    # Half of 10,000 is short for 100 bars at 0.1 % each.
    assert borrow.observed == pytest.approx(500.0, rel=1e-6)
    assert (fill.limit, fill.observed) == (200.0, 100.0)
