"""The rules: what each asks for, given what it sees, on numbers small enough to check by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from tradingbot.agents import RULES, PolicyInputs, rule_policy
from tradingbot.agents.baselines.expert import USED_REGIMES, Expert
from tradingbot.agents.baselines.market_rules import LEVELS, RandomTargets, buy_and_hold
from tradingbot.agents.policy import NO_TRADE_BAND_FRAC, apply_no_trade_band
from tradingbot.domain.errors import ConfigError
from tradingbot.market.observation import PRIVATE_FEATURES


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
def test_expert_enters_and_leaves_where_it_says(
    size: float, momentum: float, trend: float, volatility: float, wanted: float
) -> None:
    expert = Expert(USED_REGIMES)

    target = expert(seen_by([size], regimes=[[momentum, trend, volatility]]))

    assert target.tolist() == pytest.approx([wanted])


def test_expert_finds_its_regimes_by_name() -> None:
    names = ("other", *reversed(USED_REGIMES))

    target = Expert(tuple(names))(seen_by([0.0], regimes=[[9.0, 0.5, 0.1, 0.6]]))

    assert target.tolist() == [1.0]


def test_expert_without_its_regimes_is_refused() -> None:
    with pytest.raises(ConfigError, match="no trend_regime"):
        Expert(("momentum_regime",))


def test_rules_are_made_by_name_and_unknown_ones_suggested() -> None:
    for name in RULES:
        assert callable(
            rule_policy(name, seed=1, regime_names=USED_REGIMES, closes=np.ones((1, 9)))
        )
    assert rule_policy("random", seed=8, regime_names=()) == RandomTargets(8)
    with pytest.raises(ConfigError, match="Did you mean 'expert'"):
        rule_policy("exprt", seed=0, regime_names=())
