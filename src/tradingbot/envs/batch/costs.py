"""Costs of a batch as they come from outside: checked before any lane pays them."""

from __future__ import annotations

import torch
from torch import Tensor

from tradingbot.domain.errors import ConfigError
from tradingbot.envs.actions import is_number
from tradingbot.market.costs import CostProfile, CostRates, cost_profile, require_rate


def read_costs(
    costs: CostProfile | CostRates | str, n_lanes: int, *, dtype: torch.dtype, device: torch.device
) -> CostRates:
    """Return rates for `advance`.

    Args:
        costs: A profile, its name, or rates () or (B,).
        n_lanes: B.
        dtype: Number format of accounts.
        device: Where the lanes live.

    Raises:
        ConfigError: If they are none of these, or a rate is out of the range of a `CostProfile`.
    """
    if isinstance(costs, str):
        costs = cost_profile(costs)
    if isinstance(costs, CostProfile):
        return costs.rates(dtype=dtype, device=device)
    if not isinstance(costs, CostRates):
        raise ConfigError(
            "costs must be a CostProfile, its name or CostRates", was=type(costs).__name__
        )
    for name, rate in costs._asdict().items():
        _require_tensor(name, rate, n_lanes)
    rates = CostRates(*(rate.to(device=device, dtype=dtype) for rate in costs))
    for name, rate in rates._asdict().items():
        for extreme in (rate.min(), rate.max()):  # NaN is both
            require_rate(name, extreme.item(), "CostRates")
    return rates


def _require_tensor(name: str, rate: object, n_lanes: int) -> None:
    if not isinstance(rate, Tensor) or not is_number(rate.dtype, whole=False):
        kind = rate.dtype if isinstance(rate, Tensor) else type(rate).__name__
        raise ConfigError(f"{name} must be a tensor of numbers", was=kind, where="CostRates")
    if rate.shape not in ((), (n_lanes,)):
        raise ConfigError(
            f"{name} must have shape () or ({n_lanes},)", was=tuple(rate.shape), where="CostRates"
        )
