"""Random sessions against a venue with every fault: no limit broken, no order twice, no fill lost.

Hypothesis chooses what happens and from which seed; each of its steps is many of the session's, so
that 100,000 take seconds. A failure prints the steps and the seeds that repeat it.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from fixtures.session_world import SessionWorld
from tradingbot.domain.seeding import stream

STEPS = 400
SEEDS = st.integers(0, 2**32 - 1)
_COUNTS = {"steps": 0, "orders": 0, "fills": 0, "restarts": 0}


class SessionMachine(RuleBasedStateMachine):
    """A session, its venue, and the line between them."""

    def __init__(self) -> None:
        super().__init__()
        self.world = SessionWorld()

    @rule(number=SEEDS, faults=st.booleans(), is_armed=st.sampled_from([True, True, True, False]))
    def trade(self, number: int, faults: bool, is_armed: bool) -> None:
        """Decide, fill, cancel, expire, listen: some hundred steps of it."""
        rng, world = stream(number, "session machine"), self.world
        if is_armed:
            world.rearm()
        for draw in rng.random(STEPS):
            if draw < 0.14:
                world.decide(rng)
            elif draw < 0.34:
                world.fill(rng)
            elif draw < 0.36:
                world.end(rng)
            elif draw < 0.362 and faults:
                world.disturb(rng)
            elif draw < 0.364:
                world.mark(rng)
            elif draw < 0.369:
                world.settle()
            elif draw < 0.60:
                world.listen(rng)
            else:
                world.pass_time(rng)
            world.n_steps += 1

    @rule()
    def restart(self) -> None:
        self.world.restart()
        _COUNTS["restarts"] += 1

    @rule()
    def reconcile(self) -> None:
        self.world.check_equal()

    @rule()
    def kill(self) -> None:
        self.world.kill()
        self.world.kill()

    @rule()
    def rearm(self) -> None:
        self.world.rearm()

    @invariant()
    def nothing_is_sent_twice_or_unasked(self) -> None:
        self.world.check()

    def teardown(self) -> None:
        self.world.check_equal()
        _COUNTS["steps"] += self.world.n_steps
        _COUNTS["orders"] += len(self.world.venue.orders)
        _COUNTS["fills"] += len(self.world.venue.executions)


@pytest.fixture(autouse=True)
def fresh_counts() -> None:
    for name in _COUNTS:
        _COUNTS[name] = 0


def run_sessions(n_steps: int) -> None:
    """Run sessions from one seed after the other, until so many steps were made."""
    for number in range(n_steps):
        if _COUNTS["steps"] >= n_steps:
            break
        run_state_machine_as_test(
            seed(number)(SessionMachine),
            settings=settings(
                max_examples=10,
                stateful_step_count=24,
                deadline=None,
                database=None,
                suppress_health_check=list(HealthCheck),
            ),
        )


def test_a_hundred_thousand_steps_break_no_limit_and_lose_nothing() -> None:
    run_sessions(100_000)

    assert _COUNTS["steps"] >= 100_000
    assert _COUNTS["orders"] > 1_000
    assert _COUNTS["fills"] > 1_000
    assert _COUNTS["restarts"] > 20


@pytest.mark.slow
def test_a_million_steps_break_no_limit_and_lose_nothing() -> None:
    run_sessions(1_000_000)

    assert _COUNTS["steps"] >= 1_000_000
