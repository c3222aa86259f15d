"""Phase tuning: settings searched on the prototype's symbols, the best trained on all of them.

What comes out is used only where it is better than the preset without tuning, trained alike on the
same symbols with the same seed, by the score that checkpoints are chosen by.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tradingbot.campaign.request import CampaignRequest
from tradingbot.campaign.training_phase import PhaseTools, session_callbacks
from tradingbot.training.config import TrainConfig
from tradingbot.tuning.request import TuneRequest, TuneSettings
from tradingbot.tuning.search_space import SearchSpace, load_space

TOP = 3
"""Trials that are trained again on all symbols, as `tradingbot tune` does."""


@dataclass(frozen=True)
class TunedSettings:
    """What the phase came to."""

    words: str
    preset: Path | None
    """None where the preset is kept as it was."""
    keys: tuple[str, ...]
    """That were searched."""


def space_of(config: TrainConfig) -> SearchSpace:
    """Return what is searched in a campaign: the space of its learner.

    Raises:
        ConfigError: If there is none of that name.
    """
    return load_space([config.learner.name])


def study_of(request: CampaignRequest, config: TrainConfig, symbols: Sequence[str]) -> TuneRequest:
    """Return the study of a campaign.

    Args:
        request: The campaign.
        config: Of all symbols that get an agent.
        symbols: That trials learn on.
    """
    trials = request.tune_trials
    seed = TuneSettings().seed if config.seed is None else config.seed
    return TuneRequest(
        name=request.run_name("tuning"),
        config=config,
        space=space_of(config),
        settings=TuneSettings(trials=trials, top=min(TOP, trials), seed=seed),
        symbols=tuple(symbols),
        preset=request.preset,
        options=request.options,
        compares=True,
    )


def tune_settings(study: TuneRequest, tools: PhaseTools) -> TunedSettings:
    """Make the study, or what is missing of it, and say what is used from here on.

    Raises:
        InterruptionError: If it was interrupted.
        UserError: If anything is not as it must be.
    """
    from tradingbot.tuning.finished_study import FinishedStudy, read_finished
    from tradingbot.tuning.session import TuneCallbacks, tune
    from tradingbot.tuning.study_files import StudyFiles

    made: FinishedStudy | StudyFiles | None = read_finished(study, tools.workspace)
    if made is None:
        training = session_callbacks(study.config, tools)
        callbacks = TuneCallbacks(tools.progress, tools.note, tools.interrupted, training)
        made = tune(study, tools.workspace, jobs=tools.jobs, callbacks=callbacks).files
    found = made.evidence
    words = ". ".join(text for text in (found.words, found.choice) if text)
    preset = made.preset if found.beats_untuned else None
    return TunedSettings(words, preset, tuple(each.key for each in study.space.parameters))
