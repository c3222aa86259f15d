"""Many environments as one: the mutable rim around the pure step of `market.simulation`.

Every adapter (Gymnasium's vector, SB3, PettingZoo) and every learner that steps lanes together
holds one of these. Lanes do not know of each other; where one ended, the step already holds the
beginning of its next episode. The step runs as native lanes, as a graph compiled for a GPU, or as
the tensors that define it.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.domain.errors import UserError
from tradingbot.envs.actions import read_actions, readable_kinds
from tradingbot.envs.batch.costs import read_costs
from tradingbot.envs.batch.layout import Lanes, chance_seed, lay_out_starts, require_lanes
from tradingbot.envs.batch.native import make_native_lanes
from tradingbot.envs.batch.observation import ArrayObservation, ObservationWriter, TensorObservation
from tradingbot.envs.batch.step import BatchStep, LaneArrays, TensorArrays, is_compiled, work_out
from tradingbot.envs.batch.tensors import TensorEngine
from tradingbot.envs.config import EnvConfig, read_config, start_mask
from tradingbot.envs.world import World, require_world
from tradingbot.market.account import Account
from tradingbot.market.bars import TensorMarket, tensor_market
from tradingbot.market.compiled import allowed_codes
from tradingbot.market.costs import CostProfile, CostRates
from tradingbot.market.episodes import Starts, begin
from tradingbot.market.observation import observe_accounts
from tradingbot.market.packing import pack_rates


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
            compile: False: tensors, call by call. True and `auto`: native lanes on a CPU; on a GPU
                a compiled graph, with `auto` where lanes are many enough to repay it.

        Raises:
            ConfigError: If there is no lane, or the configuration is none.
            DataError: If no episode fits into the world.
        """
        require_lanes(n_environments, lanes)
        require_world(world)
        config = read_config(config)
        self.world, self.config, self.lanes = world, config, lanes
        self.n_environments = n_environments
        self.n_lanes = n_environments * (len(world.symbols) if lanes == "per_symbol" else 1)
        self.device, self.dtype = torch.device(device), dtype
        self._possible = start_mask(world, config)
        self._market = tensor_market(world.prices, world.present, dtype=dtype, device=device)
        self.writer = ObservationWriter(world, config, device)
        compiled = is_compiled(compile, self.device, self.n_lanes)
        self._native = (
            make_native_lanes(world, config, self._market, self.n_lanes) if compiled else None
        )
        on_gpu = compiled and self.device.type != "cpu"
        self._tensors = TensorEngine(config, self._market, compiled=on_gpu)
        self._rates: CostRates
        self.set_costs(config.costs)
        self._seed: int | None = None
        self._account: Account | None = None
        self._private: Tensor | None = None
        self.arrays: LaneArrays
        """What `step_arrays` made; overwritten by the next step."""
        self.reward_sums = np.zeros(self.n_lanes)
        """Rewards (B,) that `step_arrays` has added up; adapters set those of ended lanes to 0."""
        if self._native is not None:
            self.reward_sums = self._native.reward_sums
        asked = np.empty(0) if self._native is None else self._native.action
        self._asked_by_shape = {asked.shape: asked, (*asked.shape, 1): asked[:, None]}
        # Numbers of these kinds need no further look: none where strict.
        space = config.rules.action.space
        self._action_kinds = "" if config.strict else readable_kinds(space)

    @property
    def account(self) -> Account:
        """The accounts of all lanes, fields (B,); a value: the next step makes a new one.

        Raises:
            UserError: Before the first reset.
        """
        if self._seed is None:
            raise UserError("reset must be called before anything else", where="BatchSimulator")
        if self._account is None:
            assert self._native is not None
            self._account = self._native.accounts()
        return self._account

    @property
    def is_native(self) -> bool:
        """Whether lanes step natively."""
        return self._native is not None

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
            of_environment = self.account.episode.reshape(self.n_environments, -1)
            begun = (of_environment.amax(1) + 1).repeat_interleave(of_environment.shape[1])
        cash = self.config.rules.account.initial_cash_ccy
        account = begin(self._starts, self._market, cash, begun)
        self._place(account, observe_accounts(self.config.rules, account))

    def step(self, actions: Tensor | NDArray[np.generic]) -> BatchStep:
        """Step every lane by one bar; where an episode ends, the next has begun.

        A step that raises changes nothing: it may be tried again.

        Args:
            actions: (B,) floating point in [−1, 1], or whole codes of a discrete space.

        Raises:
            UserError: Before a reset; if shape or dtype are wrong; in a strict environment also
                if an action is not finite or out of range.
        """
        space, strict = self.config.rules.action.space, self.config.strict
        return self.step_unchecked(read_actions(actions, (self.n_lanes,), space, strict=strict))

    def step_unchecked(self, actions: Tensor) -> BatchStep:
        """Step with actions (B,) that are known to have the right shape and dtype."""
        before, rates, native = self.account, self._rates, self._native
        actions = actions.to(self.device)
        if native is None:
            made = self._tensors.advance(rates, self._starts, before, actions)
            self._account, self._private = made.account, made.private
            return made
        native.action[:] = actions.numpy()
        native.step()
        self._account = self._private = None
        return native.copy_step(
            self.account, lambda: work_out(self.config.rules, rates, before, self._market, actions)
        )

    def step_arrays(self, actions: NDArray[Any] | Tensor) -> int:
        """Step as `step` does, for adapters, who read `arrays` then; return how many ended."""
        native = self._native
        asked = None
        if type(actions) is np.ndarray and actions.dtype.kind in self._action_kinds:
            asked = self._asked_by_shape.get(actions.shape)
        if native is None or asked is None or self._seed is None:
            made = self.step(actions)
            self.arrays = TensorArrays(self.writer, made)
            self.reward_sums += self.arrays.reward
            return int((made.terminated | made.truncated).sum())
        asked[:] = actions
        n_ended = native.step_for_adapters()
        self._account = self._private = None
        self.arrays = native
        return n_ended

    def observe(self, out: Tensor | None = None) -> TensorObservation:
        """Return what every lane sees, as the configuration asks: a dict of (B, …) or flat (B, D).

        Args:
            out: (B, D) float32 on the device, written and returned (or seen as dict) instead of a
                new tensor; for callers that have used up the last observation.
        """
        account = self.account
        if self._native is not None:
            seen = torch.from_numpy(self._native.observation)
            return self._laid_out(seen.clone() if out is None else out.copy_(seen))
        assert self._private is not None
        return self._laid_out(self.writer.write(account.row, self._private, out))

    def before_reset(self, made: BatchStep) -> Account:
        """Return the accounts (B,) at the end of a step, before any reset."""
        return made.before_reset

    def observe_before_reset(self, made: BatchStep, lanes: Tensor) -> TensorObservation:
        """Return what the chosen lanes (L,) saw at the end of a step, before any reset."""
        lanes = lanes.to(self.device)
        row = self.before_reset(made).row[lanes]
        return self._laid_out(self.writer.write(row, made.final_private[:, lanes]))

    def observe_array(self) -> ArrayObservation:
        """Return `observe` of the last `step_arrays`, as arrays of their own."""
        flat = self.arrays.observation.copy()
        return flat if self.config.observation == "flat" else self.writer.named_arrays(flat)

    def final_observation(self, lanes: NDArray[np.intp]) -> ArrayObservation:
        """Return what lanes (L,) that ended saw at the end of the last `step_arrays`."""
        return self._laid_out_array(self.arrays.final_observation[lanes])

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
            rule = "action masks must be asked of discrete actions"
            remedy = 'Use ActionRules(space="discrete")'
            raise UserError(rule, was=rules.action.space, remedy=remedy)
        return allowed_codes(rules, self._rates, account).T

    def set_costs(self, costs: CostProfile | CostRates | str) -> None:
        """Change what fills cost from the next step on; the step is not compiled again.

        Args:
            costs: A profile for all lanes, its name, or rates () or (B,).

        Raises:
            ConfigError: If they are none of these, or out of range; nothing has changed then.
        """
        self._rates = read_costs(costs, self.n_lanes, dtype=self.dtype, device=self.device)
        if self._native is not None:
            self._native.set_rates(pack_rates(self._rates))

    def _place(self, account: Account, private: Tensor) -> None:
        """Put accounts and private numbers (18, B) in the place of what there is."""
        self._account, self._private = account, private
        if self._native is not None:
            self._native.load(account)
            self._native.private[:] = private.numpy()
            seen = torch.from_numpy(self._native.observation)
            self.writer.write(account.row, private, seen)

    def _laid_out_array(self, flat: NDArray[np.float32]) -> ArrayObservation:
        if self.config.observation == "flat":
            return flat
        return self.writer.named_arrays(flat)

    def _laid_out(self, flat: Tensor) -> TensorObservation:
        return flat if self.config.observation == "flat" else self.writer.named(flat)

    def _starts_of(self, seed: int) -> Starts:
        starts = lay_out_starts(self._possible, self.lanes, self.n_environments, seed)
        self._seed = seed
        if self._native is not None:
            self._native.set_starts(starts)
        return Starts(*(part.to(self.device) for part in starts))
