"""The step of a batch as tensors: call by call, or on a GPU as one compiled graph."""

from __future__ import annotations

import torch
from torch import Tensor

from tradingbot.envs.batch.step import BatchStep, work_out
from tradingbot.envs.config import EnvConfig
from tradingbot.market.account import Account
from tradingbot.market.bars import TensorMarket
from tradingbot.market.compiled import compiled_step
from tradingbot.market.costs import CostRates
from tradingbot.market.episodes import Starts
from tradingbot.market.packing import pack, pack_rates, unpack
from tradingbot.market.simulation import step


class TensorEngine:
    """Steps accounts of a market; keeps none."""

    def __init__(self, config: EnvConfig, market: TensorMarket, *, compiled: bool) -> None:
        self._rules, self._reward = config.rules, config.reward_stack
        self._market, self._compiled = market, compiled

    def advance(
        self, rates: CostRates, starts: Starts, account: Account, actions: Tensor
    ) -> BatchStep:
        """Step accounts (B,) by one bar with actions (B,), without gradients."""
        rules, reward, market = self._rules, self._reward, self._market
        with torch.no_grad():
            if not self._compiled:
                made = step(rules, reward, rates, market, starts, account, actions)
                return BatchStep(*made[:7], advance=lambda: made.advanced)
            if rules.action.space != "discrete":
                actions = actions.to(market.dtype)
            # Programs are kept by shapes: making the function anew compiles nothing.
            program = compiled_step(rules, reward, market, starts)
            packed = program(pack_rates(rates), pack(account), actions)
        return BatchStep(
            unpack(packed.account),
            *packed[1:7],
            advance=lambda: work_out(rules, rates, account, market, actions),
        )
