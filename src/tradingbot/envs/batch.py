"""Many environments as one: the mutable rim around the pure step of `market.simulation`.

Every adapter (Gymnasium's vector, SB3, PettingZoo) and every learner that steps lanes together
holds one of these. Lanes do not know of each other; where one ended, the step already holds the
beginning of its next episode.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.domain.errors import ConfigError, UserError
from tradingbot.envs.batch_actions import read_actions
from tradingbot.envs.batch_costs import read_costs
from tradingbot.envs.batch_observation import ObservationWriter, TensorObservation
from tradingbot.envs.compilation import compiled_or_eager
from tradingbot.envs.config import EnvConfig, read_config, start_mask
from tradingbot.envs.world import World, require_world
from tradingbot.market.account import Account
from tradingbot.market.actions import action_mask, action_values
from tradingbot.market.bars import TensorMarket, tensor_market
from tradingbot.market.buying_power import buying_power_of
from tradingbot.market.costs import CostProfile, CostRates
from tradingbot.market.episodes import (
    Starts,
    begin,
    drawn_symbols,
    fixed_symbols,
)
from tradingbot.market.observation import observe_accounts
from tradingbot.market.simulation import Step, step

Lanes = Literal["drawn", "per_symbol"]
PureStep = Callable[[CostRates, TensorMarket, Starts, Account, Tensor], Step]


class BatchSimulator:
    """B lanes of one world, stepped by one tensor call.

    Example:
        >>> from tradingbot.envs.build_world import synthetic_world
        >>> simulator = BatchSimulator(synthetic_world(n_bars=800), EnvConfig(), 16, compile=False)
        >>> simulator.reset(seed=7)
        >>> simulator.step(torch.ones(16)).reward.shape
        torch.Size([16])
    """

    def __init__(
        self,
        world: World,
        config: EnvConfig | str | None,
        n_environments: int,
        *,
        lanes: Lanes = "drawn",
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
        compile: bool | Literal["auto"] = "auto",
    ) -> None:
        """Bring a world to a device; `reset` must follow.

        Args:
            world: What is traded and seen.
            config: Rules, costs, reward, observation, or the name of a preset.
            n_environments: Lanes; with `per_symbol` each environment is one lane per symbol.
            lanes: `drawn`: every episode draws its symbol and bar. `per_symbol`: lane
                environment · N + symbol trades that symbol, and the lanes of an environment begin
                at the same bar.
            device: Where the lanes live.
            dtype: Number format of accounts; float64 for exact accounting.
            compile: Compile the step; `auto` does where lanes are many enough to repay it.

        Raises:
            ConfigError: If there is no lane, or the configuration is none.
            DataError: If no episode fits into the world.
        """
        _require_lanes(n_environments, lanes)
        require_world(world)
        config = read_config(config)
        self.world, self.config, self.lanes = world, config, lanes
        self.n_environments = n_environments
        self.n_lanes = n_environments * (len(world.symbols) if lanes == "per_symbol" else 1)
        self.device, self.dtype = torch.device(device), dtype
        self._possible = start_mask(world, config)
        self._market = tensor_market(world.prices, world.present, dtype=dtype, device=device)
        self.writer = ObservationWriter(world, config, device)
        self.set_costs(config.costs)
        self._pure_step: PureStep = compiled_or_eager(
            partial(step, config.rules, config.reward_stack),
            wanted=compile,
            device=self.device,
            n_lanes=self.n_lanes,
        )
        self._seed: int | None = None
        self._account: Account
        self._private: Tensor

    @property
    def account(self) -> Account:
        """The accounts of all lanes, fields (B,); a value: the next step makes a new one.

        Raises:
            UserError: Before the first reset.
        """
        if self._seed is None:
            raise UserError("reset must be called before anything else", where="BatchSimulator")
        return self._account

    @property
    def market(self) -> TensorMarket:
        """The bars, on the device."""
        return self._market

    @property
    def bytes_per_lane(self) -> int:
        """Bytes of account state that one lane carries from step to step."""
        fields = self.account
        return sum(field.element_size() * field.numel() for field in fields) // self.n_lanes

    def reset(self, seed: int | None = None, *, episode: int | None = None) -> None:
        """Begin an episode in every lane.

        Args:
            seed: Root of all starts; the same seed gives the same episodes. None keeps the seed
                and goes on to each environment's next episode (the first time: a seed of chance).
            episode: Number of the episode to begin, the same in all lanes.
        """
        first = self._seed is None
        if seed is not None or first:
            self._starts = self._starts_of(chance_seed() if seed is None else seed)
        begun = torch.zeros(self.n_lanes, dtype=torch.int32, device=self.device)
        if episode is not None:
            begun += episode
        elif seed is None and not first:
            # A lane that ended early is ahead: all of an environment go on from the one farthest.
            of_environment = self._account.episode.reshape(self.n_environments, -1)
            begun = (of_environment.amax(1) + 1).repeat_interleave(of_environment.shape[1])
        cash = self.config.rules.account.initial_cash_ccy
        self._account = begin(self._starts, self._market, cash, begun)
        self._private = observe_accounts(self.config.rules, self._account)

    def step(self, actions: Tensor | NDArray[np.generic]) -> Step:
        """Step every lane by one bar; where an episode ends, the next has begun.

        A step that raises changes nothing: it may be tried again.

        Args:
            actions: (B,) floating point in [−1, 1], or whole codes of a discrete space.

        Raises:
            UserError: Before a reset; if shape or dtype are wrong; in a strict environment also
                if an action is not finite or out of range.
        """
        rules = self.config.rules
        return self.step_unchecked(
            read_actions(actions, (self.n_lanes,), rules.action.space, strict=self.config.strict)
        )

    def step_unchecked(self, actions: Tensor) -> Step:
        """Step with actions (B,) that are known to have the right shape and dtype."""
        made = self._advance(self.account, actions.to(self.device))
        self._account, self._private = made.account, made.private
        return made

    def observe(self, out: Tensor | None = None) -> TensorObservation:
        """Return what every lane sees, as the configuration asks: a dict of (B, …) or flat (B, D).

        Args:
            out: (B, D) float32 on the device, written and returned (or seen as dict) instead of a
                new tensor; for callers that have used up the last observation.
        """
        return self._laid_out(self.writer.write(self.account.row, self._private, out))

    def before_reset(self, made: Step) -> Account:
        """Return the accounts (B,) at the end of a step, before any reset."""
        return made.advanced.after

    def observe_before_reset(self, made: Step, lanes: Tensor) -> TensorObservation:
        """Return what the chosen lanes (L,) saw at the end of a step, before any reset."""
        lanes = lanes.to(self.device)
        row = self.before_reset(made).row[lanes]
        return self._laid_out(self.writer.write(row, made.final_private[:, lanes]))

    def action_masks(self) -> Tensor:
        """Return which of the seven codes the rules of actions allow each lane, (B, 7) bool.

        Position, cash, profit and number of adds, smallest trade and halt are in it. The limit on
        repeats and the risk gate's other rules (largest order, stale data) are not: a code it
        allows may still be held, or denied.

        Raises:
            UserError: If the action space is not discrete.
        """
        rules, account = self.config.rules, self.account
        if rules.action.space != "discrete":
            raise UserError(
                "action masks must be asked of discrete actions",
                was=rules.action.space,
                remedy='Use ActionRules(space="discrete")',
            )
        room = buying_power_of(rules.limits, self._rates, account, account.equity)
        values = action_values(rules.action, account, room)
        return action_mask(rules.action, rules.limits, account, values).T

    def set_costs(self, costs: CostProfile | CostRates | str) -> None:
        """Change what fills cost from the next step on; the step is not compiled again.

        Args:
            costs: A profile for all lanes, its name, or rates () or (B,). Going from () to (B,) is
                another shape, and compiles once more.

        Raises:
            ConfigError: If they are none of these, or out of range; nothing has changed then.
        """
        self._rates = read_costs(costs, self.n_lanes, dtype=self.dtype, device=self.device)

    def _advance(self, account: Account, actions: Tensor) -> Step:
        """Call the pure step: the one place that does."""
        with torch.no_grad():
            return self._pure_step(self._rates, self._market, self._starts, account, actions)

    def _laid_out(self, flat: Tensor) -> TensorObservation:
        return flat if self.config.observation == "flat" else self.writer.named(flat)

    def _starts_of(self, seed: int) -> Starts:
        if not is_whole(seed) or seed < 0:
            raise ConfigError(
                "seed must be one whole number, 0 or more",
                was=repr(seed),
                where="reset",
                remedy="All lanes follow from it",
            )
        lay_out = fixed_symbols if self.lanes == "per_symbol" else drawn_symbols
        starts = lay_out(self._possible, self.n_environments, seed)
        self._seed = seed
        return Starts(*(part.to(self.device) for part in starts))


def chance_seed() -> int:
    """Draw a seed from the system, for callers that gave none."""
    return int(np.random.SeedSequence().generate_state(1)[0])


def is_whole(number: object) -> bool:
    """Tell whole numbers, NumPy's too, from everything else; a truth value is none."""
    return isinstance(number, int | np.integer) and not isinstance(number, bool)


def _require_lanes(n_environments: int, lanes: str) -> None:
    if not is_whole(n_environments) or n_environments < 1:
        raise ConfigError(
            "n_environments must be a whole number, 1 or more", was=repr(n_environments)
        )
    if lanes not in ("drawn", "per_symbol"):
        raise ConfigError("lanes must be drawn or per_symbol", was=repr(lanes))
