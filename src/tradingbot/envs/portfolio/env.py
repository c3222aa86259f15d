"""The master's environment: capital weights over N symbol sleeves and cash, one shared clock.

A sleeve is one symbol's account in the simulator, traded from the first bar on by a frozen policy
that knows nothing of the master. The portfolio joins: it is one account that gives capital to
sleeves and holds what they want. One portfolio of `PortfolioTask`, as Gymnasium has it.
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
from tradingbot.envs.batch import chance_seed
from tradingbot.envs.batch.observation import ObservationWriter
from tradingbot.envs.config import EnvConfig, read_config, start_mask
from tradingbot.envs.portfolio.sleeves import run_sleeves, write_book
from tradingbot.envs.portfolio.task import PortfolioTask, PortfolioTerms
from tradingbot.envs.spaces import Info, ResetOptions
from tradingbot.envs.world import World, require_world
from tradingbot.learning.task import Observation, TaskState
from tradingbot.market.portfolio.inputs import PORTFOLIO_HIGH, PORTFOLIO_INPUTS, PORTFOLIO_LOW

SleevePolicy = Callable[[Tensor], Tensor | NDArray[np.generic]]
"""Flat observations (N, D) float32 of all sleeves → actions (N,) of the sleeves' space; pure."""

_SEEN_BOUND = 1e6


class PortfolioEnv(gym.Env[dict[str, Any], Any]):
    """A master that gives capital to the sleeves of N symbols.

    ## Action space

    `Box(0, 1, (N + 1,), float32)`: weights of the sleeves in the world's order, then cash; divided
    by their sum.

    ## Observation space

    A dict of float32: `sleeves` (N, 8), position, proposal and confidence of each agent and the
    recent record of its account; `regime` (R,), the market's; `weights` (N + 1,), capital as it is
    now, and `positions` (N,), both of the value; `portfolio` (3,): total return, drawdown, last
    return.

    ## Rewards

    Log growth of the portfolio over the bar; `info["reward_terms"]`: `growth` of what is held,
    `costs` of all net orders and `risk`. Ruin is rewarded as a loss of all but a millionth.

    ## Starting state

    All cash, at a bar by seed and number of the episode; sleeves are where their agents brought
    them by then.

    ## Episode end

    `terminated`: the portfolio lost `portfolio_loss_frac`, or more than it had. `truncated`: the
    bars are used up.

    ## Version history

    * v2: one account, whose net orders pay costs once; sleeves run on, the portfolio joins them.
    * v1: first version.
    """

    metadata = {"render_modes": []}  # noqa: RUF012 - as Gymnasium's

    def __init__(
        self, world: World, policy: SleevePolicy, config: EnvConfig | str | None = None
    ) -> None:
        """Trade the sleeves of a world's N symbols, from the first ready bar to the last.

        Args:
            world: What is traded.
            policy: Frozen; sees flat observations of all sleeves.
            config: Rules and costs of sleeves and portfolio; the preset `sleeve` by default.

        Raises:
            ConfigError: If the policy cannot be called, or the configuration is not a portfolio's.
            DataError: If no window and episode fit into the world.
            UserError: If what the policy answers cannot be read.
        """
        require_world(world)
        if not callable(policy):
            was = repr(policy)[:40]
            raise ConfigError("policy must be callable", was=was, where="PortfolioEnv")
        self.world, self.policy = world, policy
        self.config = read_config("sleeve" if config is None else config)
        _require_no_exits(self.config)
        start_mask(world, self.config)
        writer = ObservationWriter(world, self.config)
        paths = run_sleeves(
            world, self.config, lambda row, private: policy(writer.write(row, private))
        )
        terms = PortfolioTerms(self.config.rules, self.config.costs)
        book, length = write_book(world, paths), self.config.rules.episode.episode_bars
        self._task = PortfolioTask(book, terms, n_envs=1, seed=0)
        if self.config.starts == "first":
            first = int(np.flatnonzero(book.usable)[0])
            self._task = self._task.during(first, first + length)
        self._task.resets = False  # Gymnasium's callers begin anew themselves
        self.observation_space = self._space()
        self.action_space = gym.spaces.Box(0.0, 1.0, (world.n_symbols + 1,))
        self._seed: int | None = None
        self._episode, self._ended = 0, True
        self._state: TaskState

    def reset(self, *, seed: int | None = None, options: ResetOptions = None) -> tuple[Info, Info]:
        """Begin an episode; without a seed the next one of the seed before."""
        if options:
            raise UserError("options must be empty", was=sorted(options), where="reset")
        super().reset(seed=seed)
        self._episode += 1
        if seed is not None or self._seed is None:
            self._seed, self._episode = chance_seed() if seed is None else seed, 0
        self._task = self._task.seeded(self._seed)
        self._state, seen = self._task.begin(self._episode)
        self._ended = False
        info = {
            "seed": self._seed,
            "episode": self._episode,
            "label": self.world.label,
            "synthetic": self.world.synthetic,
            "fill_at": self.config.rules.episode.fill_at,
        }
        return self._observation(seen), info

    def step(self, action: Any) -> tuple[dict[str, Any], SupportsFloat, bool, bool, dict[str, Any]]:
        """Move capital at the next open and trade every sleeve over the bar.

        Raises:
            UserError: If there is no episode to continue, or weights cannot be read; nothing has
                moved then.
        """
        if self._ended:
            raise UserError("an episode must have begun and not ended", remedy="Call reset() first")
        wanted = on_simplex(action, self.world.n_symbols)
        made = self._task.step(self._state, torch.from_numpy(wanted)[None, None])
        self._state = made.state
        now = self._task.numbers(self._state)
        terminated, truncated = bool(now.halted), bool(made.truncated[0, 0])
        self._ended = terminated or truncated
        terms = dict(zip(self._task.term_names, made.terms[:, 0, 0].tolist(), strict=True))
        cash_ccy = self.config.rules.account.initial_cash_ccy
        bar = int(now.bar)
        info = {
            "equity": float(now.value) * cash_ccy,
            "weights": self._state[0][:, 0].numpy().copy(),
            "positions": self._state[1][:, 0].numpy().copy(),
            "turnover_frac": float(now.turnover),
            "cost_frac": float(now.cost),
            "sleeve_equity": self._task.book.value[bar] * cash_ccy,
            "reward_terms": terms,
            "synthetic": self.world.synthetic,
        }
        return self._observation(made.observation), sum(terms.values()), terminated, truncated, info

    def _space(self) -> gym.spaces.Dict:
        book, n = self._task.book, self.world.n_symbols
        lowest, highest = np.array((PORTFOLIO_LOW, PORTFOLIO_HIGH), np.float32)
        bound = _SEEN_BOUND
        return gym.spaces.Dict(
            {
                "sleeves": gym.spaces.Box(-bound, bound, (n, len(book.member_names))),
                "regime": gym.spaces.Box(-bound, bound, (len(book.shared_names),)),
                "weights": gym.spaces.Box(0.0, 1.0, (n + 1,)),
                "positions": gym.spaces.Box(-1.0, 1.0, (n,)),
                "portfolio": gym.spaces.Box(lowest, highest),
            }
        )

    def _observation(self, seen: Observation) -> dict[str, Any]:
        book, bar = self._task.book, int(seen.row[0, 0])
        numbers = seen.private[0, 0].numpy()
        own, whole = numbers[: -len(PORTFOLIO_INPUTS)].reshape(-1, 2), numbers[-4:]
        return {
            "sleeves": book.members[bar].numpy().copy(),
            "regime": book.shared[bar].numpy().copy(),
            "weights": np.append(own[:, 0], whole[0]).clip(0.0, 1.0).astype(np.float32),
            "positions": own[:, 1].copy(),
            "portfolio": whole[1:].copy(),
        }


def _require_no_exits(config: EnvConfig) -> None:
    """Refuse what ends a sleeve's position without an order of the portfolio at an open."""
    account = config.rules.account
    for name, ends in (
        ("stop_loss_frac and take_profit_frac", account.watches_bars),
        ("delisted_after_bars", account.closes_delisted),
    ):
        if ends:
            was = ", ".join(str(getattr(account, each)) for each in name.split(" and "))
            rule = f"{name} must be left out in a portfolio: its net orders fill at opens"
            raise ConfigError(rule, was=was, where="PortfolioEnv")


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
