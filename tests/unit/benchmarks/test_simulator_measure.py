"""The measurements, really made, at the smallest sizes there are and without a compiler."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path

import pytest
import torch

from tradingbot.data.json_files import as_json
from tradingbot.envs.world import World
from tradingbot_benchmarks.simulator import checks as simulator_checks
from tradingbot_benchmarks.simulator import measure as simulator_measure
from tradingbot_benchmarks.simulator.bench import records
from tradingbot_benchmarks.simulator.bound import bytes_per_step
from tradingbot_benchmarks.simulator.checks import check_compiled, check_single, odd_lanes
from tradingbot_benchmarks.simulator.measure import measure
from tradingbot_benchmarks.simulator.neighbour import busy_neighbour
from tradingbot_benchmarks.simulator.peers import NOT_INSTALLED, PeerSpeed
from tradingbot_benchmarks.simulator.scale import FULL, QUICK, Scale
from tradingbot_benchmarks.simulator.setup import (
    EVERY_RULE,
    Batch,
    among_symbols,
    bench_world,
    draw_batch,
)

TINY = Scale(
    headline=16,
    wide=32,
    environments=(8, 16, 32),
    windows=(1, 24),
    symbols=(1, 2),
    market_symbols=2,
    market_bars=900,
    market_environments=2,
    seconds=0.01,
    repeats=1,
    single_steps=50,
    peer_seconds=0.01,
    memory_batch_steps=3,
    learner=False,
    copied_bytes=2**16,
    compiled=False,
    busy=False,
    first_steps=False,
)


@pytest.fixture(scope="module")
def world() -> World:
    return bench_world(2, 900)


@pytest.fixture
def batch(world: World) -> Batch:
    return draw_batch(world, 16, compiled=False)


def test_measure_at_tiny_sizes_fills_every_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulator_checks, "SINGLE_STEPS", 20)
    monkeypatch.setattr(simulator_checks, "CHECKED_STEPS", 4)
    monkeypatch.setattr(simulator_measure, "COPY_SECONDS", 0.005)
    monkeypatch.setattr(
        simulator_measure, "measure_peer", lambda name, seconds: PeerSpeed(None, NOT_INSTALLED)
    )
    told: list[tuple[int, int]] = []

    measured = measure(TINY, lambda finished, total, _: told.append((finished, total)))

    found = {r["name"]: r for r in json.loads(json.dumps(as_json(records(measured))))}
    left_out = {name for name, record in found.items() if record["value"] is None}
    expected = {n for n in found if n.startswith(("vs_", "peer_", "sb3_env", "first_step_"))}
    assert left_out == expected | {"batch_4096_busy"}
    assert all(math.isfinite(found[name]["value"]) for name in set(found) - left_out)
    assert found["batch_4096"]["value"] > 0
    assert found["single_env_p50_ms"]["value"] <= found["single_env_p95_ms"]["value"]
    assert {"growth_environments_8", "growth_window_24", "growth_symbols_2"} <= set(found)
    assert "48 environment-steps" in found["memory_growth_1e6_steps"]["note"]
    assert told[-1][0] == told[-1][1] == len(told) - 1


def test_every_optional_rule_is_on() -> None:
    account, limits = EVERY_RULE.rules.account, EVERY_RULE.rules.limits

    assert account.stop_loss_frac < 1.0
    assert math.isfinite(account.take_profit_frac)
    assert account.max_holding_bars < 1000
    assert max(account.position_loss_frac, account.portfolio_loss_frac) < 1.0
    assert limits.reserve_frac > 0.0
    assert limits.allow_short
    assert EVERY_RULE.reward == "v31"


def test_scales_keep_the_sizes_that_give_records_their_names() -> None:
    for scale in (FULL, QUICK):
        assert (scale.headline, scale.wide, scale.market_symbols) == (4096, 65_536, 143)
        assert scale.compiled
        assert {scale.headline, scale.wide} <= set(scale.environments)
        assert 24 in scale.windows
        assert scale.memory_batch_steps * scale.headline >= 1e6
        assert scale.repeats % 2 == 1


def test_actions_are_drawn_anew_at_every_step(batch: Batch) -> None:
    batch.advance()
    first = batch.action.clone()
    batch.advance()

    assert not torch.equal(first, batch.action)
    assert batch.action.abs().max() <= 1.0
    assert len(batch.action.unique()) == batch.n_lanes


def test_bytes_of_a_step_are_those_of_its_tensors(batch: Batch) -> None:
    batch.advance()
    assert batch.last is not None

    state, terms = batch.account.bytes_per_account, batch.last.terms.shape[0]
    results = 2 * 18 * 4 + 4 + terms * 4 + 1 + 1 + 4 + 1
    lane, action, bar, next_start = 4 + 8, 2 * 4, 8 * 4, 4 + 4
    assert bytes_per_step(batch) == 2 * state + results + lane + action + bar + next_start


def test_confined_batch_stays_among_its_symbols_and_is_then_as_before(batch: Batch) -> None:
    choices = batch.starts.choices.clone()

    with among_symbols(batch, 1):
        for _ in range(5):
            batch.advance()
        assert int(batch.account.row.max()) < batch.market.n_bars
        assert int(batch.starts.choices.max()) < batch.market.n_bars
    assert torch.equal(batch.starts.choices, choices)
    assert int(batch.account.row.max()) >= batch.market.n_bars


def test_check_compiled_accepts_the_same_program(batch: Batch) -> None:
    check_compiled(batch, batch.step)


def test_check_compiled_refuses_a_program_that_differs(batch: Batch) -> None:
    right = batch.step

    def wrong(rates, account, action):
        made = right(rates, account, action)
        return made._replace(reward=made.reward + 1e-2)

    with pytest.raises(AssertionError, match="compiled differs from eager"):
        check_compiled(batch, wrong)


@pytest.mark.parametrize("field", ["private", "final_private", "terms", "terminated", "truncated"])
def test_odd_lanes_counts_a_difference_in_any_field(batch: Batch, field: str) -> None:
    batch.advance()
    assert batch.last is not None
    changed = getattr(batch.last, field).clone()
    number = changed.view(-1, batch.n_lanes)[0, 3]  # one number of one lane
    number.copy_(~number if changed.dtype == torch.bool else number + 5.0)

    assert odd_lanes(batch.last, batch.last) == 0.0
    assert odd_lanes(batch.last._replace(**{field: changed}), batch.last) == 1 / 16


def test_check_single_accepts_the_environment(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulator_checks, "SINGLE_STEPS", 80)

    check_single(world)


def test_check_single_refuses_an_account_that_differs(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = simulator_checks.packed_step

    def wrong(*arguments):
        step = real(*arguments)

        def advance(*given):
            made = step(*given)
            return made._replace(
                account=made.account._replace(money=made.account.money * (1 + 1e-7))
            )

        return advance

    monkeypatch.setattr(simulator_checks, "packed_step", wrong)

    with pytest.raises(AssertionError, match="equity differs"):
        check_single(world)


def test_busy_neighbour_computes_for_as_long_as_the_block_lasts() -> None:
    with busy_neighbour() as neighbour:
        time.sleep(0.3)
        used = Path(f"/proc/{neighbour.pid}/stat").read_text().rpartition(")")[2].split()
        assert int(used[11]) > 0  # user time, in ticks

    assert neighbour.poll() is not None
