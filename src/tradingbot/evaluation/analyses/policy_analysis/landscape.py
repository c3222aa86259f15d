"""What the critic expects of states, by two axes: a signal and the position, or two signals."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from tradingbot.envs.population.layout import market_table
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.analyses.policy_analysis import measure
from tradingbot.evaluation.analyses.policy_analysis.states import OWN, States, ask_by_agent
from tradingbot.evaluation.analyses.settings import PolicyAnalysisSettings
from tradingbot.evaluation.dossier.analysis import StatePlane
from tradingbot.learning.learner_state import tensors_below
from tradingbot.networks.embedding import embed_table
from tradingbot.runs.loading import latest_good
from tradingbot.runs.policy import StoredPolicy

_SIZE = f"{OWN}size"
_LEARNER = "learner/"
"""What the names of a learner's own tensors begin with in a checkpoint that training resumes."""


def measure_landscape(
    subject: EvaluatedRun,
    loaded: StoredPolicy,
    states: States,
    signals: tuple[str, ...],
    settings: PolicyAnalysisSettings,
) -> StatePlane | str:
    """Ask the critic what states are worth, or say why it cannot be asked.

    Where agents see the size of their position, every state is asked with each position in turn,
    and values are averaged by quantile of the first signal. Where they do not, states are asked as
    they were met, and averaged by quantiles of the first two.

    Args:
        subject: The run.
        loaded: Its selected policy.
        states: M states of agents that trade.
        signals: Inputs that the action follows most, none of them private.
        settings: Of the analysis.
    """
    learner = subject.config.learner
    stored = _critic_tensors(subject, loaded)
    if isinstance(stored, str):
        return stored
    if not signals:
        return "the action follows no input of the market"
    n_agents = len(subject.data.world.symbols)
    critic = learner.spec.critic(learner.settings, stored, n_agents)
    inputs = torch.cat([_embedded(subject, loaded, states), states.private], dim=-1)

    def value() -> measure.FloatArray:
        return np.asarray(ask_by_agent(critic, inputs, states.agent, n_agents).double())

    if _SIZE not in states.names:
        if len(signals) == 1:
            return "agents do not see their position, and the action follows one input alone"
        columns = states.column(signals[0]), states.column(signals[1])
        return measure.state_plane(signals[:2], columns, value(), settings.landscape_bins)
    own = [name for name in states.names if name.startswith(OWN)]
    size = inputs.shape[-1] - len(own) + own.index(_SIZE)
    low = -1.0 if subject.config.task.rules.limits.allow_short else 0.0
    positions, by_position = np.linspace(low, 1.0, settings.landscape_bins), []
    for position in positions:
        inputs[:, size] = float(position)
        by_position.append(value())
    return measure.value_landscape(
        (signals[0], "position, share of the largest"),
        states.column(signals[0]),
        positions,
        np.stack(by_position, axis=1),
    )


def _critic_tensors(subject: EvaluatedRun, loaded: StoredPolicy) -> Mapping[str, Tensor] | str:
    """Return the critic's weights: beside the actor, else where training would resume from."""
    learner = subject.config.learner
    prefix = learner.spec.critic_prefix
    if not prefix:
        return f"learner {learner.name} has no critic"
    if beside := tensors_below(loaded.checkpoint.agent, prefix):
        return beside
    best, _ = latest_good(subject.run, label="best")
    if best is None or not _has_actor(best.agent, loaded):
        return "the checkpoint with the critic of the selected weights is gone"
    return tensors_below(best.training, _LEARNER + prefix)


def _has_actor(agent: Mapping[str, Tensor], loaded: StoredPolicy) -> bool:
    """Tell whether a checkpoint has the selected actor, but for the shrinkage of deviations."""
    first = f"{loaded.layout.prefix}weights.0"
    return torch.equal(agent[first], loaded.checkpoint.agent[first])


def _embedded(subject: EvaluatedRun, loaded: StoredPolicy, states: States) -> Tensor:
    """Return what agents see of the market at states, (M, D)."""
    table = market_table(subject.data.world)
    if loaded.encoder is not None:
        table = embed_table(loaded.encoder, table)
    return table[torch.from_numpy(states.agent), torch.from_numpy(states.bar)]
