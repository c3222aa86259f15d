"""What a study says of its best: who trades, net of which costs, and beside no tuning at all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fixtures.tiny_training import tiny_config
from fixtures.tiny_tuning import SETTINGS, see_other_bars, skip_training, tiny_study
from tradingbot.runs.ledger import Ledger
from tradingbot.training.config_files import load_train_config
from tradingbot.training.result_file import TrainResult
from tradingbot.tuning import best_trials, session
from tradingbot.tuning.best_trials import RetrainedTrial, best_config, train_untuned
from tradingbot.tuning.evidence import RetrainedRow, TuningEvidence, UntunedRow, write_preset
from tradingbot.tuning.optuna_study import OptunaStudy
from tradingbot.tuning.session import TunedStudy, tune
from tradingbot.tuning.training_trial import TrialProgress
from tradingbot.tuning.trial_record import TrialResult, TuningTrial

SPEC = TuningTrial(3, (("learner.direct.squash_gain", 2.5),), (7,))
TRIAL = TrialResult(SPEC, "finished", 1.0, ((1, 1.0),), 48, 0.1, "h")
ROW = RetrainedRow("first-trial-3", 3, 1.5, 1.77, agents=0, of_agents=2, settings={})


def result_of(score: float, trading: int = 0) -> TrainResult:
    agents = [SimpleNamespace(agent=name) for name in ("AAA", "BBB")]
    made: Any = SimpleNamespace(
        best_mean_sharpe=score,
        trading_agents=("AAA", "BBB")[:trading],
        parts=[SimpleNamespace(agents=agents)],
    )
    told: TrainResult = made
    return told


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> TunedStudy:
    """A study whose best trial earns 1.77 when trained again, and what was tuned 2.00."""

    def end(bench: Any, specs: Any, *_: object) -> list[TrialResult]:
        points = ((1, 0.5),)
        return [TrialResult(each, "finished", 0.5, points, 48, 0.1, "h") for each in specs]

    def train(name: str, *_: object) -> Any:
        score = 2.0 if name.endswith("-preset") else 1.77
        return SimpleNamespace(id=name, record=SimpleNamespace(config_sha256="c")), result_of(score)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "run_trials", end)
        patch.setattr(best_trials, "train_named", train)
        few = tiny_study(settings=replace(SETTINGS, trials=2))
        return tune(replace(few, compares=True), tmp_path_factory.mktemp("evidence"))


def test_headline_says_that_no_agent_trades(tuned: TunedStudy) -> None:
    evidence = tuned.files.evidence

    assert "1.77" in evidence.words
    assert "none of 2 agents trades" in evidence.words
    assert "none of 2 agents trades" in tuned.files.page.read_text()
    one = replace(evidence, retrained=(replace(ROW, agents=1),))
    assert "1 of 2 agents trade" in one.words


def test_costs_that_scores_are_net_of_are_named(tuned: TunedStudy) -> None:
    evidence, page = tuned.files.evidence, tuned.files.page.read_text()

    assert f"net of costs (costs {tiny_config().task.costs})" in evidence.terms
    assert page.count(f"net of costs (costs {tiny_config().task.costs})") >= 2


def test_best_that_is_worse_than_no_tuning_is_not_used_and_it_is_said(tuned: TunedStudy) -> None:
    evidence = tuned.files.evidence

    assert evidence.untuned == UntunedRow("first-preset", 2.0, agents=0, of_agents=2)
    assert not evidence.beats_untuned
    assert "kept as it was" in evidence.choice
    assert tuned.files.preset is not None
    head = tuned.files.preset.read_text().replace("\n# ", " ")
    assert evidence.choice in head
    assert "kept as it was" in tuned.files.page.read_text()


@pytest.mark.parametrize(("before", "beats"), [(1.76, True), (1.77, False), (None, True)])
def test_best_must_be_better_than_what_was_tuned(
    before: float | None, beats: bool, tuned: TunedStudy
) -> None:
    untuned = None if before is None else UntunedRow("first-preset", before, 0, 2)
    found: TuningEvidence = replace(tuned.files.evidence, retrained=(ROW,), untuned=untuned)

    assert found.beats_untuned is beats
    assert bool(found.choice) == (before is not None)


def test_what_was_tuned_is_trained_as_it_is_with_the_seed_of_the_best(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def train(name: str, config: object, *_: object) -> Any:
        asked.append((name, config))
        return SimpleNamespace(id=name), result_of(1.0)

    monkeypatch.setattr(best_trials, "train_named", train)
    best = [RetrainedTrial(TRIAL, "first-trial-3", "c", result_of(1.0))]
    silent = (tmp_path, lambda _: None)

    assert train_untuned(tiny_study(), best, *silent) is None
    for symbols in ((), ("SPY",)):
        train_untuned(replace(tiny_study(), compares=True, symbols=symbols), best, *silent)
    named = replace(tiny_study(), compares=True, config=tiny_config(seed=11))
    train_untuned(named, best, *silent)

    of_all = ("first-preset", tiny_config(seed=7))
    assert asked == [of_all, of_all, ("first-preset", tiny_config(seed=11))]


def test_best_is_trained_again_on_the_symbols_of_the_configuration() -> None:
    request = replace(tiny_study(), symbols=("SPY",))

    assert best_config(request, TRIAL).symbols == request.config.symbols == ("SPY", "AAPL")


def test_seed_of_the_configuration_goes_before_that_of_a_trial() -> None:
    named = replace(tiny_study(), config=tiny_config(seed=11))

    assert (best_config(named, TRIAL).seed, best_config(tiny_study(), TRIAL).seed) == (11, 7)


def test_preset_names_the_file_that_was_tuned_by_its_whole_path(
    tuned: TunedStudy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "mine.yaml").write_text("extends: quick\nbudget: {n_envs: 3}\n")
    monkeypatch.chdir(tmp_path)

    text = write_preset(replace(tiny_study(), preset="mine.yaml"), tuned.files.evidence)
    (tmp_path / "best.yaml").write_text(text.replace("n_envs: 2", ""))  # an option lies over it

    monkeypatch.chdir(tmp_path / "there")
    assert load_train_config(tmp_path / "best.yaml").learner.name == "direct"
    assert str(tmp_path / "mine.yaml") in text


def test_evidence_counts_trials_of_its_own_bars_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = tiny_study(settings=replace(SETTINGS, trials=2))
    skip_training(monkeypatch)
    tune(two, tmp_path)
    see_other_bars(monkeypatch, data_sha256="f" * 64, dataset_sha256="e" * 64)

    found = tune(replace(two, name="second"), tmp_path).files.evidence

    assert found.ledger_trials == 2
    assert len(Ledger(tmp_path).entries()) == 4


def test_score_of_a_trial_is_the_best_point_of_its_curve() -> None:
    bench: Any = SimpleNamespace(config=tiny_config(), settings=SETTINGS)
    pruner: Any = SimpleNamespace(notes={})
    progress = TrialProgress(bench, replace(SPEC, params=()), pruner)
    progress.new_curve().extend([1.0, 3.0, 2.0])

    assert progress.result().score == 3.0


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_later_waves_lie_where_scores_are_high(sign: float, tmp_path: Path) -> None:
    """Of settings that score by their size, larger ones are chosen; of the opposite, smaller."""
    settings = replace(SETTINGS, trials=40, wave=20, random_trials=2)
    key = "learner.direct.squash_gain"
    study = OptunaStudy("s", f"sqlite:///{tmp_path}/s.db", tiny_study().space, settings)
    first = study.choose(0, ())
    gains = [float(dict(trial.params)[key]) for trial in first]
    before = [
        TrialResult(trial, "finished", sign * gain, ((1, sign * gain),), 48, 0.1, "h")
        for trial, gain in zip(first, gains, strict=True)
    ]

    later = [float(dict(trial.params)[key]) for trial in study.choose(1, before)]

    assert sign * (sum(later) / len(later) - sum(gains) / len(gains)) > 1.0
