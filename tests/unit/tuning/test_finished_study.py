"""A study that has nothing left to do is found by other code too, and never on other data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fixtures.tiny_tuning import SETTINGS, see_other_bars, skip_training, tiny_study
from tradingbot.campaign.training_phase import PhaseTools
from tradingbot.campaign.tuning_phase import TunedSettings, tune_settings
from tradingbot.domain.errors import ConfigError
from tradingbot.tuning import session, study_facts
from tradingbot.tuning.best_trials import RetrainedTrial, UntunedRun
from tradingbot.tuning.trial_record import TrialResult

STUDY = replace(tiny_study(settings=replace(SETTINGS, trials=2)), compares=True)


def result_of(score: float) -> Any:
    parts = [SimpleNamespace(agents=())]
    return SimpleNamespace(best_mean_sharpe=score, trading_agents=(), parts=parts)


@pytest.fixture(autouse=True)
def _no_training() -> Iterator[None]:
    """The best trial comes to 2.5 when it is trained again, the preset to 1.5."""

    def again(_request: object, results: list[TrialResult], *_: object) -> list[RetrainedTrial]:
        return [RetrainedTrial(results[-1], "best", "hash", result_of(2.5))]

    with pytest.MonkeyPatch.context() as patch:
        skip_training(patch)
        patch.setattr(session, "retrain_best", again)
        patch.setattr(session, "train_untuned", lambda *_: UntunedRun("as it is", result_of(1.5)))
        yield


@pytest.fixture
def tools(tmp_path: Path) -> PhaseTools:
    return PhaseTools(tmp_path, lambda *_: None, lambda _: None, lambda: False)


@pytest.fixture
def made(tools: PhaseTools) -> TunedSettings:
    return tune_settings(STUDY, tools)


def test_finished_study_is_found_by_other_code(
    made: TunedSettings, tools: PhaseTools, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert made.preset is not None
    told = made.preset.read_text()
    made.preset.write_text("extends: quick\n")  # edited
    monkeypatch.setattr(study_facts, "source_sha256", lambda: "c" * 64)

    assert tune_settings(STUDY, tools) == made
    assert made.preset.read_text() == told
    assert "without tuning comes to 1.50" in made.words


def test_study_that_is_not_finished_needs_the_code_it_began_with(
    made: TunedSettings, tools: PhaseTools, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study_facts, "source_sha256", lambda: "c" * 64)
    more = replace(STUDY, settings=replace(STUDY.settings, trials=3))
    with pytest.raises(ConfigError, match="code: "):
        tune_settings(more, tools)

    assert made.preset is not None
    made.preset.unlink()  # killed before it was written
    with pytest.raises(ConfigError, match="code: "):
        tune_settings(STUDY, tools)


def test_finished_study_of_other_data_or_settings_is_refused(
    made: TunedSettings, tools: PhaseTools, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = replace(STUDY, settings=replace(STUDY.settings, seed=1))
    with pytest.raises(ConfigError, match="configuration, space and settings it began with"):
        tune_settings(other, tools)

    see_other_bars(monkeypatch, dataset_sha256="e" * 64)
    with pytest.raises(ConfigError, match="bars: "):
        tune_settings(STUDY, tools)
