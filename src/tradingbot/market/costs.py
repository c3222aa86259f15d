"""What a fill costs: commission, slippage, spread, square-root impact, and borrowing a short.

Rates are tensors that broadcast against the batch, so one rollout can sweep a whole range of costs
and a curriculum can raise them without compiling anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

import torch
from torch import Tensor

from tradingbot.domain.checks import require_kinds
from tradingbot.domain.errors import ConfigError, require_known

WORST_FRAC = 0.99
"""Most that costs move a price: a sale always brings something, however wild the market."""


@dataclass(frozen=True)
class CostProfile:
    """Named rates of a broker; each a fraction of notional."""

    commission_frac: float = 0.2e-4
    slippage_frac: float = 1.0e-4
    spread_frac: float = 0.0
    """Whole quoted width; a fill pays half."""
    impact_coef: float = 0.0
    """Impact = this · volatility per bar · √(filled ÷ volume of the bar)."""
    borrow_frac_per_bar: float = 0.0
    """Paid each bar on the value of a short."""

    def __post_init__(self) -> None:
        require_kinds(self)
        for name, rate in self.__dict__.items():
            require_rate(name, rate, "CostProfile")

    @property
    def one_way_frac(self) -> float:
        """Commission, slippage and half the spread of one fill; impact depends on its size."""
        return self.commission_frac + self.slippage_frac + 0.5 * self.spread_frac

    def rates(
        self, *, dtype: torch.dtype = torch.float32, device: torch.device | str = "cpu"
    ) -> CostRates:
        """Return the rates as tensors of one element, for `advance`."""
        return CostRates(*(torch.tensor(x, dtype=dtype, device=device) for x in astuple(self)))


def require_rate(name: str, rate: float, where: str) -> None:
    """Refuse a rate that is not in the range of its name; NaN is in none.

    Raises:
        ConfigError: Naming the rate, and `where` it was given.
    """
    ceiling = 10.0 if name == "impact_coef" else 1.0
    if not 0.0 <= rate < ceiling:
        rule = f"{name} must lie in [0, {ceiling:g})"
        raise ConfigError(rule, was=rate, where=where, remedy="1 bp is written 0.0001")


class CostRates(NamedTuple):
    """The rates of a `CostProfile` as tensors, () or broadcastable to the batch (B,)."""

    commission_frac: Tensor
    slippage_frac: Tensor
    spread_frac: Tensor
    impact_coef: Tensor
    borrow_frac_per_bar: Tensor

    @property
    def one_way_frac(self) -> Tensor:
        """Commission, slippage and half the spread of one fill; impact depends on its size."""
        return self.commission_frac + self.slippage_frac + 0.5 * self.spread_frac


COST_PROFILES: dict[str, CostProfile] = {
    "free": CostProfile(0.0, 0.0),
    "alpaca": CostProfile(),
    "retail": CostProfile(10e-4, 5e-4, borrow_frac_per_bar=2e-5),
    "impact": CostProfile(0.2e-4, 0.0, spread_frac=2e-4, impact_coef=1.0, borrow_frac_per_bar=2e-6),
}


def cost_profile(name: str, rates: Mapping[str, float] = MappingProxyType({})) -> CostProfile:
    """Find a profile by name, and change some of its rates.

    Args:
        name: free, alpaca, retail or impact.
        rates: Field of `CostProfile` → rate that replaces the profile's.

    Raises:
        ConfigError: If there is no such profile or rate, or a rate is out of its range.
    """
    profile = COST_PROFILES[require_known(name, COST_PROFILES, "cost profile must be known")]
    for each in rates:
        require_known(each, profile.__dict__, "cost rate must be known")
    return replace(profile, **rates)


def fill_price(
    rates: CostRates, base: Tensor, units: Tensor, volume: Tensor, volatility: Tensor
) -> Tensor:
    """Move a base price against the trader.

    Args:
        rates: Costs.
        base: (B,) price before costs.
        units: (B,) signed size of the fill; its sign is the side.
        volume: (B,) units traded in the bar; 0 means no impact can be told, and nothing fills.
        volatility: (B,) standard deviation of log returns per bar.

    Returns:
        (B,) price paid or received per unit.
    """
    share = units.abs() / volume.clamp_min(torch.finfo(volume.dtype).tiny)
    # √ has an infinite slope at 0: keep the argument away from it so that gradients stay finite.
    root = torch.where(share > 0.0, share, torch.ones_like(share)).sqrt()
    impact = torch.where(share > 0.0, rates.impact_coef * volatility * root, 0.0)
    worse = rates.slippage_frac + 0.5 * rates.spread_frac + impact
    return base * (1.0 + torch.sign(units) * worse.clamp_max(WORST_FRAC))
