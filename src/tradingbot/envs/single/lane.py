"""The lane of a single environment: native where that can be, else the tensors that define it.

Both keep the same numbers in the same places, so an environment does not know which it has.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.domain.action import Action
from tradingbot.domain.errors import ConfigError
from tradingbot.envs.batch.native import NativeEnvLanes, make_native_lanes
from tradingbot.envs.batch.observation import ObservationWriter
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.single.account import LaneAccount
from tradingbot.envs.world import World
from tradingbot.market.account import COUNT_FIELDS, FLOAT_FIELDS, Account, open_accounts
from tradingbot.market.advance import Advanced, advance
from tradingbot.market.bars import STALE_COLUMN, TensorMarket, tensor_market
from tradingbot.market.compiled import allowed_codes
from tradingbot.market.costs import CostRates
from tradingbot.market.native.step_source import details_of
from tradingbot.market.observation import observe_accounts, observe_opened
from tradingbot.market.packing import pack, pack_rates
from tradingbot.market.params import SimulatorParams
from tradingbot.rewards import RewardStack

Numbers = NDArray[np.float64]
_TELLS_ENDS = 2
_UNWANTED = (
    *("private", "final_private", "final_counts", "executed", "traded", "allowed", "equity"),
    "final_observation",
)
"""What a single environment does not tell."""
_MARK = FLOAT_FIELDS.index("mark")
_ROW, _EPISODE, _STALE = (COUNT_FIELDS.index(name) for name in ("row", "episode", "stale_bars"))


class SingleLane(Protocol):
    """One account and what it sees; arrays are overwritten by the next step."""

    row: NDArray[np.float32]
    """(D,) flat observation."""
    told: Numbers
    """Money (19,) and `DETAILS` (10,) of the last step, then its reward terms (K,)."""
    flags: NDArray[np.bool_]
    """(2,) terminated, truncated."""
    reward: Numbers
    """(1,)"""

    def advance(self, number: float) -> int:
        """Take the account through one bar; returns 1 where its episode ended."""

    def begin(self, row: int, episode: int) -> None:
        """Open an account that holds cash only at a row of the market."""

    def account(self) -> LaneAccount:
        """Read the account."""

    def tensors(self) -> Account:
        """Read the account as tensors (1,)."""

    def place(self, account: Account, rules: SimulatorParams | None = None) -> None:
        """Put an account (1,) in the place of the one there is, and write what it sees.

        It sees itself as under `rules`, by default those of the lane.
        """

    def allowed(self, rules: SimulatorParams) -> NDArray[np.bool_]:
        """Return which of the seven codes some rules allow the account now, (7,)."""


def make_lane(world: World, config: EnvConfig, market: TensorMarket) -> SingleLane:
    """Make the lane of an environment.

    Raises:
        ConfigError: If the reward is no stack: a single environment names its terms.
    """
    reward = config.reward_stack
    if not isinstance(reward, RewardStack):
        rule = "reward of a single environment must be a stack of terms"
        remedy = "Use a vector environment, which computes it in tensors"
        raise ConfigError(rule, was=type(reward).__name__, where="EnvConfig.reward", remedy=remedy)
    by_tensors = TensorLane(world, config, market, reward)
    by_tensors.try_reward()  # raises what is a fault of a term
    native = make_native_lanes(world, config, market, 1)
    return by_tensors if native is None else NativeLane(native, world, config, market)


class NativeLane:
    """A lane that steps natively."""

    def __init__(
        self, lanes: NativeEnvLanes, world: World, config: EnvConfig, market: TensorMarket
    ) -> None:
        self._lanes, self._market, self._rules = lanes, market, config.rules
        self._writer = ObservationWriter(world, config)
        n_money, n_details = len(lanes.final_money), len(lanes.details)
        self.told = np.zeros(n_money + n_details + len(lanes.terms))
        # One run of memory, so that one copy keeps a step.
        lanes.final_money = self.told[:n_money, None]
        lanes.details = self.told[n_money : n_money + n_details, None]
        lanes.terms = self.told[n_money + n_details :, None]
        self._rates = config.costs.rates(dtype=torch.float64)
        lanes.set_rates(pack_rates(self._rates))
        lanes.set_starts(None, _UNWANTED)
        lanes.set_threads(1)
        fresh = opened(self._market, config.rules.account.initial_cash_ccy, 0, 0)
        self._bars = market.rows.numpy()
        self._opened = tuple(part.numpy() for part in pack(fresh))
        self._opened_private = observe_opened(config.rules, fresh)[:, 0].numpy().astype(np.float32)
        self.row, self.reward = lanes.observation[0], lanes.reward
        self.flags = lanes.flags[:_TELLS_ENDS, 0]
        self._action = lanes.action

    def advance(self, number: float) -> int:
        """Take the account through one bar; returns 1 where its episode ended."""
        self._action[0] = number
        return self._lanes.step()

    def begin(self, row: int, episode: int) -> None:
        """Open an account that holds cash only at a row of the market."""
        bar = self._bars[row]
        money, counts = self._lanes.money, self._lanes.counts
        money[:], counts[:] = self._opened
        stale = bar[STALE_COLUMN]
        money[_MARK] = bar[3]
        counts[_ROW], counts[_EPISODE], counts[_STALE] = row, episode, stale
        private = self._opened_private
        private[-1] = stale / (stale + 1.0)
        self._writer.write_row(row, private, self.row)

    def account(self) -> LaneAccount:
        """Read the account."""
        return _as_numbers(self._lanes.money, self._lanes.counts)

    def tensors(self) -> Account:
        """Read the account as tensors (1,)."""
        return self._lanes.accounts()

    def place(self, account: Account, rules: SimulatorParams | None = None) -> None:
        """Put an account (1,) in the place of the one there is, and write what it sees."""
        self._lanes.load(account)
        private = observe_accounts(rules or self._rules, account)
        self._writer.write(account.row, private, torch.from_numpy(self.row[None]))

    def allowed(self, rules: SimulatorParams) -> NDArray[np.bool_]:
        """Return which of the seven codes some rules allow the account now, (7,)."""
        return _allowed(rules, self._rates, self._lanes.accounts())


class TensorLane:
    """A lane of tensors: slow, and on any machine."""

    def __init__(
        self, world: World, config: EnvConfig, market: TensorMarket, reward: RewardStack
    ) -> None:
        self._config, self._market, self._reward = config, market, reward
        self._writer = ObservationWriter(world, config)
        self._rates: CostRates = config.costs.rates(dtype=torch.float64)
        cash, window = config.rules.account.initial_cash_ccy, config.rules.episode.window_bars
        self._account = opened(market, cash, window - 1, 0)
        self.row = np.zeros(self._writer.width, np.float32)
        self.told, self.reward = np.zeros(0), np.zeros(1)
        self.flags = np.zeros(_TELLS_ENDS, np.bool_)

    def try_reward(self) -> None:
        """Take an account that holds cash only through a bar."""
        self.advance(0.0)

    def advance(self, number: float) -> int:
        """Take the account through one bar; returns 1 where its episode ended."""
        config = self._config
        discrete = config.rules.action.space == "discrete"
        action = torch.tensor([number], dtype=torch.int64 if discrete else torch.float64)
        rules, before = config.rules, self._account
        with torch.no_grad():
            bar = self._market.bar(before.row + 1)
            made = advance(rules, self._rates, before, bar, action)
            private = observe_accounts(rules, made.after)
        # In plain numbers: a user's own term may branch on them.
        terms = self._reward.scalar(rules, _plain(made))
        self._account = made.after
        details = details_of(made)[:, 0].numpy()
        self.told = np.concatenate((pack(made.after).money[:, 0].numpy(), details, terms))
        self.reward = np.array([sum(terms)])
        self.flags = np.array([bool(made.terminated), bool(made.truncated)])
        self._writer.write(made.after.row, private, torch.from_numpy(self.row[None]))
        return int(self.flags.any())

    def begin(self, row: int, episode: int) -> None:
        """Open an account that holds cash only at a row of the market."""
        cash = self._config.rules.account.initial_cash_ccy
        self.place(opened(self._market, cash, row, episode))

    def account(self) -> LaneAccount:
        """Read the account."""
        money, counts = pack(self._account)
        return _as_numbers(money.numpy(), counts.numpy())

    def tensors(self) -> Account:
        """Read the account as tensors (1,)."""
        return self._account

    def place(self, account: Account, rules: SimulatorParams | None = None) -> None:
        """Put an account (1,) in the place of the one there is, and write what it sees."""
        self._account = account
        private = observe_accounts(rules or self._config.rules, account)
        self._writer.write(self._account.row, private, torch.from_numpy(self.row[None]))

    def allowed(self, rules: SimulatorParams) -> NDArray[np.bool_]:
        """Return which of the seven codes some rules allow the account now, (7,)."""
        return _allowed(rules, self._rates, self._account)


def _allowed(rules: SimulatorParams, rates: CostRates, account: Account) -> NDArray[np.bool_]:
    return allowed_codes(rules, rates, account)[:, 0].numpy()


def single_market(world: World) -> TensorMarket:
    """Return the bars of a single environment: float64."""
    return tensor_market(world.prices, world.present, dtype=torch.float64)


def opened(market: TensorMarket, cash_ccy: float, row: int, episode: int) -> Account:
    """Open an account (1,) that holds cash only at a row of the market."""
    at, number = (torch.tensor([x], dtype=torch.int32) for x in (row, episode))
    account = open_accounts(cash_ccy, at, market.rows[at.long(), 3], number)
    return account._replace(stale_bars=market.stale_bars(at))


def _as_numbers(money: NDArray[Any], counts: NDArray[Any]) -> LaneAccount:
    whole = counts[:, 0].tolist()
    n = len(whole) - len(Action)
    return LaneAccount._make((*money[:, 0].tolist(), *whole[:n], tuple(whole[n:])))


def _plain(made: Advanced) -> Any:
    """Return what a bar did to one lane in plain numbers, under the same names."""

    def plain(value: Any) -> Any:
        if isinstance(value, Tensor):
            return value.item() if value.dim() == 1 else tuple(value[:, 0].tolist())
        return type(value)._make(plain(part) for part in value)

    return plain(made)
