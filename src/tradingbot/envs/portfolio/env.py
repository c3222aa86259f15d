"""The master's environment: capital weights over N symbol sleeves and cash, one shared clock.

A sleeve is one symbol's account in the simulator, traded by a frozen policy that knows nothing of
the master. The portfolio holds shares of sleeves. The master decides at the close of bar t; capital
moves at the open of t + 1, where the sleeves' own orders fill, and everything is marked at the
close of t + 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.domain.errors import ConfigError, UserError
from tradingbot.envs.actions import read_actions
from tradingbot.envs.batch import chance_seed
from tradingbot.envs.batch.observation import ObservationWriter
from tradingbot.envs.config import EnvConfig, read_config, start_mask
from tradingbot.envs.portfolio.accounting import rebalance, sleeve_moves
from tradingbot.envs.spaces import Info, ResetOptions
from tradingbot.envs.world import World, require_world
from tradingbot.market.account import Account
from tradingbot.market.advance import Advanced, advance
from tradingbot.market.bars import Bar, tensor_market
from tradingbot.market.episodes import begin, fixed_symbols
from tradingbot.market.observation import observe_accounts
from tradingbot.market.private_features import PRIVATE_FEATURES

SleevePolicy = Callable[[Tensor], Tensor | NDArray[np.generic]]
"""Flat observations (N, D) float32 of all sleeves → actions (N,) of the sleeves' space; pure."""

PORTFOLIO_LOW, PORTFOLIO_HIGH = (-1.0, 0.0, -1.0), (10.0, 1.0, 10.0)
_POLICY = "policy of the per-symbol accounts"


class PortfolioEnv(gym.Env[dict[str, Any], Any]):
    """A master that gives capital to the sleeves of N symbols.

    ## Action space

    `Box(0, 1, (N + 1,), float32)`: weights of the sleeves in the world's order, then cash; divided
    by their sum.

    ## Observation space

    A dict of float32: `sleeves` (N, 18), what each sleeve's own agent sees of its account;
    `weights` (N + 1,), as they are now, cut to [0, 1]; `portfolio` (3,): total return, drawdown,
    last return.

    ## Rewards

    Log growth of the portfolio over the bar; `info["reward_terms"]`: `growth` of the sleeves and
    `rebalancing`, what moving capital cost. Ruin is rewarded as a loss of all but a millionth.

    ## Starting state

    All cash; sleeves flat, all at the same bar, by seed and number of the episode.

    ## Episode end

    `terminated`: the portfolio lost `portfolio_loss_frac`, or more than it had. `truncated`: the
    bars are used up.

    ## Version history

    * v1: first version.
    """

    metadata = {"render_modes": []}  # noqa: RUF012 - as Gymnasium's

    def __init__(
        self, world: World, policy: SleevePolicy, config: EnvConfig | str | None = None
    ) -> None:
        """Prepare a world of N symbols and what trades their sleeves.

        Args:
            world: What is traded.
            policy: Frozen; sees flat observations of all sleeves.
            config: Rules and costs of the sleeves; the preset `sleeve` by default. Moving capital
                costs the same commission, slippage and half spread.

        Raises:
            ConfigError: If the policy cannot be called, or the configuration is none.
            DataError: If no window and episode fit into the world.
        """
        require_world(world)
        if not callable(policy):
            was = repr(policy)[:40]
            raise ConfigError("policy must be callable", was=was, where="PortfolioEnv")
        self.world, self.policy = world, policy
        self.config = read_config("sleeve" if config is None else config)
        self._market = tensor_market(world.prices, world.present, dtype=torch.float64)
        self._rates = self.config.costs.rates(dtype=torch.float64)
        self._writer = ObservationWriter(world, self.config)
        self._possible = start_mask(world, self.config)
        n = world.n_symbols
        low, high = np.array([(f.low, f.high) for f in PRIVATE_FEATURES], np.float32).T
        lowest, highest = np.array((PORTFOLIO_LOW, PORTFOLIO_HIGH), np.float32)
        self.observation_space = gym.spaces.Dict(
            {
                "sleeves": gym.spaces.Box(np.tile(low, (n, 1)), np.tile(high, (n, 1))),
                "weights": gym.spaces.Box(0.0, 1.0, (n + 1,)),
                "portfolio": gym.spaces.Box(lowest, highest),
            }
        )
        self.action_space = gym.spaces.Box(0.0, 1.0, (n + 1,))
        self._seed: int | None = None
        self._episode, self._ended = 0, True
        self._account: Account
        self._private: Tensor
        self._weights: NDArray[np.float64]
        self._initial = self.config.rules.account.initial_cash_ccy

    def reset(self, *, seed: int | None = None, options: ResetOptions = None) -> tuple[Info, Info]:
        """Begin an episode; without a seed the next one of the seed before."""
        if options:
            raise UserError("options must be empty", was=sorted(options), where="reset")
        super().reset(seed=seed)
        self._episode += 1
        if seed is not None or self._seed is None:
            self._seed, self._episode = chance_seed() if seed is None else seed, 0
        starts = fixed_symbols(self._possible, 1, self._seed)
        number = torch.full((self.world.n_symbols,), self._episode, dtype=torch.int32)
        self._account = begin(starts, self._market, self._initial, number)
        self._private = observe_accounts(self.config.rules, self._account)
        self._weights = np.append(np.zeros(self.world.n_symbols), 1.0)
        self._value = self._peak = self._initial
        self._last_growth, self._ended = 1.0, False
        info = {
            "seed": self._seed,
            "episode": self._episode,
            "label": self.world.label,
            "synthetic": self.world.synthetic,
            "fill_at": self.config.rules.episode.fill_at,
        }
        return self._observation(), info

    def step(self, action: Any) -> tuple[dict[str, Any], SupportsFloat, bool, bool, dict[str, Any]]:
        """Move capital at the next open and trade every sleeve over the bar.

        Raises:
            UserError: If there is no episode to continue, or weights or the policy's actions
                cannot be read; nothing has moved then.
        """
        if self._ended:
            raise UserError("an episode must have begun and not ended", remedy="Call reset() first")
        wanted = on_simplex(action, self.world.n_symbols)
        advanced, bar = self._trade_sleeves()
        one_way_frac = self.config.costs.one_way_frac
        made = rebalance(self._weights, wanted, sleeve_moves(advanced, bar), one_way_frac)
        self._weights, self._last_growth = made.weights, made.total
        self._value *= self._last_growth
        self._peak = max(self._peak, self._value)
        rules = self.config.rules
        terminated = self._value <= (1.0 - rules.account.portfolio_loss_frac) * self._initial
        steps = int(self._account.steps[0])
        truncated = steps >= rules.episode.episode_bars and not terminated
        self._ended = terminated or truncated
        terms = made.reward_terms
        info = {
            "equity": self._value,
            "weights": self._weights.copy(),
            "turnover_frac": made.turnover_frac,
            "sleeve_equity": self._account.equity.numpy().copy(),
            "reward_terms": terms,
            "synthetic": self.world.synthetic,
        }
        return self._observation(), sum(terms.values()), terminated, truncated, info

    def _trade_sleeves(self) -> tuple[Advanced, Bar]:
        rules = self.config.rules
        with torch.no_grad():
            answer = self.policy(self._writer.write(self._account.row, self._private))
            actions = read_answer(answer, self.config, self.world.n_symbols)
            bar = self._market.bar(self._account.row + 1)
            advanced = advance(rules, self._rates, self._account, bar, actions)
            self._account = advanced.after
            self._private = observe_accounts(rules, self._account)
        return advanced, bar

    def _observation(self) -> dict[str, Any]:
        portfolio = (
            self._value / self._initial - 1.0,
            1.0 - self._value / self._peak,
            self._last_growth - 1.0,
        )
        return {
            "sleeves": self._private.T.float().numpy().copy(),
            "weights": np.clip(self._weights, 0.0, 1.0).astype(np.float32),
            "portfolio": np.clip(portfolio, PORTFOLIO_LOW, PORTFOLIO_HIGH).astype(np.float32),
        }


def on_simplex(action: NDArray[np.generic], n_sleeves: int) -> NDArray[np.float64]:
    """Read an action (N + 1,) as weights: divided by their sum; all zeros is all cash.

    Raises:
        UserError: If they are no numbers, the shape is wrong, or one is negative or not finite.
    """
    try:
        given = np.asarray(action)
    except ValueError:  # rows of different lengths
        given = np.empty(0, object)
    if given.dtype.kind not in "fiu":
        raise UserError("weights must be an array of numbers", was=repr(action)[:60], where="step")
    numbers = given.astype(np.float64)
    if numbers.shape != (n_sleeves + 1,):
        raise UserError(f"weights must have shape ({n_sleeves + 1},)", was=numbers.shape)
    if not (np.isfinite(numbers) & (numbers >= 0.0)).all():
        raise UserError("weights must be 0 or more and finite", was=numbers.round(4).tolist())
    total = numbers.sum()
    if total == 0.0:
        return np.append(np.zeros(n_sleeves), 1.0)
    return np.asarray(numbers / total)


def read_answer(answer: Tensor | NDArray[np.generic], config: EnvConfig, n_sleeves: int) -> Tensor:
    """Return what the policy of the sleeves answered as actions (N,).

    Raises:
        UserError: If shape or dtype are wrong or a number is not finite: a frozen policy that
            gives one is broken, and holding on it would hide that.
    """
    try:
        space = config.rules.action.space
        actions = read_actions(answer, (n_sleeves,), space, strict=config.strict)
    except UserError as e:
        raise UserError(e.rule, was=e.was, where=_POLICY) from e
    if not bool(torch.isfinite(actions).all()):
        raise UserError("actions must be finite", was=actions.tolist(), where=_POLICY)
    return actions
