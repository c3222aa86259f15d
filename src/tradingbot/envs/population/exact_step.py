"""The step of training on a CPU: tensors at first, native lanes as soon as they are compiled.

Both come to the same to the last bit, so it does not matter to a result when one follows the other.
"""

from __future__ import annotations

from threading import Thread

from torch import Tensor

from tradingbot.market.bars import TensorMarket
from tradingbot.market.compiled import PackedStep, PackedStepFunction, packed_step
from tradingbot.market.episodes import Starts
from tradingbot.market.native.step import tensor_exact_step
from tradingbot.market.packing import PackedAccount
from tradingbot.market.params import SimulatorParams
from tradingbot.market.simulation import Reward
from tradingbot.rewards import reward_identity

REPAYING_STEPS = 100
"""Tasks of fewer steps end before a program for them is compiled."""


def exact_step(
    rules: SimulatorParams, reward: Reward, market: TensorMarket, starts: Starts | None
) -> PackedStepFunction:
    """Return the step without gradients in a market, on the CPU.

    It runs natively from the first step on where the program is on disk already; where it is not,
    tensors step on while a thread compiles it.
    """
    by_tensors, identity = packed_step(rules, reward, market, starts), reward_identity(reward)
    natively: list[PackedStepFunction] = []
    steps = 0

    def look_for(*, if_there: bool) -> None:
        found = tensor_exact_step(
            rules, reward, market, starts, identity=identity, if_there=if_there
        )
        natively.extend([found] if found else [])

    def step(rates: Tensor, account: PackedAccount, action: Tensor) -> PackedStep:
        nonlocal steps
        if natively:
            return natively[0](rates, account, action)
        if steps == 0:
            look_for(if_there=True)
        elif steps == REPAYING_STEPS:
            Thread(target=look_for, kwargs={"if_there": False}, daemon=True).start()
        steps += 1
        return (natively[0] if natively else by_tensors)(rates, account, action)

    return step
