"""Phases that train and judge: a stop is heard in each, and the gates are the campaign's own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from fixtures.tiny_campaign import tiny_campaign
from tradingbot.campaign import phases, training_phase
from tradingbot.campaign.phases import CampaignWalk, Phase, walk_full
from tradingbot.campaign.training_phase import PhaseTools, evaluate_phase
from tradingbot.campaign.tuning_phase import study_of, tune_settings
from tradingbot.domain.errors import InterruptionError
from tradingbot.evaluation.pipeline.config import load_evaluate_config
from tradingbot.evaluation.pipeline.session import EvaluationRequest
from tradingbot.executors.executor import Progress
from tradingbot.tuning import session
from tradingbot.tuning.session import TuneCallbacks


@pytest.fixture
def tools(tmp_path: Path) -> PhaseTools:
    return PhaseTools(tmp_path, lambda *_: None, lambda _: None, lambda: False)


@pytest.mark.parametrize("is_stopped", [True, False])
def test_evaluation_hears_a_stop_between_its_analyses(
    is_stopped: bool, tools: PhaseTools, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def evaluate(_request: object, _workspace: Path, *, jobs: int, progress: Progress) -> None:
        for done in range(3):
            progress(done, 3, "an analysis")
            made.append(f"{done} with {jobs}")

    monkeypatch.setattr(training_phase, "evaluate_run", evaluate)
    monkeypatch.setattr(training_phase, "find_evaluation", lambda *_: None)
    asked = replace(tools, interrupted=lambda: is_stopped and len(made) == 2)
    given = ("tiny-full", load_evaluate_config("required"), "product", "command", asked)
    if is_stopped:
        with pytest.raises(InterruptionError):
            evaluate_phase(*given)
    else:
        evaluate_phase(*given)

    assert len(made) == (2 if is_stopped else 3)


@pytest.mark.parametrize("is_stopped", [True, False])
def test_tuning_and_its_trainings_are_asked_whether_they_are_stopped(
    is_stopped: bool, tools: PhaseTools, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[bool] = []

    def tune(*_: object, callbacks: TuneCallbacks, **__: object) -> None:
        assert callbacks.training is not None
        heard.extend((callbacks.interrupted(), callbacks.training.interrupted()))
        raise InterruptionError("tuning")

    monkeypatch.setattr(session, "tune", tune)
    request = tiny_campaign(tune_trials=2)
    stopped = replace(tools, interrupted=lambda: is_stopped)
    with pytest.raises(InterruptionError):
        tune_settings(study_of(request, request.config, ["SPY"]), stopped)

    assert heard == [is_stopped, is_stopped]


def test_gates_of_the_campaign_are_those_of_its_memo(
    tools: PhaseTools, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged: list[str] = []

    def evaluate(request: EvaluationRequest, *_: object, **__: object) -> SimpleNamespace:
        judged.append(str(request.gates))
        return SimpleNamespace(dossier=None, memo=SimpleNamespace(verdict="GO", headline="words"))

    result = SimpleNamespace(trading_agents=(), parts=[SimpleNamespace(agents=())])
    monkeypatch.setattr(phases, "train_run", lambda *_: result)
    monkeypatch.setattr(training_phase, "evaluate_run", evaluate)
    monkeypatch.setattr(training_phase, "find_evaluation", lambda *_: None)

    walk_full(CampaignWalk(tiny_campaign(gates="mine.yaml"), tools))

    assert judged == ["mine.yaml"]


@pytest.mark.parametrize("phase", [phases.walk_data, phases.walk_architecture])
def test_phases_before_trainings_hear_a_stop(
    phase: Phase, tools: PhaseTools, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped = replace(tools, interrupted=lambda: True)

    with pytest.raises(InterruptionError):
        phase(CampaignWalk(tiny_campaign(), stopped))
