"""The step gives the same accounts whether it is compiled or not."""

from __future__ import annotations

import math

import pytest
import torch
from torch._dynamo.utils import counters
from torch._inductor import config as compiler

from fixtures.streams import profit, scene
from tradingbot.domain.errors import ConfigError
from tradingbot.market import AccountRules, ActionRules, EpisodeRules, SimulatorParams, compiled
from tradingbot.market.account import COUNT_FIELDS, FLOAT_FIELDS
from tradingbot.market.compiled import compiled_step, missing_compiler
from tradingbot.market.packing import pack, pack_rates, unpack
from tradingbot.market.simulation import step
from tradingbot.risk import RiskLimits

LANES, STEPS = 256, 200
RULES = SimulatorParams(
    AccountRules(stop_loss_frac=0.04, take_profit_frac=0.06, position_loss_frac=math.inf),
    RiskLimits(0.5, allow_short=True),
    ActionRules(space="target", smoothing_bars=3),
    EpisodeRules(episode_bars=30, window_bars=8),
)


def test_compiled_step_equals_the_eager_one(monkeypatch: pytest.MonkeyPatch) -> None:
    if missing_compiler(torch.device("cpu")):
        pytest.skip("compiling for the CPU needs a C++ compiler, and there is none")
    # One loop per kernel, and no trial of every kind of vector: here it stands for a GPU's program.
    fewer = {
        "cpp.simdlen": 1,
        "cpp.vec_isa_ok": True,
        "cpp_cache_precompile_headers": False,
    }
    with compiler.patch(fewer):
        compare_steps(monkeypatch)


def compare_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    where = scene(RULES, "impact", 6, n_lanes=LANES, n_steps=STEPS)
    program = compiled_step(RULES, profit, where.market, where.starts)
    rates, account = pack_rates(where.rates), where.open()
    ends = torch.zeros(2, dtype=torch.int64)
    for action in where.actions:
        slow = step(RULES, profit, where.rates, where.market, where.starts, account, action)
        fast = program(rates, pack(account), action)
        found = unpack(fast.account)
        for name in (*COUNT_FIELDS, "action_ages"):
            assert torch.equal(getattr(slow.account, name), getattr(found, name)), name
        for name in FLOAT_FIELDS:
            # Fused multiply-add rounds once where two operations round twice.
            torch.testing.assert_close(
                getattr(found, name), getattr(slow.account, name), rtol=1e-11, atol=1e-7, msg=name
            )
        for name in ("terminated", "truncated"):
            assert torch.equal(getattr(slow, name), getattr(fast, name)), name
        for name in ("private", "final_private", "reward", "terms"):
            torch.testing.assert_close(
                getattr(fast, name), getattr(slow, name), rtol=1e-9, atol=1e-9, msg=name
            )
        ends += torch.stack((slow.terminated.sum(), slow.truncated.sum()))
        account = slow.account
    assert (ends > 10).all()
    with pytest.raises(ConfigError, match="the batch it was compiled for"):
        program(rates, pack(account), where.actions[0][:-1])
    # What another process would do: the program is not in memory, but on disk.
    monkeypatch.setattr(compiled, "_PROGRAMS", {})
    hits = counters["inductor"]["fxgraph_cache_hit"]
    again = compiled_step(RULES, profit, where.market, where.starts)
    last = again(rates, pack(account), where.actions[0])
    assert counters["inductor"]["fxgraph_cache_hit"] == hits + 1
    expected = program(rates, pack(account), where.actions[0])
    assert torch.equal(last.account.money, expected.account.money)
