"""What a run's folder, its data and its neighbours say of data and training."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from tradingbot.data.store import BarStore
from tradingbot.data.universes import load_universe
from tradingbot.domain.errors import StorageError, UserError
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.dossier.training_facts import AuxiliaryAccuracy, TrainingFacts
from tradingbot.networks.parameters import ParameterReport
from tradingbot.runs import RunDirectory
from tradingbot.runs.finding import list_runs
from tradingbot.training.result_file import read_result
from tradingbot.training.session import RUNS_FOLDER

_FINITE, _STAGE = "guard/finite", "curriculum/stage"
_HELD_OUT, _ACCURACY = "pretrain/held_out/", "/accuracy"


def gather_training_facts(subject: EvaluatedRun) -> TrainingFacts:
    """Read the facts; nothing is trained or played.

    Raises:
        StorageError: If a journal of the run is damaged.
    """
    universe = _universe(subject)
    symbols = _symbols_of(universe)
    whole = subject.data.whole
    with_bars = {whole.symbols[index] for index in np.flatnonzero(whole.usable.any(axis=1))}
    finite = _finite_updates(subject.run)
    others, tasks = _weights_of_equal_runs(subject), _auxiliary_tasks(subject.run)
    return TrainingFacts(
        universe=universe,
        universe_symbols=len(symbols),
        symbols_without_bars=tuple(name for name in symbols if name not in with_bars),
        is_scaler_of_train=_is_scaler_of_train(subject),
        over_budget=_over_budget(subject.run),
        updates=len(finite),
        updates_not_finite=finite.count(False),
        auxiliary_accuracy_frac=min((each.accuracy_frac for each in tasks), default=None),
        equal_runs=len(others),
        equal_runs_that_differ=sum(each != _final_weights(subject.run) for each in others),
        auxiliary_tasks=tasks,
        curriculum_stages_passed=_stages_passed(subject),
    )


def _universe(subject: EvaluatedRun) -> str:
    """Name the universe that the bars were made for; empty where a dataset names none.

    A configuration that takes a dataset still has the market of its preset, which says nothing.
    """
    name = subject.config.dataset
    if name is None:
        return subject.config.market.universe
    with suppress(UserError):  # the panel is there, the dataset it was made of is not
        provenance = BarStore(subject.workspace).open(name).manifest.provenance
        return str(provenance.detail.get("universe", ""))
    return ""


def _symbols_of(universe: str) -> tuple[str, ...]:
    with suppress(UserError):  # no name, or a file of the user's that is not there any more
        return load_universe(universe).symbols
    return ()


def _is_scaler_of_train(subject: EvaluatedRun) -> bool | None:
    """Compare the run's scaler with the one that was fitted anew, on train, to open the data."""
    stored = subject.run.record.data.normaliser_sha256
    anew = subject.data.identity.normaliser_sha256
    return None if stored is None and anew is None else stored == anew


def _over_budget(run: RunDirectory) -> tuple[str, ...] | None:
    counts = run.record.parameters
    return ParameterReport(**counts).complaints() if counts else None


def _finite_updates(run: RunDirectory) -> list[bool]:
    """Tell of every update in the journal whether all weights were finite after it."""
    rows = run.read_journal("metrics")
    return [bool(row["metrics"][_FINITE]) for row in rows if _FINITE in row.get("metrics", {})]


def _stages_passed(subject: EvaluatedRun) -> int | None:
    """Return what the agent that came least far had passed at the last update."""
    if subject.config.environment.kind != "curriculum":
        return None
    rows = [row.get("metrics", {}) for row in subject.run.read_journal("metrics")]
    told = [row[_STAGE] for row in rows if _STAGE in row]
    return int(np.min(told[-1])) if told else None


def _auxiliary_tasks(run: RunDirectory) -> tuple[AuxiliaryAccuracy, ...]:
    newest: tuple[AuxiliaryAccuracy, ...] = ()
    for row in run.read_journal("preparation"):
        newest = _accuracies(row) or newest
    return newest


def _accuracies(row: dict[str, Any]) -> tuple[AuxiliaryAccuracy, ...]:
    keys = [key for key in row if key.startswith(_HELD_OUT) and key.endswith(_ACCURACY)]
    tasks = [key.removeprefix(_HELD_OUT).removesuffix(_ACCURACY) for key in keys]
    return tuple(
        AuxiliaryAccuracy(
            task,
            row[key],
            row.get(f"{key}_low", row[key]),
            row.get(f"{_HELD_OUT}{task}/base_accuracy", 0.0),
        )
        for task, key in zip(tasks, keys, strict=True)
    )


def _weights_of_equal_runs(subject: EvaluatedRun) -> list[str]:
    """Return the final weights of other finished runs that asked for the same training.

    Of one whose result is missing or was changed since the weights are not known: empty, as no
    weights are.
    """
    found = []
    for folder in list_runs(subject.workspace / RUNS_FOLDER):
        with suppress(UserError):  # what cannot be read is no run that asked for the same
            other = RunDirectory.open(folder)
            is_equal = _asked_for(other) == _asked_for(subject.run)
            is_finished = other.status().state == "finished"
            if is_equal and is_finished and other.id != subject.run.id:
                found.append(_final_weights(other))
    return found


def _asked_for(run: RunDirectory) -> tuple[object, ...]:
    record = run.record
    return record.config_sha256, record.data.data_sha256, record.seeds, record.parent


def _final_weights(run: RunDirectory) -> str:
    with suppress(StorageError):
        return read_result(run.path).final_weights_sha256
    return ""
