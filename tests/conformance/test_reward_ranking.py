"""Every preset pays the best policy best: a reward that prefers noise to edge teaches noise."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import numpy as np
import pytest

from tradingbot.data.synthetic.registry import generate
from tradingbot.envs.build_world import world_from_bars
from tradingbot.envs.world import World
from tradingbot.evaluation.backtest.baselines import TargetTable, baseline, oracle_policy
from tradingbot.evaluation.oracle.action_rule import DEFAULT_COST_FRAC, Information
from tradingbot.evaluation.rollout import roll_out, sleeve_config
from tradingbot.rewards.presets import REWARD_PRESETS

RIVALS = ("random", "buy_and_hold", "expert")
IDLE_IS_BEST = {"prototype"}  # its weight on drawdown outweighs this much edge; see the docs


def scene_of(kind: str) -> tuple[World, TargetTable]:
    symbols = [f"S{index:02d}" for index in range(24)]
    market = generate(kind, symbols=symbols, start=date(2024, 1, 2), end=date(2024, 10, 1), seed=1)
    columns = (market.opens, market.highs, market.lows, market.closes, market.volumes)
    world = world_from_bars(
        np.stack(columns, axis=-1).swapaxes(0, 1),
        np.ones(market.shape[::-1], dtype=bool),
        market.closed_at.astype("datetime64[us]").astype(np.int64),
        market.symbols,
        label=f"synthetic market {kind!r}",
        synthetic=True,
    )
    oracle = oracle_policy(
        market, world, cost_frac=DEFAULT_COST_FRAC, information=Information.ATTAINABLE
    )
    return world, oracle


@pytest.fixture(scope="module")
def planted() -> tuple[World, TargetTable]:
    return scene_of("planted")


def rewards_of(
    scene: tuple[World, TargetTable], rivals: Sequence[str], preset: str
) -> dict[str, float]:
    world, oracle = scene
    rules = {name: baseline(name, world, seed=3) for name in rivals}
    rollout = roll_out(world, sleeve_config(reward=preset), {**rules, "oracle": oracle})
    return dict(zip(rollout.policies, rollout.reward_terms.sum(0).mean(-1).tolist(), strict=True))


@pytest.mark.parametrize("preset", sorted(REWARD_PRESETS))
def test_preset_pays_the_oracle_more_than_anyone_else(
    preset: str, planted: tuple[World, TargetTable]
) -> None:
    rewards = rewards_of(planted, RIVALS, preset)

    assert rewards["oracle"] > max(rewards[name] for name in RIVALS), rewards
    assert (rewards["oracle"] < 0.0) == (preset in IDLE_IS_BEST), rewards


@pytest.mark.parametrize("kind", ["opposed", "hidden_trend", "hidden_reversion", "regimes"])
def test_default_reward_pays_no_market_s_noise_like_its_oracle(kind: str) -> None:
    rewards = rewards_of(scene_of(kind), ("random",), "v31")

    assert rewards["oracle"] > rewards["random"], rewards
