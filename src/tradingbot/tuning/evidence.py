"""What a tuned preset rests on: trials, seeds, data and ledger; and the preset itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from tradingbot.configuration.decoding import NOT_SPELLED, document_of_options
from tradingbot.configuration.files import merge, preset_folder
from tradingbot.runs.ledger import Ledger
from tradingbot.training.data import TrainingData
from tradingbot.training.result_file import TrainResult
from tradingbot.training.trial_ledger import data_key
from tradingbot.tuning.best_trials import Found
from tradingbot.tuning.request import TuneRequest
from tradingbot.tuning.search_parameter import Choice

_LINE = 96


@dataclass(frozen=True)
class RetrainedRow:
    """A trial that was trained again."""

    run: str
    trial: int
    trial_score: float
    score: float
    agents: int
    """That validation lets trade."""
    of_agents: int
    settings: Mapping[str, Choice]


@dataclass(frozen=True)
class UntunedRow:
    """What was tuned, trained as it is."""

    run: str
    score: float
    agents: int
    of_agents: int


@dataclass(frozen=True)
class TuningEvidence:
    """What a preset rests on."""

    study: str
    label: str
    synthetic: bool
    data_sha256: str
    """Of the bars, as the ledger has it."""
    validation: str
    """Days of the whole part; its first half was looked at."""
    config_hash: str
    """Of what was tuned."""
    space: tuple[str, ...]
    space_sha256: str
    trials: int
    pruned: int
    failed: int
    seeds: tuple[int, ...]
    """Of the trainings of every trial."""
    seed: int
    """Root of the choice."""
    sampler: str
    pruner: str
    trial_symbols: int
    steps_per_agent: int
    """That trials made, all together."""
    ledger_trials: int
    """Counted on these bars by now, of this study and any other."""
    ledger_sha256: str
    """Of the newest entry of the ledger, which holds the hash of the one before it."""
    retrained: tuple[RetrainedRow, ...]
    """Best first: the preset."""
    command: str
    costs: str
    """Profile of costs that scores are net of, with rates that differ from it."""
    untuned: UntunedRow | None = None
    """None where it was not trained."""

    @property
    def beats_untuned(self) -> bool:
        """Whether the best is better than what was tuned, by the same measure; one must be."""
        if not self.retrained:
            return False
        return self.untuned is None or self.retrained[0].score > self.untuned.score

    @property
    def choice(self) -> str:
        """Which of the two is used, and why; empty where they were not compared."""
        if self.untuned is None or not self.retrained:
            return ""
        best, before = self.retrained[0].score, self.untuned.score
        if self.beats_untuned:
            return f"Used from here on, for the preset without tuning comes to {before:.2f}"
        return (
            f"The preset is kept as it was, for without tuning it comes to {before:.2f} by the "
            f"same measure, and the best trial to {best:.2f}"
        )

    @property
    def words(self) -> str:
        """The answer in a sentence."""
        if not self.retrained:
            return f"{self.study}: no trial finished, there is no preset"
        best = self.retrained[0]
        return (
            f"Best of {self.trials} trials: trial {best.trial}, mean alpha Sharpe {best.score:.2f} "
            f"on the first half of validation when trained again (one estimate, chosen as the "
            f"largest: expect less); {_who_trades(best.agents, best.of_agents)}"
        )

    @property
    def counts(self) -> str:
        """What became of the trials."""
        finished = self.trials - self.pruned - self.failed
        return f"{finished} finished, {self.pruned} were given up early, {self.failed} failed."

    @property
    def terms(self) -> str:
        """What the figures hold for."""
        return (
            f"{self.trial_symbols} symbols per trial; validation {self.validation}, net of costs "
            f"({self.costs}); {self.sampler} sampler, {self.pruner} pruner, seed {self.seed}, "
            f"training seeds {', '.join(map(str, self.seeds))}; {self.ledger_trials} trials of "
            f"these bars in the ledger ({self.ledger_sha256[:12]})."
        )


def gather_evidence(
    request: TuneRequest,
    found: Found,
    data: TrainingData,
    workspace: Path,
) -> TuningEvidence:
    """Write down what a preset rests on.

    Raises:
        StorageError: If the ledger is not whole.
    """
    ledger, key, results = Ledger(workspace), data_key(data.identity), found.results
    entries = ledger.entries()
    states = [each.state for each in results]
    rows = tuple(
        RetrainedRow(
            run=each.run,
            trial=each.trial.spec.number,
            trial_score=each.trial.score or 0.0,
            score=each.score,
            agents=len(each.result.trading_agents),
            of_agents=_count_agents(each.result),
            settings=dict(each.trial.spec.params),
        )
        for each in found.retrained
    )
    untuned = found.untuned
    return TuningEvidence(
        study=request.name,
        label=data.identity.label,
        synthetic=data.identity.synthetic,
        data_sha256=key,
        validation=str(data.periods["validation"]),
        config_hash=request.config.config_hash,
        space=request.space.names,
        space_sha256=request.space.sha256,
        trials=len(results),
        pruned=states.count("pruned"),
        failed=states.count("failed"),
        seeds=results[0].spec.seeds if results else (),
        seed=request.settings.seed,
        sampler=request.settings.sampler,
        pruner=request.settings.pruner,
        trial_symbols=len(data.world.symbols),
        steps_per_agent=sum(each.steps_per_agent for each in results),
        ledger_trials=len(ledger.trials(key)),
        ledger_sha256=entries[-1].sha256 if entries else "",
        retrained=rows,
        command=request.command,
        costs=_costs_words(request),
        untuned=None
        if untuned is None
        else UntunedRow(
            *(untuned.run, untuned.score, len(untuned.result.trading_agents)),
            of_agents=_count_agents(untuned.result),
        ),
    )


def _count_agents(result: TrainResult) -> int:
    return len(result.parts[-1].agents)


def _who_trades(trading: int, agents: int) -> str:
    """Say how many agents the other half of validation lets trade: a score alone does not."""
    if trading == 0:
        return f"none of {agents} agents trades: the second half of validation bears none out"
    return f"{trading} of {agents} agents trade"


def _costs_words(request: TuneRequest) -> str:
    task = request.config.task
    rates = [f"{key} {rate:g}" for key, rate in sorted(task.cost_rates.items())]
    return ", ".join([f"costs {task.costs}", *rates])


def write_preset(request: TuneRequest, evidence: TuningEvidence) -> str:
    """Return the best settings as a preset that `tradingbot train --preset FILE` reads."""
    best = evidence.retrained[0]
    lines = [
        f"Tuned by the study {evidence.study}: trial {best.trial} of {evidence.trials}.",
        evidence.words + ".",
        evidence.terms,
        f"Data: {evidence.label}, {evidence.data_sha256}.",
        f"Ledger: {evidence.ledger_sha256}. Run trained again: {best.run}.",
        *([f"{evidence.choice}."] if evidence.choice else []),
    ]
    head = "".join(f"# {line}\n" for text in lines for line in _folded(text))
    given = document_of_options(dict(request.options), NOT_SPELLED)
    values = merge(given, document_of_options(best.settings, NOT_SPELLED)).values
    values.pop("seed", None)
    content = {"extends": _parent(request.preset), **values}
    return head + yaml.safe_dump(content, sort_keys=False, allow_unicode=True)


def _parent(preset: str) -> str:
    """Return what a preset is an extension of; a file by its whole path."""
    is_packaged = (preset_folder("training") / f"{preset}.yaml").is_file()
    return preset if is_packaged else str(Path(preset).expanduser().absolute())


def _folded(text: str) -> list[str]:
    lines, line = [], ""
    for word in text.split():
        if line and len(line) + len(word) + 1 > _LINE:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return [*lines, line]
