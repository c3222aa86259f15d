"""The phases of a campaign, in order, and what each does.

A phase returns its record and the figures or dossier that its gates are judged by. What a phase
made is found again: nothing here remembers more than the files of data, runs and evaluations.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tradingbot.campaign.data_phase import PreparedData, prepare_data, require_symbols
from tradingbot.campaign.master_phase import master_config
from tradingbot.campaign.request import (
    NO_MASTER,
    PROTOTYPE_AGENTS,
    CampaignRequest,
    campaign_config,
)
from tradingbot.campaign.training_phase import PhaseTools, evaluate_phase, train_run
from tradingbot.data.universes import load_universe
from tradingbot.domain.errors import UserError
from tradingbot.domain.symbol import PORTFOLIO
from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.gates.measurement import Finding
from tradingbot.evaluation.gates.result import Memo
from tradingbot.evaluation.pipeline.config import load_evaluate_config
from tradingbot.learning.trainer_tensors import all_finite
from tradingbot.runs.record import draw_seed
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import override_config
from tradingbot.training.data import open_data
from tradingbot.training.early_refusals import refuse_early
from tradingbot.training.result_file import TrainResult
from tradingbot.training.setup import build_training_setup
from tradingbot.tuning.space_check import without_tuned

GATES_OF: Mapping[str, tuple[str, ...]] = {
    "data": ("data",),
    "environment": ("environment",),
    "architecture": ("architecture",),
    "prototype": ("prototype", "A continuous"),
    "tuning": (),
    "full": ("full", "validation"),
    "master": ("master",),
    "final": ("edge", "final"),
}
"""Phase → phases of the gates that judge it; in the order in which they are walked."""
_PROTOTYPE = "prototype10"
_DRY_UPDATES = 2
_FIRST_LOOK = "required"
"""Evaluation of the prototype: what its gates ask for, in seconds."""


@dataclass(frozen=True)
class PhaseFinding:
    """What a phase came to."""

    words: str
    run: str = ""
    figures: Mapping[str, Finding] = field(default_factory=dict)
    """Measured before there is a dossier."""
    dossier: Dossier | None = None
    memo: Memo | None = None
    left_out: bool = False


@dataclass
class CampaignWalk:
    """What phases hand on to those after them."""

    request: CampaignRequest
    tools: PhaseTools
    data: PreparedData | None = None
    best: Path | None = None
    """Preset that tuning found; None where there was none, or it was no better."""
    tuned_keys: tuple[str, ...] = ()
    """That it chose: they go before options."""
    begun_with: str = ""
    """Label of the data that the campaign learned from before; empty where it did not."""
    full: PhaseFinding | None = None
    master: PhaseFinding | None = None

    @property
    def symbols(self) -> tuple[str, ...]:
        """Symbols that get an agent."""
        assert self.data is not None  # the first phase
        return require_symbols(self.data, self.request.config.symbols)

    @property
    def prototype_symbols(self) -> tuple[str, ...]:
        """Those of the prototype; the first ones where the data are of another universe."""
        named = [s for s in load_universe(_PROTOTYPE).symbols if s in self.symbols]
        rest = [symbol for symbol in self.symbols if symbol not in named]
        return tuple([*named, *rest][:PROTOTYPE_AGENTS])

    def config(self) -> TrainConfig:
        """Return the configuration of all symbols that get an agent, with what tuning found."""
        request = self.request
        config = request.config
        if self.best is not None:
            options, dataset = without_tuned(request.options, self.tuned_keys), request.dataset
            config = campaign_config(self.best, options, dataset, generates=request.generates)
        if self.data is not None and self.data.late and not config.symbols:
            return override_config(config, {"symbols": list(self.symbols)})
        return config


Phase = Callable[[CampaignWalk], PhaseFinding]


def walk_data(walk: CampaignWalk) -> PhaseFinding:
    """Bars, readiness, features, proof."""
    tools = walk.tools
    progress = tools.stoppable("data")
    walk.data = prepare_data(walk.request, tools.workspace, progress, walk.begun_with, tools.jobs)
    return PhaseFinding(walk.data.words, figures=walk.data.values)


def walk_environment(walk: CampaignWalk) -> PhaseFinding:
    """Speed of the simulator: as benchmarks measured it."""
    given = len(walk.request.benches)
    files = "file" if given == 1 else "files"
    words = f"{given} {files} of benchmarks" if given else "no benchmark was given with --bench"
    return PhaseFinding(words)


def walk_architecture(walk: CampaignWalk) -> PhaseFinding:
    """Build networks and learner on the data, count parameters, make two updates."""
    config, tools = walk.config(), walk.tools
    progress = tools.stoppable("architecture")
    progress(0, _DRY_UPDATES + 1, "build networks")
    data = open_data(config, tools.workspace)
    seed = draw_seed() if config.seed is None else config.seed
    setup = build_training_setup(config, data, seed=seed, begins=False)
    broken = 0
    for update in range(_DRY_UPDATES):
        progress(update + 1, _DRY_UPDATES + 1, "dry run")
        setup.learner.update()
        broken += not bool(all_finite(setup.learner.networks()))
    figures: dict[str, Finding] = {
        "parameter_budgets_broken": float(len(setup.parameters.complaints())),
        "updates_not_finite": float(broken),
    }
    return PhaseFinding(f"{setup.parameters.words}; {_DRY_UPDATES} dry updates", figures=figures)


def walk_prototype(walk: CampaignWalk) -> PhaseFinding:
    """Train a few symbols first; where the data have no more, that is the full run."""
    symbols = walk.prototype_symbols
    if len(symbols) == len(walk.symbols):
        words = f"the data have {len(symbols)} symbols: all of them are trained in phase full"
        return PhaseFinding(words, left_out=True)
    config = override_config(walk.config(), {"symbols": list(symbols)})
    return _train_and_judge(walk, "prototype", config, _FIRST_LOOK)


def walk_tuning(walk: CampaignWalk) -> PhaseFinding:
    """Search settings on the prototype's symbols, where trials are asked for."""
    from tradingbot.campaign.tuning_phase import study_of, tune_settings

    if not walk.request.tune_trials:
        return PhaseFinding("no trials were asked for with --tune", left_out=True)
    study = study_of(walk.request, walk.config(), walk.prototype_symbols)
    tuned = tune_settings(study, walk.tools)
    walk.best, walk.tuned_keys = tuned.preset, tuned.keys
    return PhaseFinding(tuned.words)


def walk_full(walk: CampaignWalk) -> PhaseFinding:
    """Train every symbol, then the whole dossier: walk-forward, seeds and the rest."""
    walk.full = _train_and_judge(walk, "full", walk.config(), walk.request.evaluation)
    return walk.full


def walk_master(walk: CampaignWalk) -> PhaseFinding:
    """Allocate capital among the agents of the full run, by a training of its own."""
    request = walk.request
    if request.master == NO_MASTER:
        return PhaseFinding("no master was asked for", left_out=True)
    try:
        config = master_config(request, walk.config().symbols)
        refuse_early(config, walk.tools.workspace)
    except UserError as e:
        return PhaseFinding(f"a master over the agents cannot be trained: {e}", left_out=True)
    walk.master = _train_and_judge(walk, "master", config, request.evaluation)
    return walk.master


def walk_final(walk: CampaignWalk) -> PhaseFinding:
    """Read the verdict: that of the portfolio where there is a master, else that of the agents."""
    judged, of = (walk.master, "portfolio") if walk.master is not None else (walk.full, "agents")
    assert judged is not None  # the phase before
    verdict = "" if judged.memo is None else f"{judged.memo.verdict}: {judged.memo.headline}"
    return replace(judged, words=f"{verdict} Judged: the {of} of run {judged.run}.", run="")


PHASES: Mapping[str, Phase] = {
    "data": walk_data,
    "environment": walk_environment,
    "architecture": walk_architecture,
    "prototype": walk_prototype,
    "tuning": walk_tuning,
    "full": walk_full,
    "master": walk_master,
    "final": walk_final,
}


def _train_and_judge(
    walk: CampaignWalk, phase: str, config: TrainConfig, evaluation: str
) -> PhaseFinding:
    request, tools = walk.request, walk.tools
    name = request.run_name(phase)
    result = train_run(name, config, tools)
    options = dict(request.evaluation_options) if evaluation == request.evaluation else {}
    settings = load_evaluate_config(evaluation, options)
    command = _evaluate_command(name, evaluation, options)
    found = evaluate_phase(name, settings, request.gates, command, tools)
    words = f"{_who_trades(result)}; {found.memo.verdict}: {found.memo.headline}"
    return PhaseFinding(words, name, dossier=found.dossier, memo=found.memo)


def _evaluate_command(run: str, preset: str, options: Mapping[str, object]) -> str:
    """Return the command that makes a dossier again; by it a campaign knows its own."""
    words = ["tradingbot", "evaluate", run, "--preset", preset]
    for key, value in options.items():
        words += ["--set", f"{key}={value if isinstance(value, str) else json.dumps(value)}"]
    return shlex.join(words)


def _who_trades(result: TrainResult) -> str:
    trading, agents = len(result.trading_agents), result.parts[-1].agents
    if [row.agent for row in agents] == [PORTFOLIO]:
        return "the master divides capital" if trading else "the master stays in cash"
    return f"{trading} of {len(agents)} agents trade"
