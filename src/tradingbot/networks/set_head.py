"""A head that does not care about the order of what it compares: deep sets with attention.

Every member of a set is read by the same weights, all members are pooled by their mean and by an
attention that weighs them, and the same weights give each member its outputs from what it is and
what all are together:

    h_m = act(A · member_m + B · shared)           attention a_m = softmax_m(q · h_m)
    z_m = act(C · h_m + D · (mean h, Σ a_m h_m))   output_m = E · z_m

Swap two members and their outputs swap, nothing else: deep sets, Zaheer et al. 2017; pooling by
attention, Lee et al. 2019.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.heads import ACTIVATIONS
from tradingbot.networks.initialisation import draw_weight
from tradingbot.networks.member_inputs import MemberInputs

_HIDDEN_GAIN = 2.0**0.5


class SetHead(nn.Module):
    """(1, B, I) → (1, B, M · O), or (1, B, O) of all members together where it is pooled.

    Outputs lie side by side: output 0 of all members, then output 1 of all. It has the parts of a
    `StackedHead` that learners ask for; one agent alone has it, and there are no deviations.
    """

    n_agents = 1
    own_names: tuple[str, ...] = ()

    def __init__(
        self,
        inputs: MemberInputs,
        n_inputs: int,
        n_outputs: int,
        config: HeadConfig,
        generator: torch.Generator,
        *,
        pooled: bool = False,
    ) -> None:
        """Draw weights from a CPU generator; move the module to a device afterwards.

        Args:
            inputs: Which inputs are of members.
            n_inputs: I.
            n_outputs: O, of each member; of all together where `pooled`.
            config: The first hidden width is of h, the last of z; how agents share is not read.
            generator: Of the first weights.
            pooled: Give one answer for the set, e.g. its value, which no order changes.
        """
        super().__init__()
        self.inputs, self.config, self.pooled = inputs, config, pooled
        self.n_outputs = n_outputs if pooled else n_outputs * inputs.n_members
        self._shared = inputs.shared_columns(n_inputs)
        first, last = config.hidden[0], config.hidden[-1]

        def draw(fan_in: int, fan_out: int, gain: float) -> nn.Parameter:
            return nn.Parameter(
                draw_weight(config.initialisation, fan_in, fan_out, generator, gain)
            )

        self.weights = nn.ParameterList(
            [
                draw(inputs.member_width, first, _HIDDEN_GAIN),
                draw(max(1, inputs.shared_width(n_inputs)), first, _HIDDEN_GAIN),
                draw(first, 1, config.output_gain),
                draw(first, last, _HIDDEN_GAIN),
                draw(2 * first, last, _HIDDEN_GAIN),
                draw(last, n_outputs, config.output_gain),
            ]
        )
        widths = (first, last, n_outputs)
        self.biases = nn.ParameterList([nn.Parameter(torch.zeros(width)) for width in widths])

    def forward(self, x: Tensor) -> Tensor:
        """Map inputs (…, I) to outputs (…, M · O), or (…, O) where pooled."""
        activation = ACTIVATIONS[self.config.activation]
        member, shared, query, own, together, out = self.weights
        first, second, last = self.biases
        members, others = self._divide(x)
        h = activation(members @ member + (others @ shared + first).unsqueeze(-2))
        attention = torch.softmax(h @ query, dim=-2)
        pooled = torch.cat([h.mean(-2), (attention * h).sum(-2)], dim=-1)
        z = activation(h @ own + (pooled @ together + second).unsqueeze(-2))
        answers: Tensor = (z.mean(-2) if self.pooled else z) @ out + last
        return answers if self.pooled else answers.transpose(-1, -2).flatten(-2)

    def penalty(self) -> Tensor:
        """Return 0, (1,): nothing deviates."""
        return torch.zeros(1, device=self.weights[0].device)

    def _divide(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return numbers of members (…, M, W) and shared ones (…, S), at least a zero."""
        n = self.inputs.n_members
        spans = [
            x[..., first : first + width * n].reshape(*x.shape[:-1], n, width)
            for first, width in self.inputs.spans
        ]
        shared = [x[..., first:end] for first, end in self._shared]
        others = torch.cat(shared, dim=-1) if shared else torch.zeros_like(x[..., :1])
        return torch.cat(spans, dim=-1), others
