"""What curiosity predicts with: an encoder, a forward and an inverse model of N agents.

The encoder learns by the inverse model alone: it keeps what agents can influence, and noise of the
market that no action moves is nothing to be curious about. The forward model learns on features as
they are.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from tradingbot.learning.action_policy import n_numbers
from tradingbot.learning.curiosity.config import CuriosityConfig
from tradingbot.learning.task import ActionSpec
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.heads import StackedHead


class CuriosityLosses(NamedTuple):
    """Of a batch, (N,) each."""

    forward: Tensor
    """Mean over features of half the squared error; no gradient towards the encoder."""
    inverse: Tensor
    """Cross-entropy of codes in nats, or mean squared error of numbers scaled to [−1, 1]."""


class CuriosityModel(nn.Module):
    """Predicts features of what follows, and the action that led there, for N agents at once."""

    def __init__(
        self,
        n_agents: int,
        n_inputs: int,
        action: ActionSpec,
        config: CuriosityConfig,
        generator: torch.Generator,
    ) -> None:
        """Draw weights from a CPU generator; move the module to a device afterwards."""
        super().__init__()
        self.action, width = action, config.n_features
        self.n_action = action.n_actions or n_numbers(action)
        head = HeadConfig(
            hidden=config.hidden, activation="relu", pooling=config.pooling, output_gain=1.0
        )

        def stack(n_in: int, n_out: int) -> StackedHead:
            return StackedHead(n_agents, n_in, n_out, head, generator)

        self.encoder = stack(n_inputs, width)
        self.forward_model = stack(width + self.n_action, width)
        self.inverse_model = stack(2 * width, self.n_action)

    def error(self, before: Tensor, action: Tensor, after: Tensor) -> Tensor:
        """Return ½ ‖predicted − actual features‖² (N, M).

        Args:
            before: (N, M, I) observations.
            action: (N, M) codes or numbers, or (N, M, K), as the task got them.
            after: (N, M, I) what followed.
        """
        features, target = self.encoder(before), self.encoder(after)
        square: Tensor = self._half_square(features, self._written(action), target)
        return square.sum(-1)

    def losses(self, before: Tensor, action: Tensor, after: Tensor) -> CuriosityLosses:
        """Return both losses of a batch, with gradients; arguments as `error`."""
        features, target = self.encoder(before), self.encoder(after)
        written = self._written(action)
        forward = self._half_square(features.detach(), written, target.detach()).mean((1, 2))
        guessed = self.inverse_model(torch.cat([features, target], dim=-1))
        if self.action.kind == "discrete":
            missed = functional.cross_entropy(guessed.mT, action.long(), reduction="none")
            return CuriosityLosses(forward, missed.mean(1))
        return CuriosityLosses(forward, (guessed - written).square().mean((1, 2)))

    def _half_square(self, features: Tensor, written: Tensor, target: Tensor) -> Tensor:
        predicted: Tensor = self.forward_model(torch.cat([features, written], dim=-1))
        return 0.5 * (predicted - target).square()

    def _written(self, action: Tensor) -> Tensor:
        """Return actions as models read them, (N, M, A): one of A codes, or numbers in [−1, 1]."""
        if self.action.kind == "discrete":
            return functional.one_hot(action.long(), self.n_action).to(torch.float32)
        low, high = self.action.low, self.action.high
        numbers = action if self.action.n_components else action[..., None]
        if self.action.kind == "simplex":
            numbers = numbers[..., : self.n_action]  # the last weight is what is left over
        return (numbers - low) * (2.0 / (high - low)) - 1.0
