"""A lane of the tensor simulator equals the scalar environment, whatever its neighbours do."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tradingbot.domain.errors import UserError
from tradingbot.domain.seeding import stream
from tradingbot.envs.envcheck.bars import alternate, flat, stairs
from tradingbot.envs.envcheck.lane import LANE, N_LANES, LaneEnv
from tradingbot.envs.envcheck.ours import our_probe
from tradingbot.envs.envcheck.probe import Intent
from tradingbot.envs.envcheck.trace import build, first_difference, flatten, play

SCRIPT = (Intent.BUY, Intent.HOLD, Intent.SELL, Intent.SHORT, Intent.HOLD, Intent.BUY) * 4


@pytest.mark.parametrize("prices", [stairs(), alternate(), stairs(9)], ids=["up", "both", "end"])
def test_lane_equals_the_scalar_environment(prices: list[float]) -> None:
    probes = our_probe("continuous"), our_probe("continuous", make=LaneEnv)

    scalar, lane = (
        play(build(p, prices, fee_frac=0.001, borrow_frac=0.001), p, SCRIPT) for p in probes
    )

    assert len(scalar.moments) == len(lane.moments) == min(len(SCRIPT) + 1, len(prices))
    assert scalar.ended == lane.ended == (len(prices) == 9)
    np.testing.assert_allclose(lane.read("equity"), scalar.read("equity"), rtol=2e-6)
    np.testing.assert_allclose(lane.rewards, scalar.rewards, rtol=1e-3, atol=1e-5)
    for a, b in zip(scalar.moments, lane.moments, strict=True):
        np.testing.assert_allclose(flatten(a.observation), flatten(b.observation), atol=1e-4)


def test_neighbours_do_not_show() -> None:
    probe = our_probe("continuous", make=LaneEnv)
    envs = [build(probe, stairs()) for _ in range(2)]
    envs[1].unwrapped._neighbours = stream(1, "other neighbours")

    first, second = (play(env, probe, SCRIPT) for env in envs)

    assert first_difference(first, second) is None
    equities = [env.unwrapped.simulator.account.equity for env in envs]
    assert equities[0].shape == (N_LANES,)
    assert equities[0][LANE] == equities[1][LANE]
    assert not torch.equal(*equities)


def test_step_after_the_end_is_refused() -> None:
    probe = our_probe("discrete", make=LaneEnv)
    env = build(probe, flat(4))

    trace = play(env, probe, (Intent.HOLD,) * 8)

    assert trace.last.truncated
    with pytest.raises(UserError, match="must be reset"):
        env.step(0)
