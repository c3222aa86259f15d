"""Accounts as clients tell them: a few numbers by name, a flat account for the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.action import Action
from tradingbot.domain.errors import suggest
from tradingbot.market.params import ActionRules
from tradingbot.market.private_features import FLAT_ACCOUNT, PRIVATE_FEATURES
from tradingbot.serving.server.problems import invalid

_BOUNDS = {feature.name: (feature.low, feature.high) for feature in PRIVATE_FEATURES}


def private_numbers(
    names: Sequence[str], accounts: Sequence[Mapping[str, float]], places: Sequence[str]
) -> NDArray[np.float64]:
    """Return what B accounts know of themselves, (18, B).

    Args:
        names: The numbers of the model, in order.
        accounts: B accounts: name → number.
        places: Where each stands in the body, for messages.

    Raises:
        Problem: 422, if a name is not known or a number lies outside its bounds.
    """
    private = np.empty((len(names), len(accounts)))
    private[:] = np.array([FLAT_ACCOUNT.get(name, 0.0) for name in names])[:, None]
    for column, (account, place) in enumerate(zip(accounts, places, strict=True)):
        for name, number in account.items():
            if name not in names or name not in _BOUNDS:
                known = suggest(name[:64], names)
                raise invalid(f"a number of an account must be known. {known}", place)
            low, high = _BOUNDS[name]
            if not low <= number <= high:
                raise invalid(f"{name} must lie in [{low:g}, {high:g}]", f"{place}.{name}")
            private[names.index(name), column] = number
    return private


def allowed_codes(
    rules: ActionRules, names: Sequence[str], private: NDArray[Any]
) -> NDArray[np.bool_]:
    """Return which codes B accounts may execute, (7, B): `market.actions.discrete.action_mask`.

    Money is not known here: what is too small an order is denied by the gate, later.
    """
    size, move, adds = (private[names.index(each)] for each in ("size", "entry_move", "adds"))
    flat, long = size == 0.0, size > 0.0
    n_added = adds / np.maximum(1.0 - adds, 1e-9)
    allowed = np.zeros((len(Action), private.shape[1]), dtype=bool)
    allowed[Action.HOLD] = True
    allowed[[Action.BUY_SMALL, Action.BUY_MEDIUM, Action.BUY_LARGE]] = flat
    allowed[[Action.SELL_PARTIAL, Action.SELL_ALL]] = long
    allowed[Action.ADD_POSITION] = (
        long & (move > rules.add_min_profit_frac) & (n_added < rules.max_adds - 1e-6)
    )
    return allowed
