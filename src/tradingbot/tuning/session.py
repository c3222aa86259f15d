"""A study from beginning to end: waves of trials, the best trained again, preset and tables.

What is finished is kept at once and counted in the ledger before it begins: the same command after
a kill makes only what is missing, chooses the same trials, and counts none twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tradingbot.data.atomic import discard_directory, require_no_links, storage_errors
from tradingbot.domain.errors import InterruptionError
from tradingbot.executors.executor import (
    Executor,
    InlineExecutor,
    Progress,
    Work,
    WorkItem,
    ignore_progress,
    run_items,
)
from tradingbot.executors.identity import require_same
from tradingbot.executors.workers import are_elsewhere, start_workers
from tradingbot.networks.threads import torch_threads
from tradingbot.plugins.loading import load_from_environment
from tradingbot.runs.lock import hold_lock
from tradingbot.training.config import TrainConfig
from tradingbot.training.data import TrainingData, open_data
from tradingbot.training.plugins import with_plugins
from tradingbot.training.session import SessionCallbacks
from tradingbot.tuning.best_trials import (
    Found,
    RetrainedTrial,
    retrain_best,
    train_untuned,
)
from tradingbot.tuning.counted_trials import TrialCount
from tradingbot.tuning.joint_trials import run_trials
from tradingbot.tuning.optuna_study import OptunaStudy
from tradingbot.tuning.pruning import CurvePruner
from tradingbot.tuning.request import TuneRequest
from tradingbot.tuning.study_database import KnownStudy, look_up_study
from tradingbot.tuning.study_facts import facts_of, require_same_study
from tradingbot.tuning.study_files import StudyFiles, write_study_files
from tradingbot.tuning.training_trial import TrialBench, with_symbols
from tradingbot.tuning.trial_record import TrialResult, TuningTrial

DATABASE_FILE, LOCK_FILE, ENCODERS_FOLDER = "study.db", "lock", "encoders"
_Payload = tuple[tuple[TuningTrial, ...], tuple[TrialResult, ...]]


@dataclass(frozen=True, eq=False)
class TuneCallbacks:
    """Callbacks of a study."""

    progress: Progress = ignore_progress
    """Told (trials finished, trials in all, what is done now)."""
    note: Callable[[str], None] = lambda _: None
    interrupted: Callable[[], bool] = lambda: False
    """Asked between trials, and by the trainings of the best."""
    training: SessionCallbacks | None = None
    """Of the trainings of the best."""


@dataclass(frozen=True, eq=False)
class TunedStudy:
    """What a study came to."""

    results: tuple[TrialResult, ...]
    retrained: tuple[RetrainedTrial, ...]
    """The best, trained again, best first."""
    files: StudyFiles


def tune(
    request: TuneRequest,
    workspace: Path,
    *,
    jobs: int = 1,
    callbacks: TuneCallbacks | None = None,
) -> TunedStudy:
    """Try, train the best again, and write preset, tables and page; finished trials are kept.

    Args:
        request: What is wanted.
        workspace: Where runs, data and studies are.
        jobs: Processes; the result does not depend on them.
        callbacks: Called while it goes on.

    Raises:
        UserError: If data, configuration or database are not as they must be.
        InterruptionError: If it was interrupted; the same command goes on.
    """
    callbacks, folder = callbacks or TuneCallbacks(), request.folder(workspace)
    require_no_links(folder.parent)
    callbacks.note("open the data")
    bench = _open_bench(request, workspace)
    known = _refuse_early(request, bench, workspace)
    with storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with hold_lock(folder / LOCK_FILE, "study"):
        with _start_executor(request, bench, jobs, known) as executor:
            study = open_study(request, workspace)
            require_same_study(study.known, request, bench.data, workspace)
            study.note(request.identity, facts_of(bench.data), request.asked)
            results = _run_waves(study, request, bench, executor, callbacks)
        told = (workspace, callbacks.note, callbacks.training)
        retrained = retrain_best(request, results, *told)
        untuned = train_untuned(request, retrained, *told)
        found = Found(results, retrained, untuned)
        files = write_study_files(request, study, found, bench.data, workspace)
    return TunedStudy(tuple(results), tuple(retrained), files)


def _refuse_early(request: TuneRequest, bench: TrialBench, workspace: Path) -> KnownStudy:
    """Refuse another study's name, or its database, before anything is written."""
    known = KnownStudy()
    if request.storage or (request.folder(workspace) / DATABASE_FILE).is_file():
        known = look_up_study(request.name, storage_of(request, workspace))
        require_same_study(known, request, bench.data, workspace)
    if request.storage:  # what lies outside of the study's folder can be refused without it
        open_study(request, workspace)
    return known


def storage_of(request: TuneRequest, workspace: Path) -> str:
    """Return the URL of the database of a study."""
    file = (request.folder(workspace) / DATABASE_FILE).absolute()
    return request.storage or f"sqlite:///{file}"


def open_study(request: TuneRequest, workspace: Path) -> OptunaStudy:
    """Open the trials of a study.

    Raises:
        ConfigError: If the database cannot be opened, or is one of another kind.
    """
    storage = storage_of(request, workspace)
    return OptunaStudy(request.name, storage, request.space, request.settings)


def _open_bench(request: TuneRequest, workspace: Path) -> TrialBench:
    data = open_trial_data(request, workspace)
    return TrialBench(_trial_config(request), request.settings, data, workspace)


def open_trial_data(request: TuneRequest, workspace: Path) -> TrainingData:
    """Open what trials learn from.

    Raises:
        UserError: If data or configuration are not as they must be.
    """
    return open_data(_trial_config(request), workspace)


def _trial_config(request: TuneRequest) -> TrainConfig:
    return with_plugins(with_symbols(request.config, request.symbols))


def _identity_of(bench: TrialBench) -> str:
    """Return the hashes of data and configuration as they are in this process."""
    return f"{bench.data.identity.data_sha256}-{bench.config.config_hash}"


def _open_work(request: TuneRequest, workspace: Path, identity: str) -> Work:
    """Open the bars in a worker, which has one torch thread.

    Raises:
        DataError: If data or configuration are others there.
    """
    import torch

    torch.set_num_threads(1)
    load_from_environment()
    bench = _open_bench(request, workspace)
    require_same(_identity_of(bench), identity, str(workspace))
    return _work_of(request, bench)


def _work_of(request: TuneRequest, bench: TrialBench) -> Work:
    """Return what makes trials; encoders that several begin with are pre-trained once."""
    encoders = request.folder(bench.workspace) / ENCODERS_FOLDER

    def work(payload: _Payload, progress: Progress) -> list[TrialResult]:
        specs, before = payload
        with storage_errors(encoders):
            encoders.mkdir(exist_ok=True)

        def open_pruner(spec: TuningTrial) -> CurvePruner:
            return CurvePruner(spec, before, request.space, request.settings)

        return run_trials(bench, specs, open_pruner, progress, encoders)

    return work


@contextmanager
def _start_executor(
    request: TuneRequest, bench: TrialBench, jobs: int, known: KnownStudy
) -> Iterator[Executor]:
    """Start what makes trials, before the study is begun: a cluster may not answer."""
    settings = request.settings
    workers = min(jobs, -(-settings.wave // settings.together))
    with ExitStack() as stack:
        stack.enter_context(torch_threads(bench.config.threads if workers == 1 else 1))
        executor: Executor = InlineExecutor(_work_of(request, bench))
        if (are_elsewhere() or workers > 1) and known.trials_kept < settings.trials:
            place, identity = bench.workspace.absolute(), _identity_of(bench)
            opened = partial(_open_work, request, place, identity)
            executor = stack.enter_context(start_workers(opened, workers))
        yield executor


def _run_waves(
    study: OptunaStudy,
    request: TuneRequest,
    bench: TrialBench,
    executor: Executor,
    callbacks: TuneCallbacks,
) -> list[TrialResult]:
    """Make the trials that are missing, wave by wave; return all in order."""
    settings, count = request.settings, TrialCount(request, bench)
    for wave in range(settings.n_waves):
        kept = study.results()
        count.see(kept)
        before, done = tuple(kept[: wave * settings.wave]), {e.spec.number for e in kept}
        items = [
            WorkItem(_name_of(specs), (specs, before))
            for specs in _share_out(study.choose(wave, before), settings.together)
            # Sums depend in their last bits on what is beside them: all of them, or none.
            if not done.issuperset(spec.number for spec in specs)
        ]
        count.begin([spec for item in items for spec in item.payload[0]])
        _run_wave(executor, study, items, callbacks, settings.trials)
    discard_directory(request.folder(bench.workspace) / ENCODERS_FOLDER)
    return study.results()[: settings.trials]


def _share_out(specs: Sequence[TuningTrial], together: int) -> list[tuple[TuningTrial, ...]]:
    return [tuple(specs[first : first + together]) for first in range(0, len(specs), together)]


def _name_of(specs: Sequence[TuningTrial]) -> str:
    numbers = [spec.number for spec in specs]
    return f"trials {numbers[0]} to {numbers[-1]}" if len(specs) > 1 else specs[0].name


def _run_wave(
    executor: Executor,
    study: OptunaStudy,
    items: Sequence[WorkItem],
    callbacks: TuneCallbacks,
    total: int,
) -> None:
    finished = len(study.results())

    def tell(done: int, of: int, label: str) -> None:
        callbacks.progress(finished, total, f"{label} {done}/{of}" if of else label)

    for outcome in run_items(executor, items, tell):
        found: list[TrialResult] = outcome.result()
        for result in found:
            study.keep(result)
            score = "no score" if result.score is None else f"{result.score:.3f}"
            callbacks.note(f"{result.spec.name}: {result.state}, {score} ({result.spec.words})")
        finished = len(study.results())
        tell(0, 0, outcome.item.name)
        if callbacks.interrupted():
            raise InterruptionError("tuning")
