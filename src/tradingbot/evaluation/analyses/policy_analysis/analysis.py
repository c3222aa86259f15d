"""What a run's policy does on the test part, from its backtest and from its weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.agents.policy import Policy, PolicyInputs
from tradingbot.domain.action import Action
from tradingbot.envs.population import PRIVATE_NAMES
from tradingbot.envs.population.layout import action_spec, market_table
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.analyses.policy_analysis import measure
from tradingbot.evaluation.backtest import Backtest, PolicyUnderTest
from tradingbot.evaluation.dossier.analysis import PolicyAnalysis, StateActionMap
from tradingbot.learning.learner_state import tensors_below
from tradingbot.networks.embedding import embed_table
from tradingbot.networks.encoders.transformer import TransformerEncoder
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.heads import StackedHead
from tradingbot.runs import Checkpoint
from tradingbot.runs.policy import StoredPolicy, load_policy
from tradingbot.training.config import TrainConfig

FloatArray = NDArray[np.float64]
_SIZE = "size"
_SIDES = {Action.SELL_PARTIAL: -1.0, Action.SELL_ALL: -1.0, Action.HOLD: 0.0}
"""Which way a code trades; all others buy. The mean of codes themselves would mean nothing."""


def measure_policy_analysis(
    subject: EvaluatedRun, settings: measure.PolicyAnalysisSettings
) -> PolicyAnalysis:
    """Analyse the policy; agents that stay out are left out of maps and landscape.

    Raises:
        DataError: If the test part has too few bars.
        StorageError: If the run's checkpoint is damaged.
    """
    config, loaded = subject.config, load_policy(subject.run)
    watched = _RecordedPolicy(subject.policy)
    (played,) = subject.backtest_all([PolicyUnderTest(subject.run.id, watched)], "test")
    states = _states(subject, played, watched, settings.max_states)
    spec = action_spec(config.task.rules)
    bins, shares = measure.action_histogram(
        played.action, spec, [code.name for code in Action], n_bins=settings.n_bins
    )
    maps = states.maps(settings)
    axes, landscape = _landscape(subject, loaded, states, maps, settings)
    lags, attention = _attention(subject, loaded, settings.attention_bars)
    return PolicyAnalysis(
        bins=bins,
        histogram=shares,
        maps=maps,
        value_landscape=landscape,
        value_axes=axes,
        attention_lags=lags,
        attention=attention,
        reward_shares=measure.reward_shares(played.reward_names, played.reward_terms),
        deviations=measure.head_deviations(_actor(subject, loaded), subject.data.world.symbols),
    )


class _RecordedPolicy:
    """A policy, and what its accounts knew of themselves at each call."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.private: list[Tensor] = []

    def __call__(self, seen: PolicyInputs) -> Tensor:
        self.private.append(seen.private.clone())
        return self._policy(seen)


@dataclass(frozen=True, eq=False)
class _States:
    """M states of agents that trade, and what was done there."""

    agent: NDArray[np.int64]
    """(M,) place in the world."""
    bar: NDArray[np.int64]
    """(M,) of the world, at whose close was decided."""
    private: FloatArray
    """(M, 18)"""
    action: FloatArray
    """(M,) number, or the side of a code."""
    inputs: FloatArray
    """(M, F) features, regimes and the private numbers that agents see."""
    names: tuple[str, ...]
    """F."""

    def maps(self, settings: measure.PolicyAnalysisSettings) -> tuple[StateActionMap, ...]:
        """Return the state–action maps; none where no agent trades."""
        if not len(self.action):
            return ()
        return measure.state_action_maps(self.inputs, self.names, self.action, settings)


def _states(
    subject: EvaluatedRun, played: Backtest, watched: _RecordedPolicy, most: int
) -> _States:
    world, first = subject.data.world, subject.bars("test").start
    trading = np.flatnonzero(np.abs(played.position_frac).max(axis=0) > 0.0)
    chosen = measure.evenly_spaced(played.n_bars * len(trading), most)
    step, place = np.divmod(chosen, max(1, len(trading)))
    agent = trading[place] if len(trading) else np.zeros(0, dtype=np.int64)
    step, bar = step[: len(agent)], first + step[: len(agent)]
    private = torch.stack(watched.private).double().numpy()[step, :, agent]
    shown = subject.config.task.private or PRIVATE_NAMES
    columns = [PRIVATE_NAMES.index(name) for name in shown]
    return _States(
        agent=agent,
        bar=bar,
        private=private,
        action=_signed(subject.config, played.action[step, agent]),
        inputs=np.concatenate(
            [world.features[agent, bar], world.regimes[agent, bar], private[:, columns]], axis=1
        ).astype(np.float64),
        names=(*world.feature_names, *world.regime_names, *(f"own {name}" for name in shown)),
    )


def _signed(config: TrainConfig, action: FloatArray) -> FloatArray:
    if config.task.rules.action.space != "discrete":
        return action
    sides = np.array([_SIDES.get(code, 1.0) for code in Action])
    return np.asarray(sides[action.astype(np.int64)])


def _landscape(
    subject: EvaluatedRun,
    loaded: StoredPolicy,
    states: _States,
    maps: Sequence[StateActionMap],
    settings: measure.PolicyAnalysisSettings,
) -> tuple[tuple[str, str] | None, tuple[tuple[float, ...], ...] | None]:
    """Ask the critic what states would be worth with other positions, by the first map's input.

    Not every learner keeps a critic with what acting needs.
    """
    config, checkpoint = subject.config, loaded.checkpoint
    shown = config.task.private or PRIVATE_NAMES
    signal = next((each.input for each in maps if not each.input.startswith("own ")), None)
    prefix = config.learner.spec.critic_prefix
    has_critic = prefix and any(name.startswith(prefix) for name in checkpoint.agent)
    if not has_critic or signal is None or _SIZE not in shown:
        return None, None
    seen = _embedded(subject, loaded, states)
    private = torch.from_numpy(states.private[:, [PRIVATE_NAMES.index(name) for name in shown]])
    inputs = torch.cat([seen, private.float()], dim=-1)
    size = seen.shape[-1] + shown.index(_SIZE)
    critic = _head(subject, checkpoint, prefix, config.learner.settings.critic, 1)
    low = 0.0 if not config.task.rules.limits.allow_short else -1.0
    positions = np.linspace(low, 1.0, settings.landscape_bins)
    columns = []
    for position in positions:
        inputs[:, size] = float(position)
        columns.append(_values(critic, inputs, states.agent))
    column = states.inputs[:, states.names.index(signal)]
    surface = measure.value_landscape(column, np.stack(columns, axis=1), settings.landscape_bins)
    return (signal, f"position, {low:g} … 1 of the largest"), surface


def _values(critic: StackedHead, inputs: Tensor, agent: NDArray[np.int64]) -> FloatArray:
    """Return values (M,) of inputs (M, I) of some agents, in the critic's units."""
    counts = np.bincount(agent, minlength=critic.n_agents)
    spec = np.argsort(agent, kind="stable")
    # Place of each state among those of its agent, so that all heads work at once.
    place = np.empty(len(agent), dtype=np.int64)
    place[spec] = np.arange(len(agent)) - np.repeat(np.cumsum(counts) - counts, counts)
    laid = inputs.new_zeros(critic.n_agents, int(counts.max(initial=1)), inputs.shape[-1])
    laid[agent, place] = inputs
    return np.asarray(critic(laid)[agent, place, 0].double().numpy())


def _embedded(subject: EvaluatedRun, loaded: StoredPolicy, states: _States) -> Tensor:
    """Return what agents see of the market at states, (M, D)."""
    table = market_table(subject.data.world)
    if loaded.encoder is not None:
        table = embed_table(loaded.encoder, table)
    return table[torch.from_numpy(states.agent), torch.from_numpy(states.bar)]


def _attention(
    subject: EvaluatedRun, loaded: StoredPolicy, last_bars: int
) -> tuple[tuple[int, ...] | None, tuple[float, ...] | None]:
    """Return lags and the mean weight of each in the last bars of the test part."""
    table, encoder = market_table(subject.data.world), loaded.encoder
    if not isinstance(encoder, TransformerEncoder):
        return None, None
    bars = subject.bars("test")
    count = min(last_bars, len(bars))
    begin = max(0, bars.stop - count - encoder.lookback_bars)
    with torch.no_grad():
        weights = encoder.attention(table[:, begin : bars.stop], last_bars=count)
    mean = weights.double().mean((0, 1)).tolist()
    return tuple(range(len(mean))), tuple(mean)


def _actor(subject: EvaluatedRun, loaded: StoredPolicy) -> StackedHead:
    layout = loaded.layout
    return _head(subject, loaded.checkpoint, layout.prefix, layout.head, layout.n_outputs)


def _head(
    subject: EvaluatedRun, checkpoint: Checkpoint, prefix: str, config: HeadConfig, n_outputs: int
) -> StackedHead:
    stored, n_agents = tensors_below(checkpoint.agent, prefix), len(subject.data.identity.agents)
    n_inputs = stored["weights.0"].shape[-2]
    head = StackedHead(n_agents, n_inputs, n_outputs, config, torch.Generator())
    head.load_state_dict(stored)
    return head.requires_grad_(False)
