"""What an agent sees at a bar does not depend on bars after it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tradingbot.data.splits import IndexRange
from tradingbot.domain.seeding import stream
from tradingbot.envs import EnvConfig, TradingEnv, World, synthetic_world, world_from_bars
from tradingbot.market.params import EpisodeRules, SimulatorParams

TRAIN = IndexRange(0, 260)
CONFIG = EnvConfig(rules=SimulatorParams(episode=EpisodeRules(episode_bars=60)), observation="flat")
BEGIN, CUT = 300, 330


@pytest.fixture(scope="module")
def prices() -> np.ndarray:
    return synthetic_world("regimes", n_symbols=2, n_bars=400, seed=8).prices


def world_of(prices: np.ndarray) -> World:
    clock = np.arange(400, dtype=np.int64) * 3_600_000_000
    return world_from_bars(prices, np.ones((2, 400), bool), clock, ("A", "B"), train=TRAIN)


def trajectory(world: World, space: str) -> list[tuple[Any, ...]]:
    """Observation and reward of each bar from `BEGIN` on; both follow from bars up to it."""
    env = TradingEnv(world, CONFIG.with_space(space))  # type: ignore[arg-type]
    env.action_space.seed(1)
    observation, _ = env.reset(seed=1, options={"symbol": "A", "bar": BEGIN})
    seen: list[tuple[Any, ...]] = [(observation, 0.0)]
    for _ in range(59):
        observation, reward, *_ = env.step(env.action_space.sample())
        seen.append((observation, reward))
    return seen


@pytest.mark.parametrize("space", ["continuous", "target", "discrete"])
def test_changing_later_bars_changes_nothing_seen_before(prices: np.ndarray, space: str) -> None:
    changed = prices.copy()
    factor = np.exp(stream(3, "future").normal(0.0, 0.05, (2, 400 - CUT - 1)))
    changed[:, CUT + 1 :, :4] *= factor[..., None]
    changed[:, CUT + 1 :, 4] *= 3.0

    before, after = trajectory(world_of(prices), space), trajectory(world_of(changed), space)

    known = CUT - BEGIN + 1  # observations at the closes of BEGIN … CUT
    for bar in range(known):
        assert np.array_equal(before[bar][0], after[bar][0]), bar
        assert before[bar][1] == after[bar][1], bar
    assert not np.array_equal(before[known][0], after[known][0])  # the change was not in vain


def test_changing_the_open_that_fills_an_order_does_not_change_the_decision_bar(
    prices: np.ndarray,
) -> None:
    changed = prices.copy()
    changed[:, BEGIN + 1, 0] = changed[:, BEGIN + 1, 1]  # the next open, at the bar's high

    before, after = (trajectory(world_of(bars), "discrete") for bars in (prices, changed))

    assert np.array_equal(before[0][0], after[0][0])
