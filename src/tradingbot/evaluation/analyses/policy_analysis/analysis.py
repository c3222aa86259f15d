"""What a run's policy does on the test part, from its backtest and from its weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from tradingbot.data.splits import IndexRange
from tradingbot.domain.action import Action
from tradingbot.envs.population.layout import action_spec, market_table
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.analyses.policy_analysis import attention, measure
from tradingbot.evaluation.analyses.policy_analysis.landscape import measure_landscape
from tradingbot.evaluation.analyses.policy_analysis.option_use import (
    RecordedOptions,
    measure_option_use,
)
from tradingbot.evaluation.analyses.policy_analysis.sampled_actions import measure_sampled_actions
from tradingbot.evaluation.analyses.policy_analysis.states import (
    OWN,
    RecordedPolicy,
    States,
    collect_states,
    market_names,
)
from tradingbot.evaluation.analyses.settings import PolicyAnalysisSettings
from tradingbot.evaluation.backtest import PolicyUnderTest
from tradingbot.evaluation.dossier.analysis import PolicyAnalysis
from tradingbot.learning.learner_state import tensors_below
from tradingbot.networks.heads import StackedHead
from tradingbot.runs.policy import StoredPolicy, load_policy


def measure_policy_analysis(
    subject: EvaluatedRun, settings: PolicyAnalysisSettings
) -> PolicyAnalysis:
    """Analyse the policy; agents that stay out are left out of maps, landscape and attention map.

    Raises:
        DataError: If the test part has too few bars.
        StorageError: If the run's checkpoint is damaged.
    """
    options = RecordedOptions(subject.policy)
    loaded, watched = load_policy(subject.run), RecordedPolicy(options)
    (played,) = subject.backtest_all([PolicyUnderTest(subject.run.id, watched)], "test")
    states = collect_states(subject, played, watched, settings.max_states)
    spec = action_spec(subject.config.task.rules)
    bins, shares = measure.action_histogram(
        played.action, spec, [code.name for code in Action], n_bins=settings.n_bins
    )
    seen, is_met = (states.inputs, states.names, states.action), len(states.action) > 0
    maps = measure.state_action_maps(*seen, settings) if is_met else ()
    followed = sorted((each.input for each in maps), key=lambda name: name.startswith(OWN))
    signals = tuple(name for name in followed if not name.startswith(OWN))
    landscape = measure_landscape(subject, loaded, states, signals, settings)
    actor = _actor(loaded)
    looked = _attention(subject, loaded, actor, states, settings)
    sampled = measure_sampled_actions(subject, settings, np.array(shares))
    missing = {"value landscape": landscape, "attention": looked, "sampled actions": sampled}
    value = None if isinstance(landscape, str) else landscape
    return PolicyAnalysis(
        bins=bins,
        histogram=shares,
        maps=maps,
        value_landscape=value.cells if value else None,
        value_axes=value.axes if value else None,
        value_edges=value.edges if value else (),
        planes=measure.state_action_planes(*seen, followed, settings),
        **({"attention_lags": None, "attention": None} if isinstance(looked, str) else looked),
        reward_shares=measure.reward_shares(played.reward_names, played.reward_terms),
        deviations=measure.head_deviations(actor, subject.data.world.symbols),
        options=measure_option_use(subject, options),
        sampled=None if isinstance(sampled, str) else sampled,
        unavailable=tuple((part, why) for part, why in missing.items() if isinstance(why, str)),
    )


def _attention(
    subject: EvaluatedRun,
    loaded: StoredPolicy,
    actor: StackedHead,
    states: States,
    settings: PolicyAnalysisSettings,
) -> dict[str, Any] | str:
    """Return the fields of the record that tell of attention, or why there are none."""
    encoder, bars = attention.attention_of(loaded), subject.bars("test")
    if encoder is None:
        return f"encoder {subject.config.encoder.preset} has no attention"
    last = IndexRange(bars.stop - min(settings.attention_bars, len(bars)), bars.stop)
    weights = attention.attention_by_lag(encoder, market_table(subject.data.world), last)
    found = {"attention_lags": tuple(range(len(weights))), "attention": tuple(weights)}
    if not len(states.action) or loaded.acting.options is not None:
        return found  # what a controller over options does has no gradient
    cells = attention.attention_by_feature(
        subject, loaded, actor, states, settings.attention_states
    )
    rows = tuple(map(tuple, cells.tolist()))
    return {**found, "attention_features": market_names(subject), "attention_map": rows}


def _actor(loaded: StoredPolicy) -> StackedHead:
    layout = loaded.layout
    stored = tensors_below(loaded.checkpoint.agent, layout.prefix)
    n_inputs, n_agents = stored["weights.0"].shape[-2], len(loaded.agents)
    head = StackedHead(n_agents, n_inputs, layout.n_outputs, layout.head, torch.Generator())
    head.load_state_dict(stored)
    return head.requires_grad_(False)
