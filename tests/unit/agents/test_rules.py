"""The rules: what each asks for, given what it sees, on numbers small enough to check by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from tradingbot.agents import RULES, PolicyInputs, rule_policy
from tradingbot.agents.baselines.expert import (
    Expert,
    ExpertIndicators,
    ExpertLimits,
    score_signals,
)
from tradingbot.agents.baselines.market_rules import LEVELS, RandomTargets, buy_and_hold
from tradingbot.agents.baselines.residual_reversal import OwnMoves
from tradingbot.agents.baselines.trend_follower import USED_REGIMES, TrendFollower
from tradingbot.agents.policy import NO_TRADE_BAND_FRAC, apply_no_trade_band
from tradingbot.domain.errors import ConfigError
from tradingbot.market.private_features import PRIVATE_FEATURES


def seen_by(
    size: list[float], *, regimes: list[list[float]] | None = None, row: Tensor | None = None
) -> PolicyInputs:
    """What accounts of these sizes see; regimes are momentum, trend and volatility."""
    count = len(size)
    private = torch.zeros(len(PRIVATE_FEATURES), count, dtype=torch.float64)
    private[0] = torch.tensor(size, dtype=torch.float64)
    rows = torch.arange(count) if row is None else row
    shown = torch.tensor(regimes if regimes is not None else [[0.0] * 3] * count)
    return PolicyInputs(rows, torch.zeros(count, 1), shown, private)


def test_settled_keeps_what_is_near_and_takes_zero_literally() -> None:
    target = torch.tensor([1.0, 1.0, 0.0, 0.5])
    size = torch.tensor([0.97, 0.9, 0.01, 0.5])

    assert apply_no_trade_band(target, size).tolist() == pytest.approx([0.97, 1.0, 0.0, 0.5])
    assert NO_TRADE_BAND_FRAC == 0.05


def test_buy_and_hold_buys_when_flat_completes_a_cut_fill_and_then_holds() -> None:
    assert buy_and_hold(seen_by([0.0, 0.4, 0.999, 1.02])).tolist() == [1.0, 1.0, 0.999, 1.02]


def test_random_targets_are_the_four_levels_equally_often() -> None:
    rows = torch.arange(40_000)
    targets = RandomTargets(seed=3)(seen_by([-1.0] * len(rows), row=rows))  # near to no level

    counts = torch.bincount((targets * (LEVELS - 1)).round().long(), minlength=LEVELS)
    assert set(targets.tolist()) == {0.0, 1 / 3, 2 / 3, 1.0}
    # Binomial with p = 1/4: five standard deviations are 433.
    assert (counts - 10_000).abs().max() < 433


def test_random_targets_depend_on_seed_and_row_alone() -> None:
    rows = torch.arange(2_000)
    seen = seen_by([-1.0] * 2_000, row=rows)
    order = torch.randperm(2_000, generator=torch.Generator().manual_seed(1))
    shuffled = seen_by([-1.0] * 2_000, row=rows[order])

    assert torch.equal(RandomTargets(3)(seen)[order], RandomTargets(3)(shuffled))
    assert not torch.equal(RandomTargets(3)(seen), RandomTargets(4)(seen))


def test_random_targets_of_following_bars_are_uncorrelated() -> None:
    targets = RandomTargets(5)(seen_by([-1.0] * 20_000))

    centred = targets - targets.mean()
    correlation = (centred[1:] * centred[:-1]).mean() / centred.square().mean()
    assert abs(float(correlation)) < 0.035  # five standard errors


@pytest.mark.parametrize(
    ("size", "momentum", "trend", "volatility", "wanted"),
    [
        (0.0, 0.6, 0.1, 0.5, 1.0),  # rises fast and slowly, calm: buy
        (0.0, 0.44, 0.1, 0.5, 0.0),  # not fast enough
        (0.0, 0.6, 0.0, 0.5, 0.0),  # against the slow trend
        (0.0, 0.6, 0.1, 0.96, 0.0),  # too wild
        (0.0, 0.0, 0.0, 0.0, 0.0),  # undefined
        (0.98, 0.0, -0.5, 0.99, 0.98),  # held: only momentum ends it
        (0.98, -0.19, 0.1, 0.5, 0.98),
        (0.98, -0.2, 0.1, 0.5, 0.0),  # falls: sell
        (0.3, 0.1, 0.1, 0.5, 1.0),  # a cut fill is completed
    ],
)
def test_trend_follower_enters_and_leaves_where_it_says(
    size: float, momentum: float, trend: float, volatility: float, wanted: float
) -> None:
    follower = TrendFollower(USED_REGIMES)

    target = follower(seen_by([size], regimes=[[momentum, trend, volatility]]))

    assert target.tolist() == pytest.approx([wanted])


def test_trend_follower_finds_its_regimes_by_name() -> None:
    names = ("other", *reversed(USED_REGIMES))

    target = TrendFollower(tuple(names))(seen_by([0.0], regimes=[[9.0, 0.5, 0.1, 0.6]]))

    assert target.tolist() == [1.0]


def test_trend_follower_without_its_regimes_is_refused() -> None:
    with pytest.raises(ConfigError, match="no trend_regime"):
        TrendFollower(("momentum_regime",))


def test_rules_are_made_by_name_and_unknown_ones_suggested() -> None:
    for name in RULES:
        assert callable(
            rule_policy(
                name,
                seed=1,
                regime_names=USED_REGIMES,
                closes=np.ones((1, 9)),
                indicators=lambda: ExpertIndicators(*np.ones((5, 1, 9))),
                own_moves=lambda: OwnMoves(*np.ones((3, 1, 9))),
            )
        )
    assert rule_policy("random", seed=8, regime_names=()) == RandomTargets(8)
    with pytest.raises(ConfigError, match="Did you mean 'expert'"):
        rule_policy("exprt", seed=0, regime_names=())


def score(*, rsi: float = 50.0, macd: float = 0.0, band: float = 0.5, **more: float) -> int:
    """Votes of one bar; neutral unless said."""
    named = {"rsi": rsi, "macd": macd, "band": band, "volume": 1.0, "adx": 10.0} | more
    shown = ExpertIndicators(**{name: np.array([[value]]) for name, value in named.items()})
    return int(score_signals(shown, ExpertLimits())[0, 0])


@pytest.mark.parametrize(
    ("seen", "votes"),
    [
        ({}, 0),
        ({"rsi": 30.0}, 1),
        ({"rsi": 70.0}, -1),
        ({"band": 0.2}, 1),
        ({"band": 0.8}, -1),
        ({"macd": 1.0}, 0),  # no trend: crossings are noise
        ({"macd": 1.0, "adx": 25.0}, 1),
        ({"macd": -1.0, "adx": 25.0}, -1),
        ({"volume": 1.5}, 0),  # it confirms, it says nothing by itself
        ({"volume": 1.5, "rsi": 25.0}, 2),
        ({"volume": 1.49, "rsi": 25.0}, 1),
        ({"volume": 2.0, "rsi": 75.0, "band": 0.9}, -3),
        ({"rsi": 20.0, "band": 0.1, "macd": 1.0, "adx": 40.0, "volume": 3.0}, 4),
        ({"rsi": float("nan"), "band": float("nan"), "volume": float("nan")}, 0),
        ({"macd": float("nan"), "adx": 40.0}, 0),
    ],
)
def test_expert_adds_up_the_votes_of_its_indicators(seen: dict[str, float], votes: int) -> None:
    assert score(**seen) == votes


def test_expert_grades_positions_by_the_score_and_keeps_what_is_held_otherwise() -> None:
    scores = [0, 1, 2, 3, 4, -1, -2, -4]
    expert = Expert(torch.tensor(scores))

    flat = expert(seen_by([0.0] * len(scores)))
    full = expert(seen_by([1.0] * len(scores)))

    assert flat.tolist() == pytest.approx([0, 1 / 3, 2 / 3, 1, 1, 0, 0, 0])
    assert full.tolist() == pytest.approx([1, 1, 1, 1, 1, 1 / 3, 0, 0])


def test_limits_to_buy_lie_below_those_to_sell() -> None:
    with pytest.raises(ConfigError, match="below those to sell"):
        ExpertLimits(oversold=70.0, overbought=30.0)


def test_expert_without_indicators_is_refused() -> None:
    with pytest.raises(ConfigError, match="indicators of the market"):
        rule_policy("expert", seed=0, regime_names=USED_REGIMES)
