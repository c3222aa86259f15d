"""Direct gradient: truncated back-propagation through the task, for all agents at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from tradingbot.domain.errors import ConfigError
from tradingbot.learning.action_policy import actor_head, n_numbers, round_action
from tradingbot.learning.device import rate_holder, set_rate
from tradingbot.learning.direct.config import DirectConfig
from tradingbot.learning.direct.folds import FoldedDeviations
from tradingbot.learning.direct.loss import log_growth, objective_of
from tradingbot.learning.generators import make_generator
from tradingbot.learning.learner import Experience, Metrics, Update, experience_of
from tradingbot.learning.learner_state import Part, name_parts
from tradingbot.learning.pretraining.auxiliary_loss import AuxiliaryLoss
from tradingbot.learning.task import Observation, Task, TaskState, TaskStep, members_of
from tradingbot.learning.task_learner import TaskLearner
from tradingbot.networks.distributions import to_simplex
from tradingbot.networks.heads import StackedHead, per_agent
from tradingbot.networks.view import View

_FIRST_CALLS = 1
"""Updates that run as they are before one is captured: an uncompiled one takes seconds."""


class Direct(TaskLearner):
    """Follows the gradient of what is earned, through actions, costs and what is held.

    There is no entropy in what is learned, and learning itself draws nothing: entropy scales
    multiply each agent's `noise`, and only that has another stream to be drawn from.
    """

    name = "direct"
    _STATE = name_parts(
        *("_actor", "view", "_optimiser", "_rate_scale", "steps", "updates"),
        noise="_exploration",
        noise_scale="_entropy_scale",
        task="_state",
    )

    def __init__(
        self,
        task: Task,
        view: View,
        config: DirectConfig,
        *,
        seed: int,
        captured: bool | None = None,
        auxiliary: AuxiliaryLoss | None = None,
    ) -> None:
        """Draw weights and open the task's environments.

        Args:
            task: With numeric actions (a number, a vector in a box, weights on a simplex), and a
                differentiable step.
            view: How rows of the task's table are seen; learns too if it can.
            config: Settings.
            seed: Root of all random streams.
            captured: Replay updates as a CUDA graph; by default on CUDA, unless the view learns
                too.
            auxiliary: A loss beside its own, of the encoder that the view learns; none by default.

        Raises:
            ConfigError: If the actions of the task are codes.
        """
        if task.action.kind == "discrete":
            rule = "actions must be numbers for direct gradients"
            remedy = "Use PPO, or the task with continuous or target actions"
            raise ConfigError(rule, was=task.action.kind, remedy=remedy)
        super().__init__(task, view, auxiliary)
        self.config = config
        sizes = (self._n_agents, view.width + task.n_private, n_numbers(task.action))
        weights = make_generator(seed, "direct", "weights")
        actor = actor_head(*sizes, config.actor, weights, members_of(task))
        self._actor = actor.to(self.device)
        self._acting = {"actor": self._actor}
        self._folds: FoldedDeviations | None = None
        folds = config.fold_bars and config.actor.pooling == "partial"
        if folds and isinstance(self._actor, StackedHead):
            first = make_generator(seed, "direct", "folds")
            self._folds = FoldedDeviations(self._actor, task.n_envs, config.fold_bars, first)
        self._optimiser = self._make_optimiser()
        self._exploration = make_generator(seed, "direct", "noise", device=self.device)
        self._elsewhere: Callable[[], Update] | None = None
        self._captured = self._capture(captured, self._learn, first_calls=_FIRST_CALLS)
        # Where the next chunk begins, in tensors that nothing else writes.
        self._state = tuple(part.clone() for part in self._state)

    @property
    def _stacked(self) -> StackedHead:
        """The actor where agents deviate: one over members of a set has no deviations to fold."""
        assert isinstance(self._actor, StackedHead)
        return self._actor

    @property
    def shrinks_deviations(self) -> bool:
        """Whether deviations are shrunk by how far two folds agree; see `shrinkage.decide`."""
        return self._folds is not None

    def update(self) -> Update:
        """Play `chunk_bars` bars in all environments and follow the gradient once."""
        rate = self.config.learning_rate.at(self.steps) * self._rate_scale
        for group in self._optimiser.param_groups:
            set_rate(group, group["pace"] * rate)
        if self._folds is not None:
            self._folds.begin_update(self._stacked, self.updates)
        made = self._update_weights()
        if self._folds is not None:
            self._folds.end_update(self._stacked)
        self.view.refresh()
        self.steps += self.config.chunk_bars * self.task.n_envs
        self.updates += 1
        return made

    def _update_weights(self) -> Update:
        if self._elsewhere is not None:
            return self._elsewhere()
        return self._learn() if self._captured is None else _copied(self._captured())

    @torch.no_grad()
    def act(self, observation: Observation) -> Tensor:
        """Return actions, (N, B) or (N, B, K), rounded to `act_levels` where there are any."""
        action = self._squashed(self._output(observation, self.view.look(observation.row)))
        return round_action(self.task.action, action, self.config.act_levels)

    @torch.no_grad()
    def sample(self, observation: Observation) -> Tensor:
        """Return actions as they are while learning, unrounded, with `noise` if any."""
        output = self._output(observation, self.view.look(observation.row))
        if self.config.noise:
            drawn = torch.randn(output.shape, generator=self._exploration, device=self.device)
            scale = per_agent(self._entropy_scale, output)
            output = output + self.config.noise * scale * drawn
        return self._squashed(output)

    def learn_with(self, learn: Callable[[], Update] | None) -> None:
        """Let updates be made elsewhere, together with those of other learners; see `joint`."""
        self._elsewhere = learn

    def _learn(self) -> Update:
        """Make one update of the weights; reads and writes tensors that stay where they are."""
        made, growth = self._play()
        worth, loss = self.loss_of(made, growth)
        self.clear_gradients()
        loss.backward()  # type: ignore[no-untyped-call]
        return self.follow(made, growth, worth)

    def loss_of(
        self, made: Sequence[tuple[Tensor, TaskStep]], growth: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return what each agent's chunk was worth, (N,), and the loss, (): of actions and steps.

        Args:
            made: Actions and steps of a chunk.
            growth: (S, N, B) its log growth.
        """
        reward = torch.stack([step.reward for _, step in made])
        worth = objective_of(self.config.objective, growth, reward)
        deviating = self._actor if self._folds is None else self._folds
        lost = self.config.deviation_penalty * deviating.penalty() - worth
        loss = torch.mean(lost * self._agent_weight)
        if self._auxiliary is not None:
            # Where no agent learns any more, nothing that agents share moves.
            loss = loss + self._agent_weight.amax() * self._auxiliary.draw()
        return worth, loss

    @property
    def state_now(self) -> TaskState:
        """Where the next chunk begins."""
        return self._state

    def clear_gradients(self) -> None:
        """Forget the gradients of the update before."""
        self._optimiser.zero_grad(set_to_none=True)

    def follow(
        self, made: Sequence[tuple[Tensor, TaskStep]], growth: Tensor, worth: Tensor
    ) -> Update:
        """Move the weights along their gradients, and go on from where the chunk ended."""
        norm = nn.utils.clip_grad_norm_(
            self._weights(), self.config.max_gradient_norm or float("inf")
        )
        self._optimiser.step()
        experience = experience_of(made)
        metrics = self._metrics(worth, growth, norm, experience)
        if self._auxiliary is not None:
            metrics |= self._auxiliary.take_metrics()
        self._go_on_from(made[-1][1].state)
        return Update(metrics, experience)

    @torch.no_grad()
    def _go_on_from(self, state: TaskState) -> None:
        """Let the next chunk begin where this one ended, without its gradient."""
        for kept, after in zip(self._state, state, strict=True):
            kept.copy_(after)

    def _play(self) -> tuple[list[tuple[Tensor, TaskStep]], Tensor]:
        """Play a chunk with gradients; return actions and steps, and log growth (S, N, B)."""

        def act(seen: Observation) -> Tensor:
            return self._squashed(self._output(seen, self.view(seen.row), folds=self._folds))

        return play_chunk(self.task, self._state, act, self.config.chunk_bars)

    def _output(
        self, observation: Observation, seen: Tensor, folds: FoldedDeviations | None = None
    ) -> Tensor:
        x = torch.cat([seen, observation.private], dim=-1)
        if folds is None:
            output: Tensor = self._actor(x)
        else:
            bar = observation.row % self.task.table.shape[1]
            output = folds.output(self._stacked, x, bar)
        return output if self.task.action.n_components else output.squeeze(-1)

    def _squashed(self, output: Tensor) -> Tensor:
        """Return actions, (N, B) or (N, B, K), of outputs (N, B) or (N, B, O)."""
        space, scaled = self.task.action, self.config.squash_gain * output
        if space.kind == "simplex":
            return to_simplex(scaled)
        return space.low + (space.high - space.low) * torch.sigmoid(scaled)

    def _make_optimiser(self) -> torch.optim.Adam:
        named, config = dict(self._actor.named_parameters()), self.config
        own = [named.pop("deviations")] if "deviations" in named else []
        if self._folds is not None:
            own = [self._folds.z]
        # At the same pace and decay as the rest they stay in its group, as in runs of before.
        apart = config.direction_rate != 1.0 and "directions" in named
        directions = [named.pop("directions")] if apart else []
        shared = [*named.values(), *(p for p in self.view.parameters() if p.requires_grad)]
        shared += self._auxiliary.parameters() if self._auxiliary is not None else ()
        kinds = (
            (shared, config.weight_decay, 1.0),
            (own, 0.0, config.deviation_rate),  # shrunk by `deviation_penalty` instead
            (directions, config.weight_decay, config.direction_rate),
        )
        groups = [
            {"params": weights, "weight_decay": decay, "pace": pace, "lr": rate_holder(self.device)}
            for weights, decay, pace in kinds
            if weights
        ]
        return torch.optim.Adam(groups, fused=True, capturable=self.device.type == "cuda")

    def _parts(self) -> dict[str, Part]:
        parts = super()._parts()
        return parts if self._folds is None else parts | {"folds": self._folds}

    def _weights(self) -> list[Tensor]:
        return [p for group in self._optimiser.param_groups for p in group["params"]]

    @torch.no_grad()
    def _metrics(
        self, worth: Tensor, growth: Tensor, norm: Tensor, experience: Experience
    ) -> Metrics:
        low, high = self.task.action.low, self.task.action.high
        # Components of a vector count like environments.
        place = ((experience.selected - low) / (high - low)).flatten(2)
        return {
            "loss/policy": -worth.detach(),
            "loss/gradient_norm": norm,
            "policy/gini_impurity": (4.0 * place * (1.0 - place)).mean((0, 2)),
            "policy/change": (place[1:] - place[:-1]).abs().mean((0, 2)),
            "policy/deviation": self._actor.penalty(),
            "rollout/growth_bp": 1e4 * growth.mean((0, 2)),
            "rollout/reward": experience.reward.mean((0, 2)),
        }


def play_chunk(
    task: Task, state: TaskState, act: Callable[[Observation], Tensor], n_bars: int
) -> tuple[list[tuple[Tensor, TaskStep]], Tensor]:
    """Play some bars with gradients; return actions and steps, and log growth (S, N, B)."""
    made, growth = [], []
    # Seen anew, as after resuming: a compiled step may round what it shows differently.
    seen, before = task.observe(state), task.wealth(state)
    for _ in range(n_bars):
        action = act(seen)
        step = task.differentiable_step(state, action)
        after = task.wealth(step.state)
        left = torch.where(step.terminated, 1.0 + step.final_return, after)
        growth.append(log_growth(before, left, step.truncated))
        made.append((action, step))
        state, seen, before = step.state, step.observation, after
    return made, torch.stack(growth)


def _copied(made: Update) -> Update:
    """Return a report that the next update does not write over."""
    metrics = {name: value.clone() for name, value in made.metrics.items()}
    return Update(metrics, made.experience.copy())
