"""One simulator behind every interface: same seed and actions, same course, across episode ends.

The single environment runs on the scalar simulator in float64; all others on the tensor one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from fixtures.trading_worlds import crashed, short_config, small_world
from tradingbot.domain.seeding import stream
from tradingbot.envs.batch import BatchSimulator
from tradingbot.envs.batch.observation import as_arrays
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.single import TradingEnv
from tradingbot.envs.vector import TradingVectorEnv
from tradingbot.envs.world import World
from tradingbot.market.costs import cost_profile
from tradingbot.market.params import ActionSpace
from tradingbot.risk.limits import RiskLimits

BARS = 40  # with episodes of 12: across three ends
B = 3
SEED = 11


def actions_of(space: ActionSpace, n: int = B, *, seed: int = 0) -> NDArray[Any]:
    generator = stream(seed, "parity")
    if space == "discrete":
        return generator.integers(0, 7, (BARS, n))
    return generator.uniform(-1.0, 1.0, (BARS, n)).astype(np.float32)


def configs() -> list[tuple[str, EnvConfig]]:
    long_short = RiskLimits(max_position_frac=0.5, allow_short=True)
    short = short_config("target")
    return [
        *((space, short_config(space)) for space in ("continuous", "target", "discrete")),  # type: ignore[arg-type]
        (
            "short target, impact",
            replace(
                short, rules=replace(short.rules, limits=long_short), costs=cost_profile("impact")
            ),
        ),
        ("first starts, retail", replace(short, starts="first", costs=cost_profile("retail"))),
        *(
            (f"reward {name}", replace(short_config(), reward=name))
            for name in ("log_growth", "differential_sharpe")
        ),
    ]


@pytest.mark.parametrize(("name", "config"), configs(), ids=[name for name, _ in configs()])
def test_single_equals_lane_zero_of_the_batch_step_for_step(name: str, config: EnvConfig) -> None:
    compare_single_and_batch(small_world(), config, actions_of(config.rules.action.space))


def test_single_equals_lane_zero_of_the_batch_through_ruin() -> None:
    world = small_world()
    config = replace(short_config("target", smoothing_bars=1), starts="first")
    bar = int(world.usable.any(0).argmax())
    for symbol in range(3):
        world = crashed(world, symbol, bar + 4)
    terminated, truncated = compare_single_and_batch(world, config, np.ones((BARS, B), np.float32))

    assert terminated >= 3
    assert truncated == 0


def compare_single_and_batch(
    world: World, config: EnvConfig, actions: NDArray[Any]
) -> tuple[int, int]:
    """Step both; return how often the single environment was terminated and truncated."""
    single = TradingEnv(world, config)
    batch = BatchSimulator(world, config, B, dtype=torch.float64, compile=False)
    seen, _ = single.reset(seed=SEED)
    batch.reset(seed=SEED)
    ends = [0, 0]
    assert_observation(seen, as_arrays(batch.observe())[0])
    for row in actions:
        seen, reward, terminated, truncated, info = single.step(row[0])
        made = batch.step(row)
        last = as_arrays(batch.observe_before_reset(made, torch.tensor([0])))[0]
        assert_observation(seen, last)
        assert float(reward) == pytest.approx(made.reward[0].item(), rel=1e-9, abs=1e-12)
        terms = list(info["reward_terms"].values())
        assert terms == pytest.approx(made.terms[:, 0].tolist(), rel=1e-9, abs=1e-12)
        assert (terminated, truncated) == (bool(made.terminated[0]), bool(made.truncated[0]))
        after = batch.before_reset(made)
        assert info["equity"] == pytest.approx(after.equity[0].item(), rel=1e-12)
        assert info["units"] == pytest.approx(after.units[0].item(), rel=1e-9, abs=1e-9)
        ends[0] += terminated
        ends[1] += truncated
        if terminated or truncated:
            seen, _ = single.reset()
            assert_observation(seen, as_arrays(batch.observe())[0])
    assert sum(ends) >= 3
    return ends[0], ends[1]


def assert_observation(ours: Any, theirs: NDArray[np.float32]) -> None:
    """Equal up to the last bit of float32, which two orders of summing may round apart."""
    np.testing.assert_allclose(ours, theirs, rtol=3e-7, atol=1e-9)


def test_masks_of_single_equal_those_of_lane_zero() -> None:
    config = short_config("discrete")
    single = TradingEnv(small_world(), config)
    batch = BatchSimulator(small_world(), config, B, dtype=torch.float64, compile=False)
    single.reset(seed=SEED)
    batch.reset(seed=SEED)
    for row in actions_of("discrete"):
        assert single.action_masks().tolist() == batch.action_masks()[0].tolist()
        _, _, terminated, truncated, _ = single.step(row[0])
        batch.step(row)
        if terminated or truncated:
            single.reset()


@pytest.mark.parametrize("space", ["continuous", "target", "discrete"])
def test_vector_and_sb3_equal_the_batch_bit_for_bit(space: ActionSpace) -> None:
    pytest.importorskip("stable_baselines3", reason="the extra `train` is not installed")
    from tradingbot.envs.sb3 import TradingVecEnv

    config, world = short_config(space), small_world()
    batch = BatchSimulator(world, config, B)
    vector = TradingVectorEnv(world, config, B)
    sb3 = TradingVecEnv(world, config, B)
    batch.reset(seed=SEED)
    sb3.seed(SEED)
    expected = as_arrays(batch.observe())
    assert np.array_equal(vector.reset(seed=SEED)[0], expected)
    assert np.array_equal(sb3.reset(), expected)
    ends = 0
    for row in actions_of(space):
        made = batch.step(row)
        expected = as_arrays(batch.observe())
        last = as_arrays(batch.observe_before_reset(made, torch.arange(B)))
        ended = (made.terminated | made.truncated).numpy()
        ends += int(ended.sum())

        seen, rewards, terminated, truncated, infos = vector.step(row)
        assert np.array_equal(seen, expected)
        assert np.array_equal(rewards, made.reward.double().numpy())
        assert np.array_equal(terminated, made.terminated.numpy())
        assert np.array_equal(truncated, made.truncated.numpy())

        seen, rewards, stopped, lane_infos = sb3.step(row)
        assert np.array_equal(seen, expected)  # type: ignore[arg-type]
        assert np.array_equal(rewards, made.reward.numpy())
        assert np.array_equal(stopped, ended)
        for lane in np.flatnonzero(ended):
            assert np.array_equal(infos["final_obs"][lane], last[lane])
            assert np.array_equal(lane_infos[lane]["terminal_observation"], last[lane])
    assert ends >= 3 * B


@pytest.mark.parametrize("space", ["continuous", "target", "discrete"])
def test_parallel_equals_lanes_of_fixed_symbols_bit_for_bit(space: ActionSpace) -> None:
    pytest.importorskip("pettingzoo", reason="the extra `train` is not installed")
    from tradingbot.envs.parallel import TradingParallelEnv

    config, world = short_config(space), small_world()
    batch = BatchSimulator(world, config, 1, lanes="per_symbol")
    parallel = TradingParallelEnv(world, config)
    batch.reset(seed=SEED)
    seen, _ = parallel.reset(seed=SEED)
    assert np.array_equal(np.stack(list(seen.values())), as_arrays(batch.observe()))
    for row in actions_of(space):
        made = batch.step(row)
        last = as_arrays(batch.observe_before_reset(made, torch.arange(3)))
        seen, rewards, terminated, truncated, _ = parallel.step(
            dict(zip(parallel.agents, row, strict=True))
        )
        assert np.array_equal(np.stack(list(seen.values())), last)
        assert list(rewards.values()) == made.reward.tolist()
        assert list(terminated.values()) == made.terminated.tolist()
        assert list(truncated.values()) == made.truncated.tolist()
        if not parallel.agents:
            seen, _ = parallel.reset()
            assert np.array_equal(np.stack(list(seen.values())), as_arrays(batch.observe()))


def test_native_batch_equals_eager() -> None:
    config = short_config()
    eager, native = (
        BatchSimulator(small_world(), config, B, dtype=torch.float64, compile=on)
        for on in (False, True)
    )
    for sim in (eager, native):
        sim.reset(seed=SEED)
    for row in actions_of("continuous"):
        ours, theirs = eager.step(row), native.step(row)
        torch.testing.assert_close(ours.reward, theirs.reward, rtol=1e-9, atol=1e-12)
        torch.testing.assert_close(ours.private, theirs.private, rtol=1e-9, atol=1e-12)
        assert torch.equal(ours.truncated, theirs.truncated)
        for a, b in zip(ours.account, theirs.account, strict=True):
            assert torch.equal(a, b)
        for a, b in zip(ours.advanced.fill, theirs.advanced.fill, strict=True):
            assert torch.equal(a, b)
        for a, b in zip(ours.before_reset, theirs.before_reset, strict=True):
            assert torch.equal(a, b)
    assert native.is_native
    assert torch.equal(eager.account.episode, native.account.episode)
