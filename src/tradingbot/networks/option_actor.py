"""Two heads that act by options: one chooses among those available, one corrects what they propose.

The controller sees what agents see; the low level sees besides which option is followed, for how
long, and what it proposes. The action is the proposal plus up to `reach` times the correction.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from tradingbot.networks.distributions import MaskedCategorical
from tradingbot.networks.options import OptionRun, Options

N_EXTRA_INPUTS = 2
"""Inputs of the low level beside one per option: time under it, and its proposal."""


class ActionRange(NamedTuple):
    """Numbers that an action may be."""

    low: float
    high: float


def option_inputs(options: Options, run: OptionRun, proposal: Tensor) -> Tensor:
    """Return what the low level sees of an option, (N, B, O + 2).

    One-hot number, elapsed ÷ timeout, proposal.
    """
    chosen = functional.one_hot(run.option, len(options.names)).to(proposal.dtype)
    elapsed = run.elapsed.to(proposal.dtype) / options.timeout
    return torch.cat([chosen, torch.stack([elapsed, proposal], dim=-1)], dim=-1)


def choose_options(
    options: Options,
    preference: Tensor,
    row: Tensor,
    private: Tensor,
    run: OptionRun,
    is_new: Tensor,
    generator: torch.Generator | None = None,
) -> OptionRun:
    """Return the runs after new options were chosen where they must be.

    Args:
        options: What can be chosen.
        preference: (N, B, O) of the controller.
        row: (N, B)
        private: (N, B, P)
        run: So far.
        is_new: (N, B) bool, where an option must be chosen.
        generator: Draws by preference; None takes the most preferred one.
    """
    policy = MaskedCategorical.of(preference, options.available(row, private))
    code = policy.mode() if generator is None else policy.sample(generator)
    mark = options.mark(row, private).to(run.mark.dtype)
    return OptionRun(code, torch.zeros_like(code), mark).where(is_new, run)


def corrected(proposal: Tensor, number: Tensor, reach: float, within: ActionRange) -> Tensor:
    """Return actions (N, B): proposals plus corrections (N, B) in [−1, 1] times their reach."""
    return (proposal + reach * number).clamp(within.low, within.high)
