"""Equality before speed: a wrong result has no speed.

The native lanes must say what the same functions say called one by one, and so must the environment
of one account. The reference simulator is compared with them in `tests/parity`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from tradingbot.domain.seeding import stream
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.single import TradingEnv
from tradingbot.envs.world import World
from tradingbot.market.account import open_accounts
from tradingbot.market.bars import tensor_market
from tradingbot.market.compiled import PackedStep, PackedStepFunction, packed_step
from tradingbot.market.packing import PackedAccount, pack, pack_rates, unpack
from tradingbot_benchmarks.simulator.setup import EVERY_RULE, SEED, Batch

CHECKED_STEPS = 24
SINGLE_STEPS = 300
RELATIVE_SLACK = 1e-4
"""Of a float32 number; operations in another order round differently."""
ODD_LANES = 1e-3
"""Share of lanes in which rounding may tip a comparison, so that they differ as a whole."""
SINGLE_SLACK = 1e-9


def check_compiled(batch: Batch, eager: PackedStepFunction) -> None:
    """Step a batch by its own program and by `eager` from the same states with the same actions.

    Every step begins at the state of `batch`, so that rounding cannot add up over steps. The batch
    is left where the last of them led.

    Raises:
        AssertionError: If they differ by more than rounding.
    """
    for number in range(CHECKED_STEPS):
        before = PackedAccount(*(part.clone() for part in batch.account))
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


def check_single(world: World, config: EnvConfig = EVERY_RULE) -> None:
    """Step a lone environment, and a float64 lane of tensors, through the same actions.

    Raises:
        AssertionError: If an account or a reward differs by more than 1e-9.
    """
    env = TradingEnv(world, config)
    _, told = env.reset(seed=SEED)
    market = tensor_market(world.prices, world.present, dtype=torch.float64)
    step = packed_step(config.rules, config.reward_stack, market, None)
    rates = pack_rates(config.costs.rates(dtype=torch.float64))
    row = torch.tensor([world.symbols.index(told["symbol"]) * world.n_bars + told["bar"]])
    cash = config.rules.account.initial_cash_ccy
    account = pack(open_accounts(cash, row.int(), market.rows[row, 3]))
    draws = stream(SEED, "bench", "check")
    for number in range(SINGLE_STEPS):
        action = float(draws.uniform(-1.0, 1.0))
        _, reward, terminated, truncated, info = env.step(action)
        with torch.no_grad():
            made = step(rates, account, torch.tensor([action], dtype=torch.float64))
        account = made.account
        equity = float(unpack(account).equity)
        pairs = {
            "reward": (float(reward), float(made.reward)),
            "equity": (info["equity"], equity),
            "cash": (info["cash"], float(unpack(account).cash)),
        }
        for name, (found, expected) in pairs.items():
            same = abs(found - expected) <= SINGLE_SLACK * max(1.0, abs(expected))
            assert same, f"{name} differs: {found} and {expected}, step {number}"
        if terminated or truncated:
            return
