"""What a policy does where its actions are drawn, at a temperature, instead of taken at their best.

A policy that collapsed looks decided; drawn at a high temperature it shows whether any other action
is within its reach.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.agents.network_policy import NetworkPolicy, by_agent
from tradingbot.agents.policy import Policy, PolicyInputs
from tradingbot.data.splits import IndexRange
from tradingbot.envs.population.layout import action_spec
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.analyses.settings import PolicyAnalysisSettings
from tradingbot.evaluation.backtest import PolicyUnderTest
from tradingbot.evaluation.dossier.analysis import SampledActions
from tradingbot.learning.generators import make_generator
from tradingbot.learning.playing import action_histogram
from tradingbot.networks.distributions import MaskedCategorical, SquashedGaussian

FloatArray = NDArray[np.float64]
_LEAST_SHARE = 0.01
"""Of an agent's actions that must lie in a bin for it to be covered."""
_BASIS_POINTS = 1e4
_DRAWN_OUTPUTS = 2
"""Of an actor whose numbers are drawn: a mean and a raw deviation."""


class SampledPolicy:
    """A policy of N agents whose actions are drawn; account i is agent i mod N's."""

    def __init__(
        self, policy: NetworkPolicy, temperature: float, generator: torch.Generator
    ) -> None:
        """Draw from what a policy's actor says.

        Args:
            policy: Of codes, or of numbers with a deviation; see `draws_actions`.
            temperature: Densities are raised to 1 ÷ this: preferences of codes are divided by it,
                variances of numbers before squashing multiplied. 1 is as it learned.
            generator: On the CPU.
        """
        self._policy, self._temperature, self._generator = policy, temperature, generator

    @torch.no_grad()
    def __call__(self, seen: PolicyInputs) -> Tensor:
        """Return drawn actions (B,); agents that stay out want nothing."""
        drawn = torch.where(self._policy.trades, self._draw(self._policy.outputs(seen), seen), 0)
        return drawn.T.reshape(-1).to(seen.private.dtype)

    def _draw(self, output: Tensor, seen: PolicyInputs) -> Tensor:
        """Return actions (N, k) of outputs (N, k, O)."""
        squash = self._policy.squash
        if squash is None:
            assert seen.allowed is not None  # the backtest of the same rules asked for it
            allowed = by_agent(seen.allowed, len(output)).movedim(0, -1)
            scaled = output / self._temperature
            return MaskedCategorical.of(scaled, allowed).sample(self._generator)
        mean, raw = output.unbind(-1)
        usual = SquashedGaussian.of(mean, raw, squash.low, squash.high)
        wider = usual._replace(log_std=usual.log_std + 0.5 * math.log(self._temperature))
        return wider.squash(wider.sample(self._generator))


def draws_actions(policy: Policy) -> bool:
    """Whether a policy says how its actions are drawn: codes, or numbers with a deviation."""
    if not isinstance(policy, NetworkPolicy):
        return False
    return policy.squash is None or policy.actor.n_outputs == _DRAWN_OUTPUTS


def measure_sampled_actions(
    subject: EvaluatedRun, settings: PolicyAnalysisSettings, histogram: FloatArray
) -> SampledActions | str:
    """Let agents trade the test part once with drawn actions, in episodes one after another.

    Args:
        subject: The run.
        settings: Temperature, episodes, bins.
        histogram: (bins,) of deterministic actions, for their coverage beside.

    Returns:
        What was found, or why there is nothing: no agent trades, or actions are not drawn.
    """
    policy = subject.policy
    if not draws_actions(policy):
        return f"learner {subject.config.learner.name} draws no actions at a temperature"
    assert isinstance(policy, NetworkPolicy)
    trading = policy.trades[:, 0].numpy()
    if not trading.any():
        return "no agent trades"
    generator = make_generator(subject.run.record.seeds["root"], "evaluation", "sampled")
    sampled = SampledPolicy(policy, settings.temperature, generator)
    actions, returns = [], []
    for bars in episodes_of(subject.bars("test"), settings.sampled_episodes):
        (played,) = subject.backtest_all([PolicyUnderTest("sampled", sampled)], bars)
        actions.append(played.action[:, trading])
        returns.append(played.returns[:, trading])
    spec = action_spec(subject.config.task.rules)
    shares = action_histogram(
        torch.from_numpy(np.concatenate(actions))[..., None], spec, settings.n_bins
    ).numpy()
    return SampledActions(
        temperature=settings.temperature,
        episodes=len(actions),
        histogram=tuple(shares.mean(axis=0).tolist()),
        coverage_frac=coverage(shares),
        deterministic_coverage_frac=coverage(histogram[None]),
        net_bps=float(np.concatenate(returns).mean()) * _BASIS_POINTS,
    )


def coverage(shares: FloatArray) -> float:
    """Return the share of bins that hold 1 % or more of an agent's actions, mean over agents.

    Args:
        shares: (N, bins) of each agent's actions.
    """
    return float((shares >= _LEAST_SHARE).mean())


def episodes_of(bars: IndexRange, count: int) -> list[IndexRange]:
    """Cut bars into so many stretches, one after another, as even as can be; never below 8 bars."""
    count = max(1, min(count, len(bars) // 8))
    edges = np.linspace(bars.start, bars.stop, count + 1).astype(int).tolist()
    return [IndexRange(first, last) for first, last in pairwise(edges)]
