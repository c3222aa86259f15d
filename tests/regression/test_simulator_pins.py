"""Scripted strategies whose fills and ends are pinned: whoever moves a number must say so.

A change here is result-affecting: note it in the changelog, with the reason, and pin anew.
"""

from __future__ import annotations

import hashlib
import math

import numpy as np
import pytest

from tradingbot.domain.seeding import stream
from tradingbot.envs import EnvConfig, TradingEnv, synthetic_world
from tradingbot.envs.world import World
from tradingbot.market import AccountRules, ActionRules, EpisodeRules, SimulatorParams
from tradingbot.market.costs import cost_profile
from tradingbot.risk import RiskLimits

STEPS = 400
GUARDED = AccountRules(stop_loss_frac=0.015, take_profit_frac=0.03, max_holding_bars=40)


@pytest.fixture(scope="module")
def world() -> World:
    return synthetic_world("regimes", n_symbols=3, n_bars=900, seed=11)


def scripted(space: str) -> list[float]:
    draws = stream(11, "pins", space)
    if space == "discrete":
        return [int(code) for code in draws.integers(0, 7, STEPS)]
    waves = [math.sin(step / 9.0) for step in range(STEPS)]
    return [wave + 0.3 * noise for wave, noise in zip(waves, draws.normal(size=STEPS), strict=True)]


@pytest.mark.parametrize(
    ("space", "short", "costs", "n_trades", "equity_ccy", "fills"),
    [
        ("continuous", False, "alpaca", 11, 102968.22, "ab19a0e70b57816b"),
        ("target", True, "impact", 30, 101488.19, "9f3cc0f24b09504f"),
        ("discrete", False, "retail", 44, 97362.81, "452eda7664153d78"),
    ],
)
def test_scripted_strategy_fills_as_pinned(
    world: World,
    space: str,
    short: bool,
    costs: str,
    n_trades: int,
    equity_ccy: float,
    fills: str,
) -> None:
    rules = SimulatorParams(
        GUARDED,
        RiskLimits(max_position_frac=0.5, allow_short=short),
        ActionRules(space=space),  # type: ignore[arg-type]
        EpisodeRules(episode_bars=STEPS),
    )
    env = TradingEnv(world, EnvConfig(rules, cost_profile(costs), observation="flat"))
    env.reset(seed=4)
    written = []
    for action in scripted(space):
        given = action if space == "discrete" else np.array([action], dtype=np.float32)
        _, _, terminated, truncated, info = env.step(given)
        numbers = (info["fill"], info["fill_price"], info["exit_fill"], info["exit_price"])
        written.append(" ".join(f"{number:.6f}" for number in numbers))
        if terminated or truncated:
            break
    found = (
        env.summary()["n_trades"],
        round(info["equity"], 2),
        hashlib.sha256("\n".join(written).encode()).hexdigest()[:16],
    )

    assert found == (n_trades, equity_ccy, fills)
