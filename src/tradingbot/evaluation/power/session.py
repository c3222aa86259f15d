"""The power of a pipeline on given bars from beginning to end: trials, curve, files.

Every trial is kept when it is finished (`AnalysisStore`, by the hash of bars, configuration and
sources): what was killed goes on where it was with the same command and ends with the same curve,
and another ladder makes only the trials that are missing. Trials choose nothing and are no trials
of the ledger: their signals are synthetic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from tradingbot.data.atomic import require_no_links, storage_errors, write_text
from tradingbot.data.sources.source import Progress, ignore_progress
from tradingbot.domain.errors import ConfigError
from tradingbot.evaluation.analyses.retraining.chain import agents_config
from tradingbot.evaluation.analyses.retraining.spec import RetrainingSpec, retraining_config
from tradingbot.evaluation.dossier.power import (
    POWER_VERSION,
    TARGET_SHARE,
    PowerCurve,
    PowerTrial,
)
from tradingbot.evaluation.pipeline.assembly import cost_words
from tradingbot.evaluation.pipeline.receipts import AnalysisReceipts, receipts_of
from tradingbot.evaluation.pipeline.store import (
    AnalysisStore,
    StoredAnalysis,
    identity_of,
    key_of,
)
from tradingbot.evaluation.pipeline.stored_power import POWER_FOLDER, store_power
from tradingbot.evaluation.power.curve import count_rungs, smallest_edge
from tradingbot.evaluation.power.request import PowerRequest
from tradingbot.evaluation.power.spiked_data import SpikeSubject, open_subject, worth_of
from tradingbot.evaluation.power.trial import TrialSpec, lay_out_trials, run_trial
from tradingbot.evaluation.report.power_page import render_power
from tradingbot.executors.executor import Executor, InlineExecutor, Work, WorkItem, run_items
from tradingbot.executors.identity import require_same
from tradingbot.executors.workers import are_elsewhere, start_workers
from tradingbot.networks.threads import torch_threads
from tradingbot.plugins.loading import load_from_environment
from tradingbot.runs.lock import hold_lock
from tradingbot.training.config_files import config_of_mapping
from tradingbot.training.setup import env_config

PAGE_FILE = "power.html"
_TRIALS_FOLDER, _LOCK_FILE = "trials", "lock"


@dataclass(frozen=True, eq=False)
class MeasuredPower:
    """A curve and where it is."""

    curve: PowerCurve
    folder: Path
    page: Path


@dataclass(frozen=True)
class _PowerJob:
    """What a worker opens its bars from; plain values."""

    config: Mapping[str, Any]
    workspace: Path
    symbols: tuple[str, ...]
    folder: Path
    receipts: tuple[str, str, int]
    """Run, data and first entry of the ledger."""

    def as_seen_elsewhere(self) -> _PowerJob:
        """Return the same with paths that do not depend on where a process stands."""
        return replace(self, workspace=self.workspace.absolute(), folder=self.folder.absolute())


@dataclass(frozen=True, eq=False)
class _Bench:
    """Opened bars and the store of their trials."""

    subject: SpikeSubject
    workspace: Path
    store: AnalysisStore
    identity: str

    def key(self, spec: TrialSpec) -> str:
        """Return the key of a trial."""
        return key_of(self.identity, spec, None, ())

    def load(self, spec: TrialSpec) -> PowerTrial | None:
        """Return a trial that was made before."""
        stored = self.store.load(spec.name, self.key(spec), PowerTrial)
        return None if stored is None else stored.record

    def make(self, spec: TrialSpec, progress: Progress) -> None:
        """Make a trial and keep it."""
        made = run_trial(self.subject, spec, self.workspace, progress)
        self.store.keep(spec.name, self.key(spec), StoredAnalysis(made))


def measure_power(
    request: PowerRequest,
    workspace: Path,
    *,
    jobs: int = 1,
    progress: Progress = ignore_progress,
) -> MeasuredPower:
    """Measure how strong a signal must be to be found; finished trials are not made again.

    Args:
        request: What is wanted.
        workspace: Where runs and data are.
        jobs: Processes; the result does not depend on them.
        progress: Told (trials finished, trials in all, what is done now).

    Raises:
        UserError: If the bars cannot be learned from, or another process measures the same.
    """
    subject = open_subject(request.config, workspace, request.symbols)
    _require_own_bars(request, subject)
    own = workspace / POWER_FOLDER / f"{request.name}-{subject.config.config_hash[:8]}"
    folder = own if request.run is None else request.run.path / POWER_FOLDER
    require_no_links(folder.parent)
    with storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    receipts = _receipts(request, subject, workspace, folder)
    job = _PowerJob(
        request.config.as_mapping(),
        workspace,
        request.symbols,
        folder / _TRIALS_FOLDER,
        (receipts.run, receipts.data, receipts.began_at),
    )
    with hold_lock(folder / _LOCK_FILE, "power"):
        bench = _bench(subject, job)
        trials = _run_trials(bench, job, lay_out_trials(request.settings), jobs, progress)
        curve = _draw_curve(request, subject, trials)
        store_power(folder, curve, receipts)
        page = folder / PAGE_FILE
        write_text(page, render_power(curve))
        return MeasuredPower(curve, folder, page)


def _require_own_bars(request: PowerRequest, subject: SpikeSubject) -> None:
    """Refuse a run whose dataset has other bars by now."""
    if request.run is None:
        return
    stored = request.run.record.data.dataset_sha256
    if stored is not None and stored != subject.bars_sha256:
        raise ConfigError(
            "power must be measured on the bars that the run learned from",
            was=subject.bars_sha256[:12],
            where=f"{request.run.id} learned from {stored[:12]}",
            remedy="Bring the dataset back as it was, or name the dataset instead of the run",
        )


def _receipts(
    request: PowerRequest, subject: SpikeSubject, workspace: Path, folder: Path
) -> AnalysisReceipts:
    if request.run is not None:
        return receipts_of(request.run, workspace)
    return AnalysisReceipts(workspace, f"{POWER_FOLDER}-{folder.name}", subject.data_sha256)


def _bench(subject: SpikeSubject, job: _PowerJob) -> _Bench:
    run, data, began_at = job.receipts
    receipts = AnalysisReceipts(job.workspace, run, data, began_at)
    agents = agents_config(subject.config, job.workspace)  # of a portfolio's sleeves
    trained = "" if agents is None else agents.config_hash
    identity = identity_of(trained, subject.data_sha256, subject.config.config_hash)
    return _Bench(subject, job.workspace, AnalysisStore(job.folder, receipts), identity)


def _open_work(job: _PowerJob, identity: str) -> Work:
    """Open the bars in a worker, which has one torch thread."""
    import torch

    torch.set_num_threads(1)
    load_from_environment()
    config = config_of_mapping(job.config)
    bench = _bench(open_subject(config, job.workspace, job.symbols), job)
    require_same(bench.identity, identity, str(job.workspace))
    return bench.make


def _run_trials(
    bench: _Bench, job: _PowerJob, specs: Sequence[TrialSpec], jobs: int, progress: Progress
) -> list[PowerTrial]:
    """Make the trials that are missing, and return all in the order given."""
    missing = [spec for spec in specs if bench.load(spec) is None]
    finished = len(specs) - len(missing)

    def tell(done: int, of: int, label: str) -> None:
        progress(finished, len(specs), f"{label} {done}/{of}" if of else label)

    with ExitStack() as stack:
        if missing:
            stack.enter_context(torch_threads(1))
            tell(0, 0, "begins")
            executor: Executor = InlineExecutor(bench.make)
            if are_elsewhere() or min(jobs, len(missing)) > 1:
                opening = partial(_open_work, job.as_seen_elsewhere(), bench.identity)
                executor = stack.enter_context(start_workers(opening, min(jobs, len(missing))))
            items = [WorkItem(f"trial {spec.name}", spec) for spec in missing]
            for outcome in run_items(executor, items, tell):
                outcome.result()
                finished += 1
                tell(0, 0, outcome.item.payload.name)
    made = [bench.load(spec) for spec in specs]
    assert all(trial is not None for trial in made)  # each was kept when it was made
    return [trial for trial in made if trial is not None]


def _draw_curve(
    request: PowerRequest, subject: SpikeSubject, trials: Sequence[PowerTrial]
) -> PowerCurve:
    settings, config = request.settings, subject.config
    phi, env = settings.phi, env_config(config)
    edge = worth_of(subject, strongest=settings.kappas[-1], phi=phi)
    rungs = count_rungs(trials, edge)
    spec = RetrainingSpec(0, settings.steps_share_frac)
    train, validation, test = (
        str(days) for days in subject.split.periods(subject.inputs.closed_at).values()
    )
    return PowerCurve(
        version=POWER_VERSION,
        subject=request.name,
        run="" if request.run is None else request.run.id,
        label=subject.spiked_label,
        is_observed=subject.is_observed,
        symbols=len(config.symbols or subject.inputs.symbols),
        train=train,
        validation=validation,
        test=test,
        costs=cost_words(config.task.costs, env.costs),
        learner=config.learner.name,
        steps_per_agent=retraining_config(spec, config).budget.steps_per_agent,
        phi=phi,
        seed=settings.seed,
        data_sha256=subject.data_sha256,
        config_hash=config.config_hash,
        rungs=rungs,
        smallest=smallest_edge(rungs, edge, probability=TARGET_SHARE, seed=settings.seed),
        trials=tuple(trials),
        command=request.command,
    )
