"""The pictures of a rollout show the curves, spells and terms that it holds."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_hex

from tradingbot.agents import rule_policy
from tradingbot.envs.build_world import synthetic_world
from tradingbot.evaluation.figures.rollout import (
    POLICY_COLOURS,
    draw_equity,
    draw_reward_terms,
    draw_trades,
)
from tradingbot.evaluation.figures.style import GREEN, RED
from tradingbot.evaluation.metrics.returns import drawdown_of
from tradingbot.evaluation.rollout import PolicyRollout, roll_out, sleeve_config


@pytest.fixture(scope="module")
def rollout() -> PolicyRollout:
    world = synthetic_world("planted", n_symbols=2, n_bars=330, seed=2)
    policies = {
        name: rule_policy(name, seed=1, regime_names=world.regime_names)
        for name in ("random", "buy_and_hold")
    }
    return roll_out(world, sleeve_config(), policies)


def test_equity_and_drawdown_are_drawn_for_every_policy(rollout: PolicyRollout) -> None:
    upper, lower = draw_equity(rollout, title="synthetic").axes

    lines = {line.get_label(): line for line in upper.lines}
    worth = np.stack([each.portfolio for each in rollout.backtests], axis=1)
    np.testing.assert_array_equal(lines["random"].get_ydata(), 100.0 * worth[:, 0])
    np.testing.assert_array_equal(lines["buy and hold"].get_ydata(), 100.0 * worth[:, 1])
    np.testing.assert_array_equal(lower.lines[1].get_ydata(), -100.0 * drawdown_of(worth)[:, 1])
    assert to_hex(lines["random"].get_color()).upper() == POLICY_COLOURS["random"]
    assert upper.get_title() == "synthetic"


def test_trades_are_drawn_as_spells_coloured_by_their_profit(rollout: PolicyRollout) -> None:
    upper, lower = draw_trades(rollout, 1, title="synthetic", bars=50).axes

    trades = rollout.trades
    shown = (trades.symbol == 1) & (trades.left_at >= rollout.closed_at[-50])
    random, held = lower.collections
    assert len(random.get_paths()) == (shown & (trades.policy == 0)).sum() > 3
    assert len(held.get_paths()) == 1
    expected = [GREEN if won else RED for won in trades.pnl_ccy[shown & (trades.policy == 0)] > 0.0]
    assert [to_hex(colour).upper() for colour in random.get_facecolors()] == expected
    ((left, _), *_) = held.get_paths()[0].vertices
    assert left == -0.5  # begun before the picture does
    np.testing.assert_array_equal(upper.lines[0].get_ydata(), rollout.closes[-50:, 1])


def test_reward_terms_stack_to_the_reward(rollout: PolicyRollout) -> None:
    axes = draw_reward_terms(rollout, title="synthetic").axes[0]

    terms = 1_000.0 * rollout.reward_terms.mean(axis=2) / rollout.n_bars
    sums = next(line for line in axes.lines if line.get_label() == "reward")
    np.testing.assert_allclose(sums.get_xdata(), terms.sum(axis=0))
    assert len(axes.containers) == len(rollout.reward_names)
    for policy in range(2):
        widths = [bars[policy].get_width() for bars in axes.containers]
        np.testing.assert_allclose(widths, terms[:, policy])
        right = max(
            bars[policy].get_x() + max(bars[policy].get_width(), 0) for bars in axes.containers
        )
        assert right == pytest.approx(np.maximum(terms[:, policy], 0.0).sum())
