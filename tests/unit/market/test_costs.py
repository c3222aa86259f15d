"""Costs of a fill and their profiles."""

from __future__ import annotations

import math

import pytest
import torch

from fixtures.plain_accounts import costs
from tradingbot.domain.errors import ConfigError
from tradingbot.market.costs import COST_PROFILES, WORST_FRAC, CostProfile, cost_profile, fill_price


def price_of(
    units: float, *, volume: float = 10_000.0, volatility: float = 0.02, **rates: float
) -> float:
    numbers = (torch.tensor([x], dtype=torch.float64) for x in (100.0, units, volume, volatility))
    return float(fill_price(costs(**rates), *numbers))


def test_price_without_costs_is_the_base() -> None:
    assert price_of(5.0) == price_of(-5.0) == 100.0


@pytest.mark.parametrize(
    ("rates", "bought", "sold"),
    [
        ({"slippage_frac": 0.001}, 100.10, 99.90),
        ({"spread_frac": 0.004}, 100.20, 99.80),  # half of the quoted width
        ({"impact_coef": 1.0}, 100.20, 99.80),  # 1 · 0.02 · √(100 ÷ 10,000) = 20 bp
        ({"slippage_frac": 0.001, "spread_frac": 0.004, "impact_coef": 1.0}, 100.50, 99.50),
        ({"commission_frac": 0.01}, 100.0, 100.0),  # a fee, not a price
    ],
)
def test_price_moves_against_the_trader(
    rates: dict[str, float], bought: float, sold: float
) -> None:
    assert price_of(100.0, **rates) == pytest.approx(bought, abs=1e-9)
    assert price_of(-100.0, **rates) == pytest.approx(sold, abs=1e-9)


@pytest.mark.parametrize("profile", [*COST_PROFILES.values(), CostProfile(3e-4, 7e-5, 1.1e-4)])
def test_one_way_cost_is_commission_slippage_and_half_the_spread(profile: CostProfile) -> None:
    expected = profile.commission_frac + profile.slippage_frac + 0.5 * profile.spread_frac

    assert profile.one_way_frac == expected
    assert float(profile.rates(dtype=torch.float64).one_way_frac) == expected
    # What a buy of one unit at 100 costs, at a size too small for impact.
    paid = price_of(1e-12, slippage_frac=profile.slippage_frac, spread_frac=profile.spread_frac)
    fee_frac = profile.commission_frac
    assert paid / 100.0 - 1.0 + fee_frac == pytest.approx(profile.one_way_frac, abs=1e-12)


def test_impact_grows_with_the_root_of_size() -> None:
    moves = [price_of(units, impact_coef=1.0) - 100.0 for units in (100.0, 400.0, 900.0)]
    assert moves == pytest.approx([0.20, 0.40, 0.60], abs=1e-9)


def test_price_in_a_bar_without_volume_is_a_number() -> None:
    assert price_of(0.0, volume=0.0, impact_coef=1.0) == 100.0


def test_sale_in_a_wild_market_brings_something() -> None:
    assert price_of(-10_000.0, volatility=30.0, impact_coef=1.0) == pytest.approx(
        100.0 * (1.0 - WORST_FRAC)
    )


@pytest.mark.parametrize("name", sorted(COST_PROFILES))
def test_profile_by_name_has_finite_rates(name: str) -> None:
    rates = cost_profile(name).rates(dtype=torch.float64)
    assert all(0.0 <= float(rate) < 0.01 for rate in rates._replace(impact_coef=torch.tensor(0.0)))
    assert (name == "free") == all(float(rate) == 0.0 for rate in rates)


def test_profile_alpaca_charges_a_fifth_and_one_basis_point() -> None:
    assert cost_profile("alpaca") == CostProfile(0.2e-4, 1.0e-4, 0.0, 0.0, 0.0)


def test_profile_with_unknown_name_is_refused_with_a_suggestion() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'alpaca'"):
        cost_profile("alpacca")


@pytest.mark.parametrize("name", list(CostProfile.__dataclass_fields__))
@pytest.mark.parametrize("rate", [-1e-9, 10.0, math.nan, math.inf])
def test_profile_with_an_impossible_rate_is_refused(name: str, rate: float) -> None:
    with pytest.raises(ConfigError, match=name):
        CostProfile(**{name: rate})


def test_rates_of_a_profile_are_replaced_by_name() -> None:
    found = cost_profile("retail", {"spread_frac": 0.01})
    assert found.spread_frac == 0.01
    assert found.slippage_frac == COST_PROFILES["retail"].slippage_frac
    assert cost_profile("retail") == COST_PROFILES["retail"]
    with pytest.raises(ConfigError, match=r"cost rate must be known.*spread_frac"):
        cost_profile("retail", {"spraed_frac": 0.01})
