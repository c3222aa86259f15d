"""The sweep: costs, delays, limits and capital do to a planted policy what arithmetic says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from tradingbot.agents.policy import PolicyInputs
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import ConfigError
from tradingbot.envs import World, synthetic_world
from tradingbot.evaluation.analyses.sensitivity import Setting, one_way_bps, sweep
from tradingbot.evaluation.analyses.settings import SensitivitySettings
from tradingbot.evaluation.analyses.side_by_side import copies_by_depth, on_copies
from tradingbot.evaluation.backtest import PolicyUnderTest, sleeve_config
from tradingbot.evaluation.backtest.attribution import factor_before
from tradingbot.evaluation.dossier.robustness import Sensitivity
from tradingbot.market.costs import CostProfile

BARS = IndexRange(240, 330)
SETTINGS = SensitivitySettings(
    cost_bps=(0.0, 5.0, 10.0, 200.0),
    slippage_bps=(0.0, 5.0),
    limit_shares=(0.5, 1.0),
    capital_ccy=(1e3, 1e9, 1e12),
)


@pytest.fixture(scope="module")
def world() -> World:
    return synthetic_world("noise", n_symbols=3, n_bars=340, seed=4)


def _knowing(world: World) -> torch.Tensor:
    """1 before a bar that rises from open to close, else 0: a policy that reads the future."""
    prices = world.prices
    rises = np.zeros(prices.shape[:2])
    rises[:, :-1] = prices[:, 1:, 3] > prices[:, 1:, 0]
    return torch.from_numpy(rises.reshape(-1))


@pytest.fixture(scope="module")
def setting(world: World) -> Setting:
    table = _knowing(world)
    env = sleeve_config(CostProfile(), max_participation_frac=1.0)
    return Setting(world, env, lambda seen: table[seen.row], BARS, 1_764.0)


@pytest.fixture(scope="module")
def found(setting: Setting) -> Sensitivity:
    return sweep(setting, SETTINGS)


def _axis(found: Sensitivity, axis: str) -> dict[float, float]:
    rows = [row for row in found.rows if row.axis == axis]
    return {row.setting: row.net_bps_per_bar.estimate for row in rows}


def test_a_market_beside_lets_alpha_be_judged(setting: Setting, world: World) -> None:
    """A market that falls as the symbols rise: holding has no alpha, so neither cost nor rise."""
    factor = factor_before(world, world.closed_at[BARS.start])
    held = replace(setting, policy=lambda seen: torch.ones(len(seen.row), dtype=torch.float64))

    by_net, by_alpha = (sweep(each, SETTINGS) for each in (held, replace(held, factor=factor)))
    knowing = sweep(replace(setting, factor=factor), SETTINGS)

    assert (by_net.judged, by_alpha.judged) == ("net return", "alpha")
    assert by_net.rows[0].alpha_bps_per_bar is None
    assert abs(by_alpha.surface_bps[0][0]) < 0.1 < abs(by_net.surface_bps[0][0])
    costs = {row.setting: row.alpha_bps_per_bar for row in knowing.rows if row.axis == "cost"}
    means = [alpha.estimate for alpha in costs.values() if alpha is not None]
    assert tuple(means) == pytest.approx(knowing.surface_bps[0])
    (ends_at, *_) = knowing.break_even_cost_bps
    assert ends_at is not None
    assert np.interp(ends_at, [*costs], means) == pytest.approx(0.0, abs=1e-9)
    assert knowing.rows[-1].axis == "capital"
    assert knowing.rows[-1].alpha_bps_per_bar is None


def test_twice_the_cost_takes_twice_as_much(found: Sensitivity) -> None:
    free, once, twice, _ = found.surface_bps[0]
    assert free > once > twice
    assert free - twice == pytest.approx(2.0 * (free - once), rel=0.01)


def test_cost_axis_is_the_first_line_of_the_surface(found: Sensitivity) -> None:
    costs = _axis(found, "cost")
    assert list(costs) == [0.0, 5.0, 10.0, 200.0]
    assert tuple(costs.values()) == pytest.approx(found.surface_bps[0])


def test_break_even_equals_gross_by_turnover(setting: Setting, found: Sensitivity) -> None:
    free = CostProfile(commission_frac=0.0, slippage_frac=0.0)
    (played,) = setting.backtests([PolicyUnderTest("free", setting.policy, free)])
    expected = 1e4 * played.returns.mean() / played.turnover_frac.mean()
    assert 10.0 < expected < 200.0
    assert found.break_even_cost_bps[0] == pytest.approx(expected, rel=0.03)


def test_knowledge_of_the_next_bar_is_worth_nothing_one_bar_late(found: Sensitivity) -> None:
    delays = _axis(found, "delay")
    assert delays[0.0] > 5.0
    assert all(delays[late] < 0.2 * delays[0.0] for late in (1.0, 2.0, 3.0))
    assert len(found.surface_bps) == 4


def test_slippage_of_the_profile_gives_the_run_itself(found: Sensitivity) -> None:
    # The default profile: 0.2 bp of commission and 1 bp of slippage.
    assert found.assumed_cost_bps == pytest.approx(1.2)
    slippage = _axis(found, "slippage")
    # 5 bp of slippage and 0.2 bp of commission, between 5 and 10 bp of cost.
    assert found.surface_bps[0][1] > slippage[5.0] > found.surface_bps[0][2]


def test_half_the_limit_earns_about_half(found: Sensitivity) -> None:
    limits = _axis(found, "position limit")
    assert list(limits) == [0.5, 1.0]
    assert limits[0.5] == pytest.approx(0.5 * limits[1.0], rel=0.05)
    assert limits[1.0] == pytest.approx(_axis(found, "delay")[0.0])


def test_small_capital_has_no_impact_and_large_capital_earns_nothing(found: Sensitivity) -> None:
    capital = _axis(found, "capital")
    base = _axis(found, "delay")[0.0]
    assert capital[1e3] == pytest.approx(base, rel=0.01)
    assert capital[1e12] < 0.1 * base
    assert found.capacity_ccy is not None
    assert 1e3 < found.capacity_ccy < 1e12


def test_capital_by_depth_equals_an_account_with_that_capital(
    setting: Setting, found: Sensitivity
) -> None:
    """The copies say what larger accounts would: here, really simulated."""
    rules = setting.env.rules
    account = replace(rules.account, initial_cash_ccy=1e9 / 3)
    costs = replace(setting.env.costs, impact_coef=SETTINGS.impact_coef)
    env = replace(setting.env, rules=replace(rules, account=account), costs=costs)
    (played,) = setting.backtests([PolicyUnderTest("large", setting.policy)], env)
    assert _axis(found, "capital")[1e9] == pytest.approx(1e4 * played.returns.mean(), rel=1e-3)


def test_copies_lead_back_to_rows_of_the_world(world: World) -> None:
    copied = copies_by_depth(world, BARS, [1.0, 0.5])
    np.testing.assert_array_equal(copied.prices[3:, :, 4], 0.5 * copied.prices[:3, :, 4])
    rows: list[torch.Tensor] = []

    def policy(seen: PolicyInputs) -> torch.Tensor:
        rows.append(seen.row)
        return seen.row

    # Copy 1 of symbol 2, third bar.
    row = torch.tensor([(3 + 2) * len(BARS) + 2])
    on_copies(policy, world, BARS)(PolicyInputs(row, row, row, row))
    assert rows[0].tolist() == [2 * world.n_bars + BARS.start + 2]


def test_one_way_cost_counts_half_of_the_spread() -> None:
    assert one_way_bps(CostProfile(1e-4, 2e-4, spread_frac=6e-4)) == pytest.approx(6.0)


@pytest.mark.parametrize(
    "change",
    [{"cost_bps": ()}, {"cost_bps": (5.0, 1.0)}, {"delay_bars": (1, 2)}, {"limit_shares": (2.0,)}],
)
def test_axes_that_are_empty_or_fall_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        SensitivitySettings(**change)
