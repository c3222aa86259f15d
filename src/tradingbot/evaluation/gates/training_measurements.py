"""What gates can ask of data and training, as the run's own records tell it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.dossier.training_facts import TrainingFacts
from tradingbot.evaluation.gates.measurement import Finding, Measurement

NAN_STEPS = 100_000
"""Steps of all agents together in which no NaN may appear."""


FULL_SYMBOLS = 143
"""Symbols of the plan's full size; agents of smaller data are judged by the other gates."""


def _at_full_size(dossier: Dossier) -> Finding:
    """Return the count of agents where the universe, or the agents, have the plan's size."""
    agents = dossier.header.agents if dossier.allocation is None else len(dossier.allocation.rows)
    listed = 0 if dossier.training is None else dossier.training.universe_symbols
    if max(agents, listed) >= FULL_SYMBOLS:
        return agents
    known = f"its universe lists {listed}" if listed else "its data name no universe"
    return (
        f"not applicable: the run has {agents} agent{'s' * (agents != 1)} and {known}, "
        f"of the {FULL_SYMBOLS} symbols that this asks for"
    )


def _of_facts(find: Callable[[TrainingFacts], Finding]) -> Callable[[Dossier], Finding]:
    def of_dossier(dossier: Dossier) -> Finding:
        if dossier.training is None:
            return "the dossier says nothing of data and training"
        return find(dossier.training)

    return of_dossier


def _covered(facts: TrainingFacts) -> Finding:
    if not facts.universe_symbols:
        return f"the universe of the data is not known: {facts.universe or 'none is named'}"
    return 1.0 - len(facts.symbols_without_bars) / facts.universe_symbols


def _certificate(dossier: Dossier) -> Finding:
    is_proved = dossier.leak_check.certificate_sha256 is not None
    if dossier.header.synthetic and not is_proved:
        return "the market was generated in memory: there is no panel to certify"
    return is_proved


def _scaler(facts: TrainingFacts) -> Finding:
    if facts.is_scaler_of_train is None:
        return (
            "the market was generated in memory: its scaler is fitted on train each time it is "
            "opened, and the run keeps none to compare"
        )
    return facts.is_scaler_of_train


def _over_budget(facts: TrainingFacts) -> Finding:
    if facts.over_budget is None:
        return "the run is of a version that kept no counts of parameters"
    return len(facts.over_budget)


def _not_finite(facts: TrainingFacts) -> Finding:
    return facts.updates_not_finite if facts.updates else "the journal of the run has no update"


def _not_finite_in_100k(dossier: Dossier) -> Finding:
    steps = dossier.header.steps_per_agent * dossier.header.agents
    if steps < NAN_STEPS:
        return f"the agents made {steps:,} steps together, {NAN_STEPS:,} are asked for"
    return _of_facts(_not_finite)(dossier)


def _accuracy(facts: TrainingFacts) -> Finding:
    if facts.auxiliary_accuracy_frac is None:
        return "no score of pre-training is in the journal of the run"
    return facts.auxiliary_accuracy_frac


def _at_base_rate(facts: TrainingFacts) -> Finding:
    if not facts.auxiliary_tasks:
        return "no score of pre-training is in the journal of the run"
    return sum(not each.beats_base for each in facts.auxiliary_tasks)


def _stages(facts: TrainingFacts) -> Finding:
    if facts.curriculum_stages_passed is None:
        return (
            "no stage of a curriculum is known: it takes a run with environment.kind: curriculum, "
            "evaluated by this version"
        )
    return facts.curriculum_stages_passed


def _repeats(facts: TrainingFacts) -> Finding:
    if not facts.equal_runs:
        return "no other run of this workspace has the same configuration and data"
    return facts.equal_runs_that_differ


TRAINING_MEASUREMENTS: Mapping[str, Measurement] = {
    "universe_covered_frac": Measurement("fraction", "origin", _of_facts(_covered)),
    "causality_certificate": Measurement("0 or 1", "leak-check", _certificate),
    "scaler_of_train": Measurement("0 or 1", "origin", _of_facts(_scaler)),
    "parameter_budgets_broken": Measurement("budgets", "origin", _of_facts(_over_budget)),
    "updates_not_finite": Measurement("updates", "origin", _of_facts(_not_finite)),
    "updates_not_finite_in_100k": Measurement("updates", "origin", _not_finite_in_100k),
    "auxiliary_accuracy_frac": Measurement("fraction", "origin", _of_facts(_accuracy)),
    "auxiliary_tasks_at_base_rate": Measurement("tasks", "origin", _of_facts(_at_base_rate)),
    "curriculum_stages_passed": Measurement("stages", "origin", _of_facts(_stages)),
    "equal_runs_that_differ": Measurement("runs", "origin", _of_facts(_repeats)),
    "agents": Measurement("agents", "origin", lambda d: d.header.agents),
    "agents_at_full_size": Measurement("agents", "origin", _at_full_size),
}
"""Name → where it comes from; part of `measurements.MEASUREMENTS`."""
