"""One account behind Gymnasium's interface: a step is one call of the native lanes.

Many accounts at once belong in the vector environments, which share one call.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, SupportsFloat, cast

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.errors import UserError
from tradingbot.envs.actions import read_action
from tradingbot.envs.config import EnvConfig, read_config
from tradingbot.envs.single.account import LaneStep
from tradingbot.envs.single.info import (
    EpisodeSummary,
    LastStepInfo,
    first_info,
    read_step,
    step_info,
    summarise,
)
from tradingbot.envs.single.lane import make_lane, single_market
from tradingbot.envs.single.lazy_info import LazyInfo
from tradingbot.envs.single.render import draw_picture, write_lines
from tradingbot.envs.spaces import Observation, action_space, flatten_layout
from tradingbot.envs.spaces import observation_space as space_of_observations
from tradingbot.envs.starting import start_choices
from tradingbot.envs.world import World, require_world
from tradingbot.market.account import Account
from tradingbot.market.episodes import lane_key, start_row

ObservationRow = NDArray[np.float32]
_FLOAT32 = np.dtype(np.float32)
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

    `info` is a `StepInfo`, that of `reset` a `ResetInfo` (`envs/single/info.py`): equity, cash,
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
        self._market = single_market(world)
        layout = flatten_layout(world, self.config)
        self._columns = [part.columns for part in layout]
        self._window_shape = layout[0].shape if len(layout[0].shape) > 1 else None
        self._flat = self.config.observation == "flat"
        self._choices = start_choices(world, self.config)
        self._known_info = {"synthetic": world.synthetic}
        self._reads_floats = not (
            self.config.strict or self.config.rules.action.space == "discrete"
        )
        self._term_names = self.config.reward_stack.names
        self._lane = make_lane(world, self.config, self._market)
        self._seed: int | None = None
        self._episode, self._row = 0, -1
        self._begun, self._ended = False, False
        self._history: list[LaneStep] = []

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
        rules = self.config.rules
        self._lane.begin(row, self._episode)
        self._row, self._begun, self._ended, self._history = row, True, False, []
        info = first_info(self.world, rules, self._lane.account(), self._seed)
        return self._observe(), cast(dict[str, Any], info)

    def step(
        self, action: Any
    ) -> tuple[Observation | ObservationRow, SupportsFloat, bool, bool, dict[str, Any]]:
        """Decide at the close of the current bar and move to the close of the next.

        Args:
            action: A number, or an array of shape (1,) or (), in the space of the environment.

        Raises:
            UserError: If there is no episode to continue, or the action cannot be read.
        """
        if not self._begun or self._ended:
            raise _out_of_order(begun=self._begun)
        config, lane = self.config, self._lane
        if self._reads_floats and type(action) is np.ndarray and action.shape == (1,):
            # The usual one, read without looking twice.
            number: float = action.item() if action.dtype is _FLOAT32 else self._read(action)
        else:
            number = self._read(action)
        before = lane.account() if self.render_mode is not None else None
        ended = lane.advance(number)
        self._row += 1
        told = lane.told.copy()
        if before is not None:
            self._history.append(read_step(before, lane.account(), told))
        reward = lane.reward.item()
        make = partial(step_info, self.world, self._term_names, self._row, told)
        if not ended:
            return self._observe(), reward, False, False, LazyInfo(make, self._known_info)
        self._ended = True
        summary = summarise(config.rules, lane.account())
        info = LastStepInfo(**make(), summary=summary)
        terminated, truncated = lane.flags.tolist()
        return self._observe(), reward, terminated, truncated, cast(dict[str, Any], info)

    def _read(self, action: Any) -> float:
        space, strict = self.config.rules.action.space, self.config.strict
        return read_action(action, space=space, strict=strict)

    def _observe(self) -> Observation | ObservationRow:
        """Return what the account sees: a fresh row, or views of one."""
        row = self._lane.row.copy()
        if self._flat:
            return row
        technical, probabilities, position, portfolio, regime = self._columns
        window = row[technical]
        if self._window_shape is not None:
            window = window.reshape(self._window_shape)
        return {
            "technical": window,
            "probabilities": row[probabilities],
            "position": row[position],
            "portfolio": row[portfolio],
            "regime": row[regime],
        }

    def __getstate__(self) -> dict[str, Any]:
        """Leave the lane behind, which is memory and compiled code; its account travels."""
        state = self.__dict__ | {"_account": self._lane.tensors()}
        del state["_lane"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Make the lane anew and put the account there."""
        account: Account = state.pop("_account")
        self.__dict__.update(state)
        self._lane = make_lane(self.world, self.config, self._market)
        if self._begun:
            self._lane.place(account)

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which of the seven discrete actions the rules of actions allow now, (7,).

        Position, cash, profit and number of adds, smallest trade and halt are in it. The limit on
        repeats and the risk gate's other rules (largest order, stale data) are not: a code it
        allows may still be held, or denied.

        Raises:
            UserError: If actions are not discrete, or there is no episode.
        """
        if self.config.rules.action.space != "discrete":
            rule = "masks are for discrete actions"
            remedy = "Use TradingBot/Discrete-v1"
            raise UserError(rule, was=self.config.rules.action.space, remedy=remedy)
        if not self._begun:
            raise _out_of_order(begun=False)
        return self._lane.allowed(self.config.rules)

    def summary(self) -> EpisodeSummary:
        """Say what the account has come to so far.

        Raises:
            UserError: If there is no episode.
        """
        if not self._begun:
            raise _out_of_order(begun=False)
        return summarise(self.config.rules, self._lane.account())

    def render(self) -> Any:
        """Return the episode so far: a few lines (`ansi`) or a picture (`rgb_array`).

        Raises:
            UserError: If no render mode was chosen, or there is no episode.
            MissingExtraError: If the picture needs Matplotlib and it is not installed.
        """
        if self.render_mode is None:
            rule = "a render mode must be chosen when the environment is made"
            raise UserError(rule, remedy='Use gymnasium.make(..., render_mode="ansi")')
        if not self._begun:
            raise _out_of_order(begun=False)
        draw = write_lines if self.render_mode == "ansi" else draw_picture
        return draw(self.world, self.config.rules, self._lane.account(), self._history)


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
