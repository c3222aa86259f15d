"""What a tuned preset rests on: trials, seeds, data and ledger; and the preset itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from tradingbot.configuration.decoding import NOT_SPELLED, document_of_options
from tradingbot.configuration.files import merge, preset_folder
from tradingbot.runs.ledger import Ledger
from tradingbot.training.data import TrainingData
from tradingbot.training.trial_ledger import data_key
from tradingbot.tuning.best_trials import RetrainedTrial
from tradingbot.tuning.request import TuneRequest
from tradingbot.tuning.search_space import Choice
from tradingbot.tuning.trial_record import TrialResult

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
    settings: Mapping[str, Choice]


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

    @property
    def words(self) -> str:
        """The answer in a sentence."""
        if not self.retrained:
            return f"{self.study}: no trial finished, there is no preset"
        best = self.retrained[0]
        return (
            f"Best of {self.trials} trials: trial {best.trial}, mean alpha Sharpe {best.score:.2f} "
            f"on the first half of validation when trained again (one estimate, chosen as the "
            f"largest: expect less)"
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
            f"{self.trial_symbols} symbols per trial; validation {self.validation}, net of costs; "
            f"{self.sampler} sampler, {self.pruner} pruner, seed {self.seed}, training seeds "
            f"{', '.join(map(str, self.seeds))}; {self.ledger_trials} trials of these bars in the "
            f"ledger ({self.ledger_sha256[:12]})."
        )


def gather_evidence(
    request: TuneRequest,
    results: Sequence[TrialResult],
    retrained: Sequence[RetrainedTrial],
    data: TrainingData,
    workspace: Path,
) -> TuningEvidence:
    """Write down what a preset rests on.

    Raises:
        StorageError: If the ledger is not whole.
    """
    ledger, key = Ledger(workspace), data_key(data.identity)
    entries = ledger.entries()
    states = [each.state for each in results]
    rows = tuple(
        RetrainedRow(
            run=each.run,
            trial=each.trial.spec.number,
            trial_score=each.trial.score or 0.0,
            score=each.score,
            agents=len(each.result.trading_agents),
            settings=dict(each.trial.spec.params),
        )
        for each in retrained
    )
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
    )


def write_preset(request: TuneRequest, evidence: TuningEvidence) -> str:
    """Return the best settings as a preset that `tradingbot train --preset FILE` reads."""
    best = evidence.retrained[0]
    lines = [
        f"Tuned by the study {evidence.study}: trial {best.trial} of {evidence.trials}.",
        evidence.words + ".",
        evidence.terms,
        f"Data: {evidence.label}, {evidence.data_sha256}.",
        f"Ledger: {evidence.ledger_sha256}. Run trained again: {best.run}.",
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
