"""A ruined account in a backtest: the bar of ruin counts, nothing comes after it."""

from __future__ import annotations

from dataclasses import replace

import torch

from tradingbot.envs import EnvConfig, synthetic_world
from tradingbot.envs.population import evaluation_task
from tradingbot.learning.playing import play, score
from tradingbot.market.params import AccountRules, ActionRules, EpisodeRules, SimulatorParams
from tradingbot.risk.limits import RiskLimits


def test_ruin_in_a_backtest_counts_and_nothing_is_lost_afterwards() -> None:
    world = synthetic_world("noise", n_symbols=1, n_bars=500, seed=3)
    prices = world.prices.copy()
    prices[:, 400:, :4] *= 6.0
    shorts = SimulatorParams(
        account=AccountRules(position_loss_frac=float("inf"), portfolio_loss_frac=1.0),
        limits=RiskLimits(max_position_frac=0.9, allow_short=True),
        action=ActionRules(space="target", smoothing_bars=1),
        episode=EpisodeRules(window_bars=1),
    )
    task = evaluation_task(replace(world, prices=prices), EnvConfig(rules=shorts), first_bar=300)

    played = play(task, lambda seen: torch.full(seen.row.shape, -1.0), task.episode_bars)
    figures = score(played, task.action, bars_per_year=1_764.0)

    wealth = played.wealth[:, 0, 0].double()
    assert wealth[-1] < 0.5
    assert not bool(played.ended.any())
    assert figures["return_bp"].item() < -30.0
    assert figures["sharpe"].item() < 0.0
