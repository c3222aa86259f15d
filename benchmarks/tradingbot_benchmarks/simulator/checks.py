"""Equality before speed: a wrong result has no speed.

The compiled program must say what the same functions say called one by one, and a lane of the
batch what the scalar simulator says of one account.
"""

from __future__ import annotations

import torch
from torch import Tensor

from tradingbot.envs.config import EnvConfig
from tradingbot.envs.world import World
from tradingbot.market.bars import BAR_COLUMNS
from tradingbot.market.compiled import PackedStep, PackedStepFunction, packed_step
from tradingbot.market.packing import unpack
from tradingbot.market.scalar import ScalarAccount, ScalarBar, scalar_advance
from tradingbot_benchmarks.simulator.setup import COSTS, EVERY_RULE, Batch, draw_batch

CHECKED_STEPS = 24
SCALAR_LANES = 8
SCALAR_STEPS = 300
RELATIVE_SLACK = 1e-4
"""Of a float32 number; operations in another order round differently."""
ODD_LANES = 1e-3
"""Share of lanes in which rounding may tip a comparison, so that they differ as a whole."""
SCALAR_SLACK = 1e-9


def check_compiled(batch: Batch, eager: PackedStepFunction) -> None:
    """Step a batch by its own program and by `eager` from the same states with the same actions.

    Every step begins at the state of `batch`, so that rounding cannot add up over steps. The batch
    is left where the last of them led.

    Raises:
        AssertionError: If they differ by more than rounding.
    """
    for number in range(CHECKED_STEPS):
        before = batch.account
        batch.advance()
        assert batch.last is not None
        expected = eager(batch.rates, before, batch.action)
        odd = odd_lanes(batch.last, expected)
        # One lane may always tip: of a small batch it is a large share.
        allowed = max(ODD_LANES, 1.5 / batch.n_lanes)
        assert odd <= allowed, f"compiled differs from eager in {odd:.2%} of lanes, step {number}"


def odd_lanes(found: PackedStep, expected: PackedStep) -> float:
    """Return the share of lanes in which any number of two steps differs beyond rounding."""
    pairs = zip(_tensors(found), _tensors(expected), strict=True)
    differing = [_differs(a, b) for a, b in pairs]
    return float(torch.stack(differing).any(0).float().mean())


def _tensors(step: PackedStep) -> list[Tensor]:
    account, *rest = step
    return [*account, *rest]


def _differs(found: Tensor, expected: Tensor) -> Tensor:
    """Mark lanes (B,) of (…, B) whose numbers are not the same."""
    if found.is_floating_point():
        # A sum of terms that cancel is as exact as its terms, not as itself.
        size = expected.abs().amax(-1, keepdim=True).clamp_min(1.0)
        same = (found - expected).abs() <= RELATIVE_SLACK * torch.maximum(
            expected.abs(), 1e-2 * size
        )
    else:
        same = found == expected
    return ~same.reshape(-1, same.shape[-1]).all(0)


def check_scalar(world: World, config: EnvConfig = EVERY_RULE) -> None:
    """Step a few float64 lanes of the batch and the scalar simulator through the same actions.

    Raises:
        AssertionError: If an account differs by more than 1e-9.
    """
    batch = draw_batch(world, packed_step, SCALAR_LANES, config, dtype=torch.float64)
    rows = batch.market.rows.numpy()[:, : len(BAR_COLUMNS)]
    for number in range(SCALAR_STEPS):
        twins = _scalar_accounts(batch)
        batch.advance()
        assert batch.last is not None
        ended = batch.last.terminated | batch.last.truncated
        found = _scalar_accounts(batch)
        for lane, account in enumerate(twins):
            if ended[lane]:
                continue  # the batch has begun the next episode already
            bar = ScalarBar(*rows[account.row + 1].tolist())
            made = scalar_advance(config.rules, COSTS, account, bar, float(batch.action[lane]))
            _require_same(found[lane], made.after, f"lane {lane}, step {number}")


def _scalar_accounts(batch: Batch) -> list[ScalarAccount]:
    account = unpack(batch.account)
    ages = account.action_ages.T.tolist()
    columns = zip(*(field.tolist() for field in account[:-1]), strict=True)
    return [
        ScalarAccount._make((*numbers, tuple(age)))
        for numbers, age in zip(columns, ages, strict=True)
    ]


def _require_same(found: ScalarAccount, expected: ScalarAccount, where: str) -> None:
    for name in ScalarAccount._fields:
        a, b = getattr(found, name), getattr(expected, name)
        if isinstance(b, tuple):
            same = a == b
        else:
            same = abs(a - b) <= SCALAR_SLACK * max(1.0, abs(a), abs(b))
        assert same, f"batch differs from scalar in {name}: {a} and {b}, {where}"
