"""Compiled lanes do what the tensors do: every account, fill and reward, in every action space."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from fixtures.trading_worlds import delisted, small_world
from tradingbot.agents.baselines.market_rules import RandomTargets
from tradingbot.agents.policy import Policy, PolicyInputs
from tradingbot.data.splits import IndexRange
from tradingbot.envs.config import EnvConfig
from tradingbot.evaluation.backtest import PolicyUnderTest, sleeve_config
from tradingbot.evaluation.backtest import native_lanes as native_module
from tradingbot.evaluation.backtest.backtests import simulate_policies
from tradingbot.evaluation.backtest.simulation_record import SimulationRecord
from tradingbot.market import program_cache as cache
from tradingbot.market.compiled import missing_compiler
from tradingbot.market.costs import COST_PROFILES
from tradingbot.market.native import library as compiling

pytestmark = [
    pytest.mark.skipif(
        missing_compiler(torch.device("cpu")) is not None, reason="no C compiler on this machine"
    ),
    pytest.mark.usefixtures("fastest_programs"),
]
FIRST, LAST = 200, 330


@dataclass(frozen=True)
class Wild:
    """Draws numbers in [−1, 1], or codes that are allowed: a function of the row."""

    codes: bool = False

    def __call__(self, seen: PolicyInputs) -> Tensor:
        draws = torch.Generator().manual_seed(int(seen.row[0]))
        if not self.codes:
            return torch.rand(len(seen.row), generator=draws, dtype=torch.float64) * 2.0 - 1.0
        assert seen.allowed is not None
        return (torch.rand(seen.allowed.shape, generator=draws) * seen.allowed).argmax(0)


SHORT_IMPACT = sleeve_config(COST_PROFILES["impact"], allow_short=True)
CASES: dict[str, tuple[EnvConfig, list[Policy]]] = {
    "long-only targets": (sleeve_config(), [RandomTargets(1)]),
    "targets with shorts and impact": (SHORT_IMPACT, [RandomTargets(1), Wild()]),
    "continuous with shorts": (EnvConfig.preset("long_short"), [Wild()]),
    "stops within bars": (EnvConfig.preset("guarded", reward="log_growth"), [Wild()]),
    "codes": (EnvConfig().with_space("discrete"), [Wild(codes=True)]),
}


def tracks(config: EnvConfig, policies: list[Policy], **options: object) -> list[SimulationRecord]:
    """The same policies by tensors and compiled: delays of 0 to 3 bars, two cost profiles."""
    policies = [
        PolicyUnderTest("late", policy, costs=costs, delay_bars=delay)
        for policy in policies
        for delay, costs in ((0, None), (1, COST_PROFILES["retail"]), (3, None))
    ]
    return [
        simulate_policies(
            small_world(), config, policies, IndexRange(FIRST, LAST + 1), native=native, **options
        )
        for native in (False, True)
    ]


@pytest.mark.parametrize("name", CASES)
def test_compiled_lanes_equal_the_tensors_bit_for_bit(name: str) -> None:
    by_tensors, compiled = tracks(*CASES[name])

    assert native_module.native_trade(*_program(CASES[name][0])) is not None
    assert len(by_tensors.fills().step) > 100
    assert np.array_equal(by_tensors.bars, compiled.bars)
    assert np.array_equal(by_tensors.asked, compiled.asked)
    assert np.array_equal(by_tensors.denials, compiled.denials)
    assert np.array_equal(by_tensors.realised_ccy, compiled.realised_ccy)
    # Sums of many bars: tensors add sixty-four at a time.
    np.testing.assert_allclose(by_tensors.terms, compiled.terms, rtol=1e-12, atol=1e-12)


def test_D21_delisting_is_that_of_the_tensors_bit_for_bit() -> None:
    world = delisted(small_world(), 1, LAST - 20)
    account = replace(SHORT_IMPACT.rules.account, delisted_after_bars=4)
    config = replace(SHORT_IMPACT, rules=replace(SHORT_IMPACT.rules, account=account))
    policies = [PolicyUnderTest("random", RandomTargets(1)), PolicyUnderTest("wild", Wild())]
    span = IndexRange(FIRST, LAST + 1)

    by_tensors, compiled = (
        simulate_policies(world, config, policies, span, native=native) for native in (False, True)
    )

    assert (by_tensors.column("exit_units") != 0.0).any()
    assert np.array_equal(by_tensors.bars, compiled.bars)
    assert np.array_equal(by_tensors.realised_ccy, compiled.realised_ccy)


def test_lanes_shared_by_threads_are_the_same() -> None:
    torch.set_num_threads(3)
    config, _ = CASES["long-only targets"]

    by_tensors, compiled = tracks(config, [RandomTargets(seed) for seed in range(30)])

    assert by_tensors.bars.shape[-1] == 270  # five blocks of lanes
    assert np.array_equal(by_tensors.bars, compiled.bars)


def test_without_a_compiler_the_tensors_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    config, policies = CASES["long-only targets"]
    monkeypatch.setattr(compiling, "_COMPILERS", ("no-such-compiler",))
    monkeypatch.setattr(native_module, "_LOADED", {})

    by_tensors, fallen_back = tracks(config, policies)

    assert native_module.native_trade(*_program(config)) is None
    assert np.array_equal(by_tensors.bars, fallen_back.bars)


def test_program_is_kept_on_disk_and_changed_code_is_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = CASES["long-only targets"][0]
    monkeypatch.setenv(cache.CACHE_VARIABLE, str(tmp_path))
    monkeypatch.setattr(native_module, "lane_source", lambda *_: "void trade(void) {}")

    def made(code: str) -> int:
        monkeypatch.setattr(native_module, "_LOADED", {})
        monkeypatch.setattr(native_module, "code_sha256", lambda *_: code)
        assert native_module.native_trade(*_program(config)) is not None
        return len([*tmp_path.glob("lanes-*.so")])

    assert [made("a"), made("a"), made("b")] == [1, 1, 2]


def test_length_of_the_period_is_no_part_of_the_program() -> None:
    rules, reward = _program(CASES["long-only targets"][0])
    other = replace(rules, episode=replace(rules.episode, episode_bars=77))

    assert native_module.native_trade(rules, reward) is native_module.native_trade(other, reward)


def _program(config: EnvConfig):  # type: ignore[no-untyped-def]
    return config.rules, config.reward_stack
