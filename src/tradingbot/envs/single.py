"""One account behind Gymnasium's interface, on the scalar simulator: no tensor in a step.

Many accounts at once belong in the vector environments, which share one tensor call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, SupportsFloat, cast

import gymnasium as gym
import numpy as np
import torch
from numpy.typing import NDArray

from tradingbot.domain.errors import UserError
from tradingbot.envs.config import EnvConfig, read_config
from tradingbot.envs.episode_info import (
    ACTION_NAMES,
    DENIAL_NAMES,
    EXIT_NAMES,
    EpisodeSummary,
    LastStepInfo,
    StepInfo,
    first_info,
    summarise,
)
from tradingbot.envs.render import draw_picture, write_lines
from tradingbot.envs.single_actions import read_action
from tradingbot.envs.single_observation import ObservationRow, make_observer
from tradingbot.envs.single_reward import make_reward
from tradingbot.envs.spaces import Observation, action_space
from tradingbot.envs.spaces import observation_space as space_of_observations
from tradingbot.envs.starting import start_choices
from tradingbot.envs.world import World, require_world
from tradingbot.market.bars import BAR_COLUMNS, STALE_COLUMN, tensor_market
from tradingbot.market.episodes import lane_key, start_row
from tradingbot.market.scalar import (
    ScalarAccount,
    ScalarAdvanced,
    ScalarBar,
    open_account,
    scalar_advance,
    scalar_mask,
)

RenderMode = Literal["ansi", "rgb_array"]


class TradingEnv(gym.Env[Observation | ObservationRow, Any]):
    """One account that trades one symbol at a time.

    ## Description

    The agent decides at the close of a bar; the order fills at the open of the next with costs,
    stops are looked at within it, and the account is marked at its close. Limits, gate and
    forced exits are those of live trading. `docs/concepts/simulator.md` is exact.

    ## Action space

    `TradingBot/Continuous-v1`: `Box(-1, 1, (1,), float32)`, buy or sell a fraction of what is
    possible, with a hold zone and smoothing. `TradingBot/Target-v1`: the same box, the wanted
    position as a fraction of the largest; below 0 is flat in a long-only account.
    `TradingBot/Discrete-v1`: `Discrete(7)`, the codes of `domain.action.Action`;
    `action_masks()` says which position, cash and rules of adding allow.

    ## Observation space

    A dict of float32 rows: `technical` (W·F,), bar by bar, oldest first; `probabilities` (3,),
    `position` (8,), `portfolio` (10,), `regime` (10,). That is `EnvConfig(observation="vectors")`,
    the default; `"dict"` gives `technical` as a matrix (W, F), `"flat"` all in one row, in this
    order. By default W = 24 bars and F = 23 features, and behind these whatever covariates the
    data has. Every number lies within the bounds of the space.

    ## Rewards

    The weighted terms of a stack, by default `v31`; `info["reward_terms"]` sums to the reward.

    ## Starting state

    Cash only. Symbol and bar follow from the seed and the number of the episode alone, and are
    those of lane 0 of a vector environment with that seed. `reset(options={"symbol": …, "bar": …})`
    chooses either or both.

    ## Episode end

    `terminated`: the emergency stop closed everything, or no equity is left. `truncated`: the
    episode's bars are used up. Never both.

    ## Information

    `info` is a `StepInfo`, that of `reset` a `ResetInfo` (`envs/episode_info.py`): equity, cash,
    units, fills, fees, reward terms, names of action, denial and exit; the last step adds
    `summary`.

    ## Version history

    * v1: first version.
    """

    metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": 8}  # noqa: RUF012 - as Gymnasium's

    def __init__(
        self,
        world: World,
        config: EnvConfig | str | None = None,
        *,
        render_mode: RenderMode | None = None,
    ) -> None:
        """Prepare a world; `reset` must follow.

        Args:
            world: What is traded and seen.
            config: Rules, costs, reward, observation, or the name of a preset.
            render_mode: What `render` returns: lines of text, or a picture (H, W, 3) uint8.

        Raises:
            ConfigError: If the configuration is none.
            DataError: If no window and episode fit into the world.
            UserError: If the render mode is not one of those.
        """
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise UserError("render_mode must be ansi, rgb_array or None", was=repr(render_mode))
        require_world(world)
        self.world, self.config = world, read_config(config)
        self.render_mode = render_mode
        self.observation_space = space_of_observations(world, self.config)
        self.action_space = action_space(self.config.rules.action.space)
        market = tensor_market(world.prices, world.present, dtype=torch.float64)
        rows = market.rows.numpy()
        self._bars, self._stale_bars = rows[:, : len(BAR_COLUMNS)], rows[:, STALE_COLUMN]
        self._closed_at: list[int] = world.closed_at.tolist()
        self._n_bars = world.n_bars
        self._observe = make_observer(world, self.config)
        self._choices = start_choices(world, self.config)
        self._reward = make_reward(self.config)
        self._term_names = self.config.reward_stack.names
        self._seed: int | None = None
        self._episode = 0
        self._account: ScalarAccount | None = None
        self._ended = False
        self._history: list[ScalarAdvanced] = []

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation | ObservationRow, dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: Root of this and the following episodes; without one the next episode of the seed
                before begins, or, at first, a seed is drawn and told in `info`.
            options: `symbol` and `bar` of the beginning, either or both; None leaves both to the
                seed.

        Raises:
            DataError: If there is no such symbol, or no episode can begin at such a bar; the
                episode and the seed are then what they were.
        """
        choices = start_choices(self.world, self.config, options) if options else self._choices
        super().reset(seed=seed)
        self._episode += 1
        if seed is not None or self._seed is None:
            self._seed = int(self.np_random.integers(2**63)) if seed is None else int(seed)
            self._episode = 0
        row = start_row(choices, 0, lane_key(self._seed, 0), self._episode)
        rules, mark = self.config.rules, float(self._bars[row, 3])
        account = open_account(
            rules.account.initial_cash_ccy,
            row,
            mark,
            self._episode,
            stale_bars=int(self._stale_bars[row]),
        )
        self._account, self._ended, self._history = account, False, []
        info = first_info(self.world, rules, account, self._seed)
        return self._observe(account), cast(dict[str, Any], info)

    def step(
        self, action: Any
    ) -> tuple[Observation | ObservationRow, SupportsFloat, bool, bool, dict[str, Any]]:
        """Decide at the close of the current bar and move to the close of the next.

        Args:
            action: A number, or an array of shape (1,) or (), in the space of the environment.

        Raises:
            UserError: If there is no episode to continue, or the action cannot be read.
        """
        account, config = self._account, self.config
        if account is None or self._ended:
            raise _out_of_order(begun=account is not None)
        rules = config.rules
        number = read_action(action, space=rules.action.space, strict=config.strict)
        bar = ScalarBar._make(self._bars[account.row + 1].tolist())
        advanced = scalar_advance(rules, config.costs, account, bar, number)
        terms = self._reward(advanced)
        self._account = after = advanced.after
        self._ended = advanced.terminated or advanced.truncated
        if self.render_mode is not None:
            self._history.append(advanced)
        return (
            self._observe(after),
            sum(terms),
            advanced.terminated,
            advanced.truncated,
            cast(dict[str, Any], self._info(advanced, terms)),
        )

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which of the seven discrete actions the rules of actions allow now, (7,).

        Position, cash, profit and number of adds, smallest trade and halt are in it. The limit on
        repeats and the risk gate's other rules (largest order, stale data) are not: a code it
        allows may still be held, or denied.

        Raises:
            UserError: If actions are not discrete, or there is no episode.
        """
        if self.config.rules.action.space != "discrete":
            raise UserError(
                "masks are for discrete actions",
                was=self.config.rules.action.space,
                remedy="Use TradingBot/Discrete-v1",
            )
        if self._account is None:
            raise _out_of_order(begun=False)
        return np.array(scalar_mask(self.config.rules, self.config.costs, self._account))

    def summary(self) -> EpisodeSummary:
        """Say what the account has come to so far.

        Raises:
            UserError: If there is no episode.
        """
        if self._account is None:
            raise _out_of_order(begun=False)
        return summarise(self.config.rules, self._account)

    def render(self) -> Any:
        """Return the episode so far: a few lines (`ansi`) or a picture (`rgb_array`).

        Raises:
            UserError: If no render mode was chosen, or there is no episode.
            MissingExtraError: If the picture needs Matplotlib and it is not installed.
        """
        if self.render_mode is None:
            raise UserError(
                "a render mode must be chosen when the environment is made",
                remedy='Use gymnasium.make(..., render_mode="ansi")',
            )
        if self._account is None:
            raise _out_of_order(begun=False)
        draw = write_lines if self.render_mode == "ansi" else draw_picture
        return draw(self.world, self.config.rules, self._account, self._history)

    def _info(self, advanced: ScalarAdvanced, terms: Sequence[float]) -> StepInfo | LastStepInfo:
        account, fill, exit_fill = advanced.after, advanced.fill, advanced.exit_fill
        world, decision = self.world, advanced.decision
        symbol, bar = divmod(account.row, self._n_bars)
        info: StepInfo = {
            "symbol": world.symbols[symbol],
            "bar": bar,
            "closed_at": self._closed_at[bar],
            "price": account.mark,
            "equity": account.cash + account.units * account.mark,
            "cash": account.cash,
            "units": account.units,
            "action": ACTION_NAMES[decision.code],
            "violation": decision.violation,
            "denial": DENIAL_NAMES[advanced.denial],
            "fill": fill.units,
            "fill_price": fill.price,
            "exit_fill": exit_fill.units,
            "exit_price": exit_fill.price,
            "exit_reason": EXIT_NAMES[advanced.exit_reason],
            "fees": fill.fee + exit_fill.fee,
            "reward_terms": dict(zip(self._term_names, terms, strict=True)),
            "synthetic": world.synthetic,
        }
        if self._ended:
            return LastStepInfo(**info, summary=summarise(self.config.rules, account))
        return info


def _out_of_order(*, begun: bool) -> UserError:
    if begun:
        return UserError(
            "an episode that has ended must not be continued",
            was="step after the end",
            remedy="Call reset() when terminated or truncated is true",
        )
    return UserError(
        "an episode must begin before anything else", was="no reset", remedy="Call reset() first"
    )
