"""What single phases ask for: the study of tuning, the master's settings, a dossier's options."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer

from fixtures.tiny_campaign import OPTIONS, tiny_campaign
from tradingbot.app.cli import run as run_module
from tradingbot.app.cli.application import run
from tradingbot.campaign import phases
from tradingbot.campaign.master_phase import master_config
from tradingbot.campaign.phases import CampaignWalk
from tradingbot.campaign.request import campaign_config
from tradingbot.campaign.training_phase import PhaseTools
from tradingbot.campaign.tuning_phase import study_of, tune_settings
from tradingbot.executors.processes import ProcessExecutor
from tradingbot.executors.workers import are_elsewhere
from tradingbot.training.config_files import override_config
from tradingbot.tuning import session

GAIN = "learner.direct.squash_gain"


@pytest.fixture
def tools(tmp_path: Path) -> PhaseTools:
    return PhaseTools(tmp_path, lambda *_: None, lambda _: None, lambda: False)


@pytest.fixture
def walking(monkeypatch: pytest.MonkeyPatch) -> list[tuple[bool, int]]:
    """Whether work is done elsewhere, and by how many, of every campaign that would be walked."""
    seen: list[tuple[bool, int]] = []

    def walk(_request: object, _invocation: object, jobs: int, **_: object) -> None:
        seen.append((are_elsewhere(), jobs))
        raise typer.Exit(0)

    monkeypatch.setattr(run_module, "_walk", walk)
    return seen


@pytest.mark.parametrize("given", [f"{GAIN}=2.0", "learner.direct.learning_rate.first=0.01"])
def test_setting_that_is_searched_is_refused_where_tuning_is_asked_for(
    given: str,
    tmp_path: Path,
    walking: list[object],
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = ["--workspace", str(tmp_path), "run", "quick", "--set", given]

    assert run([*command, "--tune", "5"]) == 2
    assert "setting that tuning searches must not be given" in capsys.readouterr().err
    assert not walking
    assert run(command) == 0
    assert run([*command[:-1], "budget.n_envs=2", "--tune", "5"]) == 0
    assert len(walking) == 2


def test_what_tuning_found_goes_before_options(tmp_path: Path, tools: PhaseTools) -> None:
    options = {**OPTIONS, GAIN: 3.0}
    config = campaign_config("quick", options, "tiny-market", generates=True)
    request = tiny_campaign(config=config, options=tuple(options.items()))
    best = tmp_path / "best.yaml"
    best.write_text("extends: quick\nlearner:\n  direct:\n    squash_gain: 9.0\n")

    found = CampaignWalk(request, tools, best=best, tuned_keys=(GAIN,)).config()

    assert found.learner.direct.squash_gain == 9.0
    assert found.seed == 5  # every other option stays


def test_study_of_a_campaign_has_its_seed_and_trains_three_again_on_all_symbols() -> None:
    request = tiny_campaign(tune_trials=8)

    study = study_of(request, request.config, ["SPY"])

    assert (study.settings.seed, study.settings.trials, study.settings.top) == (5, 8, 3)
    assert study.config.symbols == ("SPY", "AAPL")
    assert (study.symbols, study.compares) == (("SPY",), True)
    assert study_of(tiny_campaign(tune_trials=2), request.config, ["SPY"]).settings.top == 2


@pytest.mark.parametrize("beats", [True, False])
def test_best_settings_are_used_only_where_they_beat_the_preset(
    beats: bool, tmp_path: Path, tools: PhaseTools, monkeypatch: pytest.MonkeyPatch
) -> None:
    evidence = SimpleNamespace(words="Best of 2", choice="Because", beats_untuned=beats)
    files = SimpleNamespace(evidence=evidence, preset=tmp_path / "best.yaml")
    monkeypatch.setattr(session, "tune", lambda *_, **__: SimpleNamespace(files=files))
    request = tiny_campaign(tune_trials=2)

    tuned = tune_settings(study_of(request, request.config, ["SPY"]), tools)

    assert tuned.preset == (files.preset if beats else None)
    assert tuned.words == "Best of 2. Because"
    assert GAIN in tuned.keys


def test_master_has_the_parts_rates_and_seed_of_the_campaign() -> None:
    changes = {"splits.train": 0.5, "splits.validation": 0.3, "seed": 77}
    own = override_config(tiny_campaign().config, changes)
    task = own.task.model_copy(update={"cost_rates": {"commission_bps": 7.0}})
    own = own.model_copy(update={"task": task})

    found = master_config(replace(tiny_campaign(), config=own, master="master"), ("SPY",))

    assert found.splits == own.splits
    assert dict(found.task.cost_rates) == {"commission_bps": 7.0}
    assert found.seed == 77
    assert (found.dataset, found.symbols) == (own.dataset, ("SPY",))


def test_options_of_the_evaluation_are_those_of_whole_dossiers_alone(
    tools: PhaseTools, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, object]] = []

    def load(evaluation: str, options: object) -> None:
        asked.append((evaluation, options))

    memo = SimpleNamespace(verdict="GO", headline="words")
    found = SimpleNamespace(dossier=None, memo=memo)
    agents: Any = [SimpleNamespace(agent="SPY")]
    result = SimpleNamespace(trading_agents=(), parts=[SimpleNamespace(agents=agents)])
    monkeypatch.setattr(phases, "train_run", lambda *_: result)
    monkeypatch.setattr(phases, "load_evaluate_config", load)
    monkeypatch.setattr(phases, "evaluate_phase", lambda *_: found)
    request = tiny_campaign(evaluation="full", evaluation_options=(("seeds.count", 2),))
    walk = CampaignWalk(request, tools)

    phases._train_and_judge(walk, "prototype", request.config, "required")
    phases._train_and_judge(walk, "full", request.config, "full")

    assert asked == [("required", {}), ("full", {"seeds.count": 2})]


def test_presets_in_files_are_what_they_say_and_not_where_they_are(tmp_path: Path) -> None:
    first, second = tmp_path / "one.yaml", tmp_path / "two.yaml"
    first.write_text("extends: master\nbudget: {n_envs: 2}\n")
    second.write_text("# the same\nextends: master\nbudget:\n  n_envs: 2\n")
    before = tiny_campaign(master=str(first)).identity

    assert tiny_campaign(master=str(second)).identity == before
    first.write_text("extends: master\nbudget: {n_envs: 4}\n")
    assert tiny_campaign(master=str(first)).identity != before
    dossier = tmp_path / "mine.yaml"
    dossier.write_text("extends: required\n")
    judged = tiny_campaign(evaluation=str(dossier)).identity
    dossier.write_text("extends: required\nseeds: {count: 2}\n")
    assert tiny_campaign(evaluation=str(dossier)).identity != judged


def test_campaign_is_done_by_the_executor_that_is_asked_for(
    tmp_path: Path, walking: list[tuple[bool, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["--workspace", str(tmp_path), "run", "quick"]
    run([*command, "--jobs", "3"])
    monkeypatch.setattr(run_module, "choose_workers", lambda *_: ProcessExecutor)

    run([*command, "--executor", "ray"])

    assert walking[0] == (False, 3)
    assert walking[1][0]
    assert walking[1][1] > 1000  # every CPU of the cluster
