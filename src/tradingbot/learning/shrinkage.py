"""How much of what was learned is kept: validation decides, for all agents and for each.

A policy that learned nothing true still trades, and pays for it. A deviation that one agent's data
do not support costs that agent. So the last step of training plays the policy in four forms over
bars it never learned from: not at all (`flat`), without deviations (`shared`), with half of them
(`half`), as it is (`full`). Whatever all agents share without having learned it, such as a market
that rose, says nothing of what they learned: the caller takes it out of what each form earned, and
two questions are asked of the rest, called the judged return:

1. Do agents earn anything at all? The form with the highest mean is the default, if its mean over
   all agents is above zero by `confidence` standard errors. Else all agents stay out.
2. Does this agent differ? Its gain from another form is noisy; all agents together tell how much
   gains differ in truth, of which the lower bound counts. The estimate for one agent is the mean of
   all plus its own difference, shrunk by the share of the truth in it (James & Stein 1961; Efron &
   Morris 1973). The form with the highest estimate is kept.

Standard errors are from means over blocks of bars, taken over all agents at once in (1), so that
neither persistence nor agents that move together make noise look certain. In (2) they are those of
an agent's difference from the mean of all: what moves all agents tells none from another. They
count how blocks remember each other, which all agents together show: a drift that lasts for weeks
makes luck of one agent look like its own doing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import torch
from torch import Tensor, nn

from tradingbot.domain.checks import CheckedFields, bounded
from tradingbot.domain.errors import DataError
from tradingbot.domain.student_t import student_point
from tradingbot.learning.learner import Learner
from tradingbot.learning.task import ActionSpec, Observation, idle_action
from tradingbot.networks.heads import StackedHead, per_agent

FORMS: Mapping[str, float] = {"shared": 0.0, "half": 0.5, "full": 1.0}
"""Form of a policy that trades → what its deviations are multiplied by."""
FORM_WORDS: Mapping[str, str] = {
    "shared": "all alike, without deviations of single agents",
    "half": "with shrinkage 0.5 of each agent's deviation",
    "full": "as learned, with all of each agent's deviation",
}
"""What the forms mean, in words."""
FLAT = "flat"
_ROUNDING = 1e-12
"""Mean return of a bar below which there is rounding, such as the alpha of always holding."""
_FIXED_POINT_ROUNDS = 4
"""Rounds in which the variance of a mean and the autocovariances that it lowers settle."""
Act = Callable[[Observation], Tensor]


class Earned(NamedTuple):
    """What one form of a policy earned in S bars, (S, N) simple returns of N agents."""

    judged: Tensor
    """What is theirs: without what all share whatever they do."""
    net: Tensor
    """Everything, net of costs."""


Play = Callable[[Act], Earned]
"""Plays a policy over validation bars."""


@dataclass(frozen=True)
class ShrinkageConfig(CheckedFields):
    """How sure one must be."""

    confidence: float = bounded(2.0, ">= 0")
    """Standard errors by which the mean over agents must be above zero for agents to trade; with
    few blocks more, as Student's distribution asks."""
    block_bars: int = bounded(24, ">= 1")
    """Bars per block whose means standard errors are taken from."""


@dataclass(frozen=True, eq=False)
class Shrinkage:
    """What validation decided for N agents."""

    trades: Tensor
    """(N,) bool, which agents trade at all."""
    scale: Tensor
    """(N,) what deviations are multiplied by; 0 for those that stay out."""
    default: str
    """The form that is best for all together; `flat` if none earns anything."""
    gain: Mapping[str, float]
    """Form → mean judged return over all agents and bars."""
    error: Mapping[str, float]
    """Form → standard error of that mean."""
    errors_needed: float = 2.0
    """Standard errors above 0 that the mean must exceed before any agent trades."""
    net: Mapping[str, float] = field(default_factory=dict)
    """Form → mean net return; shown beside the judged one, and no way in."""
    judged_on: str = "validation"
    """The bars, in words."""
    judged_by: str = ""
    """What the judged return is, in words; empty where it is the net return itself."""
    form_words: Mapping[str, str] = field(default_factory=lambda: FORM_WORDS)
    """Form → what it means, in words."""

    @property
    def words(self) -> str:
        """The decision in one sentence."""
        n, form = len(self.trades), self.default
        if form == FLAT:
            best = max(self.gain, key=lambda form: self.gain[form])
            who = "the agent stays out" if n == 1 else f"all {n} agents stay out"
            return f"{who}: at best ({self.form_words[best]}) {self._figure(best)}"
        if n == 1:
            return f"the agent trades, {self.form_words[form]}: {self._figure(form)}"
        who = f"{int(self.trades.sum())} of {n} agents trade, most of them {self.form_words[form]}"
        return f"{who}: all together {self._figure(form)}"

    def _figure(self, form: str) -> str:
        who, of = ("it" if len(self.trades) == 1 else "they"), f" of {self.judged_by}"
        earned = f"{who} earned {1e4 * self.gain[form]:.2f} ± {1e4 * self.error[form]:.2f} bp"
        bars = f"per bar{of if self.judged_by else ''} on {self.judged_on}"
        limit = f"to trade, the mean must be more than {self.errors_needed:.1f} of them above 0"
        beside = f"; net {1e4 * self.net[form]:.2f} bp" if form in self.net else ""
        return f"{earned} {bars} (± is one standard error; {limit}{beside})"


def shrink(returns: Mapping[str, Tensor], config: ShrinkageConfig) -> Shrinkage:
    """Decide from what each form earned in validation.

    Args:
        returns: Form of `FORMS` → (S, N) judged simple return of each bar and agent; being flat
            earns nothing. Forms that are not there are not considered.
        config: How sure one must be.

    Raises:
        DataError: If there is no form, shapes disagree, or there are fewer than eight blocks.
    """
    blocks = {
        form: _block_means(returns[form], config.block_bars) for form in FORMS if form in returns
    }
    _check(returns, blocks)
    gain = {form: float(means.mean()) for form, means in blocks.items()}
    error = {form: float(_standard_error(means.mean(1))) for form, means in blocks.items()}
    default = max(gain, key=lambda form: gain[form])
    errors_needed = student_point(config.confidence, len(blocks[default]) - 1)
    if not gain[default] > max(errors_needed * error[default], _ROUNDING):
        default = FLAT
    choice, names = _choose(blocks, default, config.confidence), (FLAT, *blocks)
    scales = torch.tensor([0.0, *(FORMS[form] for form in blocks)], device=choice.device)
    trades = choice != names.index(FLAT)
    return Shrinkage(trades, scales[choice], default, gain, error, errors_needed)


def decide(learner: Learner, play: Play, config: ShrinkageConfig) -> Shrinkage:
    """Play each form of a learner's deterministic policy over validation bars, and decide.

    Args:
        learner: Trained; its weights are the same afterwards. One that shrank its deviations while
            learning says so in an attribute `shrinks_deviations`, and `half` is not considered.
        play: Over bars that it did not learn from and will not be tested on; agents as its own.
        config: How sure one must be.
    """
    networks, n_agents = learner.networks(), len(learner.task.agent_names)
    partial = bool(list(_deviations(networks)))
    halves = partial and not getattr(learner, "shrinks_deviations", False)  # once is enough
    earned = {}
    for form, scale in FORMS.items():
        if form == "full" or (halves if form == "half" else partial):
            with scaled_deviations(networks, torch.full((n_agents,), scale)):
                earned[form] = play(learner.act)
    found = shrink({form: each.judged for form, each in earned.items()}, config)
    return replace(found, net={form: float(each.net.mean()) for form, each in earned.items()})


def apply(networks: Mapping[str, nn.Module], shrinkage: Shrinkage) -> None:
    """Multiply the deviations of each agent for good."""
    with torch.no_grad():
        for deviations in _deviations(networks):
            deviations.mul_(shrinkage.scale.to(deviations.device)[:, None])


def staying_out(act: Act, trades: Tensor, action: ActionSpec) -> Act:
    """Return a policy in which agents that do not trade (N,) do nothing.

    They want the numbers nearest to 0, choose code 0, or keep all in the last weight.
    """

    def act_or_stay_out(observation: Observation) -> Tensor:
        chosen = act(observation)
        idle = idle_action(action, observation.row, chosen.dtype)
        return torch.where(per_agent(trades, chosen), chosen, idle)

    return act_or_stay_out


@contextmanager
def scaled_deviations(networks: Mapping[str, nn.Module], scale: Tensor) -> Iterator[None]:
    """Multiply the deviations of each agent (N,) in the block; afterwards they are as before."""
    before = [(deviations, deviations.detach().clone()) for deviations in _deviations(networks)]
    try:
        with torch.no_grad():
            for deviations, _ in before:
                deviations.mul_(scale.to(deviations.device)[:, None])
        yield
    finally:
        with torch.no_grad():
            for deviations, kept in before:
                deviations.copy_(kept)


def _deviations(networks: Mapping[str, nn.Module]) -> Iterator[nn.Parameter]:
    for network in networks.values():
        for module in network.modules():
            if isinstance(module, StackedHead) and module.config.pooling == "partial":
                yield module.deviations


def _choose(blocks: Mapping[str, Tensor], default: str, confidence: float) -> Tensor:
    """Return for each agent the number of its form: 0 flat, then as in `blocks`; (N,) int64."""
    n_agents = next(iter(blocks.values())).shape[1]
    if default == FLAT:
        return torch.zeros(n_agents, dtype=torch.int64)
    flat = torch.zeros_like(blocks[default])
    # The default comes first: ties, such as forms that do the same, go to it.
    order = [default, FLAT, *(form for form in blocks if form != default)]
    gains = (blocks.get(form, flat) - blocks[default] for form in order)
    numbers = torch.tensor([(FLAT, *blocks).index(form) for form in order])
    estimates = torch.stack([_estimate(gain, confidence) for gain in gains])
    return numbers[estimates.argmax(0).cpu()]


def _estimate(difference: Tensor, confidence: float) -> Tensor:
    """Estimate each agent's true mean (N,) from block means (K, N), with the help of all others."""
    own, n_agents = difference.mean(0), difference.shape[1]
    if n_agents == 1:
        return own
    # What all agents share is in everyone's error and in no one's difference from the others.
    apart = difference - difference.mean(1, keepdim=True)
    squared_error = _standard_error(apart).square() * (n_agents / (n_agents - 1)) * _memory(apart)
    # The variance of N means is itself uncertain: its lower bound counts.
    sure = max(0.0, 1.0 - confidence * math.sqrt(2.0 / (n_agents - 1)))
    truth = (sure * own.var() - squared_error.mean()).clamp_min(0.0)
    share = truth / (truth + squared_error).clamp_min(torch.finfo(own.dtype).tiny)
    return own.mean() + share * (own - own.mean())


def _memory(means: Tensor) -> float:
    """Return by how much remembering raises the squared error of a mean over blocks (K, N); ≥ 1.

    1 + 2 Σ ρ_k with the autocorrelations of all agents together, up to the first that is not above
    0. A mean over K blocks is subtracted, which lowers each autocovariance by the variance of that
    mean; it is added again.
    """
    n_blocks = len(means)
    centred = means - means.mean(0)
    products = [
        float((centred[: n_blocks - lag] * centred[lag:]).sum()) / means.numel()
        for lag in range(n_blocks // 4 + 1)
    ]
    if products[0] <= 0.0:
        return 1.0
    of_mean = products[0] / n_blocks
    for _ in range(_FIXED_POINT_ROUNDS):
        total = own = products[0] + of_mean
        for lag, product in enumerate(products[1:], start=1):
            covariance = product + of_mean * (1.0 - lag / n_blocks)
            if covariance <= 0.0:
                break
            total += 2.0 * covariance
        of_mean = total / n_blocks
    return total / own


def _block_means(returns: Tensor, block_bars: int) -> Tensor:
    """Average (S, N) over blocks, (K, N) float64 on the CPU; bars that fill no block are first."""
    n_blocks = len(returns) // block_bars
    kept = returns[len(returns) - n_blocks * block_bars :].double().cpu()
    return kept.view(n_blocks, block_bars, -1).mean(1)


def _standard_error(means: Tensor) -> Tensor:
    """Return the standard error of the mean over blocks (K, …)."""
    return means.std(0) / math.sqrt(len(means))


def _check(returns: Mapping[str, Tensor], blocks: Mapping[str, Tensor]) -> None:
    shapes = {tuple(values.shape) for values in returns.values()}
    if len(shapes) != 1 or set(returns) - set(FORMS):
        rule = f"returns must be of forms {', '.join(FORMS)}, all of one shape"
        raise DataError(rule, was=f"{', '.join(returns) or 'none'}; {', '.join(map(str, shapes))}")
    if min(len(means) for means in blocks.values()) < 8:
        rule = "validation must have eight blocks of bars or more"
        remedy = "Use more bars, or a shorter block_bars"
        raise DataError(rule, was=f"{next(iter(shapes))[0]} bars", remedy=remedy)
