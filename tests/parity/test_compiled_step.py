"""The step gives the same accounts whether it is compiled or not."""

from __future__ import annotations

import math
import shutil

import pytest
import torch

from fixtures.streams import profit, scene
from tradingbot.market import AccountRules, ActionRules, EpisodeRules, Rules
from tradingbot.market.account import COUNT_FIELDS, FLOAT_FIELDS
from tradingbot.market.simulation import step
from tradingbot.risk import RiskLimits

LANES, STEPS = 256, 200
RULES = Rules(
    AccountRules(stop_loss_frac=0.04, take_profit_frac=0.06, position_loss_frac=math.inf),
    RiskLimits(0.5, allow_short=True),
    ActionRules(space="target", smoothing_bars=3),
    EpisodeRules(episode_bars=30, window_bars=8),
)


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # the compiler's own
def test_compiled_step_equals_the_eager_one() -> None:
    if not any(shutil.which(name) for name in ("g++", "clang++", "c++")):
        pytest.skip("compiling for the CPU needs a C++ compiler, and there is none")
    torch.set_num_threads(1)
    where = scene(RULES, "impact", 6, n_lanes=LANES, n_steps=STEPS)
    compiled = torch.compile(step, fullgraph=True, dynamic=False)
    account = where.open()
    ends = torch.zeros(2, dtype=torch.int64)
    for action in where.actions:
        arguments = (where.rates, where.market, where.starts, account, action)
        slow = step(RULES, profit, *arguments)
        fast = compiled(RULES, profit, *arguments)
        for name in (*COUNT_FIELDS, "action_ages"):
            assert torch.equal(getattr(slow.account, name), getattr(fast.account, name)), name
        for name in FLOAT_FIELDS:
            found, expected = getattr(fast.account, name), getattr(slow.account, name)
            # Fused multiply-add rounds once where two operations round twice.
            torch.testing.assert_close(found, expected, rtol=1e-11, atol=1e-7, msg=name)
        for name in ("terminated", "truncated"):
            assert torch.equal(getattr(slow, name), getattr(fast, name)), name
        for name in ("denial", "exit_reason"):
            assert torch.equal(getattr(slow.advanced, name), getattr(fast.advanced, name)), name
        for name in ("private", "final_private", "reward", "terms"):
            torch.testing.assert_close(
                getattr(fast, name), getattr(slow, name), rtol=1e-9, atol=1e-9, msg=name
            )
        ends += torch.stack((slow.terminated.sum(), slow.truncated.sum()))
        account = slow.account
    assert (ends > 10).all()
