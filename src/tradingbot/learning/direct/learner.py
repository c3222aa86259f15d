"""Direct gradient: truncated back-propagation through the task, for all agents at once."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from tradingbot.domain.errors import ConfigError
from tradingbot.learning.action_policy import n_numbers, round_action
from tradingbot.learning.captured import CapturedStep, rate_holder, set_rate
from tradingbot.learning.direct.config import DirectConfig
from tradingbot.learning.direct.loss import log_growth, objective_of
from tradingbot.learning.generators import begin_another, make_generator
from tradingbot.learning.learner import Experience, Metrics, Update, experience_of
from tradingbot.learning.learner_state import Part, collect_state, restore_state
from tradingbot.learning.task import Observation, Task, TaskState, TaskStep
from tradingbot.networks.distributions import to_simplex
from tradingbot.networks.heads import StackedHead
from tradingbot.networks.view import View

_FIRST_CALLS = 1
"""Updates that run as they are before one is captured: an uncompiled one takes seconds."""


class Direct:
    """Follows the gradient of what is earned, through actions, costs and what is held."""

    name = "direct"

    def __init__(
        self,
        task: Task,
        view: View,
        config: DirectConfig,
        *,
        seed: int,
        captured: bool | None = None,
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

        Raises:
            ConfigError: If the actions of the task are codes.
        """
        if task.action.kind == "discrete":
            raise ConfigError(
                "actions must be numbers for direct gradients",
                was=task.action.kind,
                remedy="Use PPO, or the task with continuous or target actions",
            )
        self.task, self.config, self.steps, self.updates = task, config, 0, 0
        self._view = view
        self._device = device = task.table.device
        n_agents = len(task.agent_names)
        weights = make_generator(seed, "direct", "weights")
        n_inputs = view.width + task.n_private
        n_outputs = n_numbers(task.action)
        self._actor = StackedHead(n_agents, n_inputs, n_outputs, config.actor, weights).to(device)
        self._optimiser = self._make_optimiser()
        self._noise = make_generator(seed, "direct", "noise", device=device)
        self._noise_scale = torch.ones(n_agents, device=device)
        self._agent_weight = torch.ones(n_agents, device=device)
        self._rate_scale = 1.0
        self._captured = self._make_captured(captured)
        self._stand_at(task.begin()[0])

    def update(self) -> Update:
        """Play `chunk_bars` bars in all environments and follow the gradient once."""
        for group in self._optimiser.param_groups:
            set_rate(group, self.config.learning_rate.at(self.steps) * self._rate_scale)
        made = self._learn() if self._captured is None else _copied(self._captured())
        self._view.refresh()
        self.steps += self.config.chunk_bars * self.task.n_envs
        self.updates += 1
        return made

    @torch.no_grad()
    def act(self, observation: Observation) -> Tensor:
        """Return actions, (N, B) or (N, B, K), rounded to `act_levels` where there are any."""
        action = self._squashed(self._output(observation, self._view.look(observation.row)))
        return round_action(self.task.action, action, self.config.act_levels)

    @torch.no_grad()
    def sample(self, observation: Observation) -> Tensor:
        """Return actions as they are while learning, unrounded, with `noise` if any."""
        output = self._output(observation, self._view.look(observation.row))
        if self.config.noise:
            drawn = torch.randn(output.shape, generator=self._noise, device=self._device)
            scale = self._noise_scale.view(-1, *[1] * (output.dim() - 1))
            output = output + self.config.noise * scale * drawn
        return self._squashed(output)

    def networks(self) -> Mapping[str, nn.Module]:
        """Return the actor, and the view where it has weights."""
        acting: dict[str, nn.Module] = {"actor": self._actor}
        return acting | ({"view": self._view} if list(self._view.parameters()) else {})

    def state(self) -> dict[str, Tensor]:
        """Everything that resuming needs."""
        return collect_state(self._parts())

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Continue from what `state` returned.

        Raises:
            ConfigError: If a tensor is missing, superfluous, or of another shape or format.
        """
        values = restore_state(self._parts(), state)
        self.steps, self.updates = values["steps"], values["updates"]
        self._noise_scale, self._rate_scale = values["noise_scale"], values["rate_scale"]
        self._stand_at(values["task"])
        if self._captured is not None:
            self._captured.forget()  # the optimiser's tensors are others now
        self._view.refresh()

    def set_entropy_scale(self, scale: Tensor) -> None:
        """Multiply each agent's `noise`, (N,); there is no entropy in what is learned."""
        self._noise_scale = scale.to(self._device, torch.float32, copy=True)

    def set_learning_rate_scale(self, scale: float) -> None:
        """Multiply the learning rate."""
        self._rate_scale = scale

    def set_agent_weight(self, weight: Tensor) -> None:
        """Multiply each agent's loss, (N,)."""
        self._agent_weight.copy_(weight)

    def explore_anew(self, number: int) -> None:
        """Draw `noise` from another stream; learning itself draws nothing."""
        begin_another(self._noise, number)

    def _learn(self) -> Update:
        """Make one update of the weights; reads and writes tensors that stay where they are."""
        made, growth = self._play()
        reward = torch.stack([step.reward for _, step in made])
        worth = objective_of(self.config.objective, growth, reward)
        lost = self.config.deviation_penalty * self._actor.penalty() - worth
        loss = torch.mean(lost * self._agent_weight)
        self._optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        norm = nn.utils.clip_grad_norm_(
            self._weights(), self.config.max_gradient_norm or float("inf")
        )
        self._optimiser.step()
        experience = experience_of(made)
        metrics = self._metrics(worth, growth, norm, experience)
        self._go_on_from(made[-1][1].state)
        return Update(metrics, experience)

    def _stand_at(self, state: TaskState) -> None:
        """Keep where the next chunk begins, in tensors that nothing else writes."""
        self._state = tuple(part.clone() for part in state)

    @torch.no_grad()
    def _go_on_from(self, state: TaskState) -> None:
        """Let the next chunk begin where this one ended, without its gradient."""
        for kept, after in zip(self._state, state, strict=True):
            kept.copy_(after)

    def _make_captured(self, captured: bool | None) -> CapturedStep[Update] | None:
        view_learns = any(p.requires_grad for p in self._view.parameters())
        able = self._device.type == "cuda" and not view_learns
        if not (able if captured is None else captured):
            return None
        return CapturedStep(self._learn, (), self._device, first_calls=_FIRST_CALLS)

    def _play(self) -> tuple[list[tuple[Tensor, TaskStep]], Tensor]:
        """Play a chunk with gradients; return actions and steps, and log growth (S, N, B)."""
        made, growth = [], []
        # Seen anew, as after resuming: a compiled step may round what it shows differently.
        state, seen = self._state, self.task.observe(self._state)
        before = self.task.wealth(state)
        for _ in range(self.config.chunk_bars):
            action = self._squashed(self._output(seen, self._view(seen.row)))
            step = self.task.differentiable_step(state, action)
            after = self.task.wealth(step.state)
            left = torch.where(step.terminated, 1.0 + step.final_return, after)
            growth.append(log_growth(before, left, step.truncated))
            made.append((action, step))
            state, seen, before = step.state, step.observation, after
        return made, torch.stack(growth)

    def _output(self, observation: Observation, seen: Tensor) -> Tensor:
        x = torch.cat([seen, observation.private], dim=-1)
        output: Tensor = self._actor(x)
        return output if self.task.action.n_components else output.squeeze(-1)

    def _squashed(self, output: Tensor) -> Tensor:
        """Return actions, (N, B) or (N, B, K), of outputs (N, B) or (N, B, O)."""
        space, scaled = self.task.action, self.config.squash_gain * output
        if space.kind == "simplex":
            return to_simplex(scaled)
        return space.low + (space.high - space.low) * torch.sigmoid(scaled)

    def _make_optimiser(self) -> torch.optim.Adam:
        decay = self.config.weight_decay
        own = {"deviations"}  # shrunk by `deviation_penalty` instead
        shared = [p for name, p in self._actor.named_parameters() if name not in own]
        shared += [p for p in self._view.parameters() if p.requires_grad]
        deviations = [p for name, p in self._actor.named_parameters() if name in own]
        rate, on_gpu = rate_holder(self._device), self._device.type == "cuda"
        groups = [{"params": shared, "weight_decay": decay}]
        groups += [{"params": deviations, "weight_decay": 0.0}] if deviations else []
        return torch.optim.Adam(groups, lr=rate, fused=True, capturable=on_gpu)

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

    def _parts(self) -> dict[str, Part]:
        return {
            "actor": self._actor,
            "view": self._view,
            "optimiser": self._optimiser,
            "noise": self._noise,
            "noise_scale": self._noise_scale,
            "rate_scale": self._rate_scale,
            "task": self._state,
            "steps": self.steps,
            "updates": self.updates,
        }


def _copied(made: Update) -> Update:
    """Return a report that the next update does not write over."""
    metrics = {name: value.clone() for name, value in made.metrics.items()}
    return Update(metrics, Experience(*(part.clone() for part in made.experience)))
