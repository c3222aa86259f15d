"""Models of a workspace: trained, proved, joined to worlds and training data, backtested."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fixtures.tiny_training import tiny_config
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.evaluation.analyses import probability_thresholds as thresholds_module
from tradingbot.evaluation.analyses.counterfactual_data import CounterfactualData
from tradingbot.evaluation.analyses.evaluated_run import open_evaluated_run
from tradingbot.evaluation.analyses.probability_thresholds import (
    HOLD,
    ThresholdTable,
    backtest_thresholds,
)
from tradingbot.runs.ledger import Ledger
from tradingbot.runs.receipt import RECEIPT_FILE, read_receipts
from tradingbot.supervised import FitConfig, FoldConfig, LabelConfig
from tradingbot.supervised.joined_world import join_models
from tradingbot.supervised.model_manifest import ModelManifest, list_models
from tradingbot.supervised.model_names import models_folder
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import load_train_config, override_config
from tradingbot.training.data import open_data
from tradingbot.training.session import begin_run
from tradingbot.training.supervised import fit as fit_module
from tradingbot.training.supervised.data import open_source
from tradingbot.training.supervised.fit import ModelRequest, train_model
from tradingbot.training.trial_ledger import data_key

FIT = FitConfig(LabelConfig(horizon_bars=3), FoldConfig(n_blocks=3, embargo_bars=2))
TREES = {"max_rounds": 8, "min_leaf_bars": 20, "patience": 3}


def config() -> TrainConfig:
    return load_train_config("quick", {"market.start": "2025-02-03"})


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def trained(workspace: Path) -> ModelManifest:
    request = ModelRequest("trees", "lightgbm", TREES, FIT, proof_rounds=1)
    return train_model(config(), request, workspace)


def test_manifest_says_data_scores_proof_and_versions(trained: ModelManifest) -> None:
    assert trained.data.synthetic
    assert trained.data.train_stop == open_source(config(), Path()).split.train.stop
    assert set(trained.scores) >= {"out_of_fold", "out_of_fold_raw", "test", "test_raw"}
    test = trained.scores["test"]
    assert test["gain_low"] <= test["gain_nats"] <= test["gain_high"]
    assert trained.proof.comparisons > 10_000
    assert {"tradingbot", "torch", "lightgbm"} <= set(trained.versions)
    assert trained.settings["max_rounds"] == 8
    assert abs(sum(trained.base_rates) - 1.0) < 1e-9


def test_fit_is_a_trial_of_the_bars_that_runs_would_be_counted_by(
    workspace: Path, trained: ModelManifest
) -> None:
    with pytest.raises(ConfigError, match="free"):  # nothing is tried, nothing counted
        train_model(config(), ModelRequest("trees"), workspace)

    trials = Ledger(workspace).trials(
        data_key(open_data(config(), workspace).identity), kinds=("training",)
    )

    assert [(trial.run, trial.sharpe_per_bar) for trial in trials] == [("supervised/trees", None)]


def test_fit_that_fails_was_tried(tmp_path: Path) -> None:
    short = override_config(config(), {"market.start": "2025-08-25"})
    with pytest.raises(DataError):
        train_model(short, ModelRequest("short", "lightgbm", TREES, FIT), tmp_path)

    assert [entry.run for entry in Ledger(tmp_path).entries()] == ["supervised/short"]


def test_thresholds_on_the_test_part_are_looks_and_on_validation_are_not(
    workspace: Path, trained: ModelManifest
) -> None:
    def looks(**options: object) -> int:
        backtest_thresholds("trees", workspace, **options)  # type: ignore[arg-type]
        data = data_key(open_data(config(), workspace).identity)
        trials = Ledger(workspace).trials(data, kinds=("evaluation",))
        assert {trial.run for trial in trials} == {"supervised/trees"}
        return len(trials)

    first = looks(thresholds=(0.91, 0.92))

    assert looks(thresholds=(0.92, 0.91)) == first
    assert looks(thresholds=(0.93,), part="validation") == first
    assert looks(thresholds=(0.92, 0.93)) == first + 1
    assert looks(thresholds=(0.92, 0.93), costs="retail") == first + 3
    ledger = Ledger(workspace)
    seen = read_receipts(models_folder(workspace) / "trees" / RECEIPT_FILE)
    entries = ledger.entries()
    assert {each.sequence for each in seen} == {each.sequence for each in entries}
    assert {each.kind for each in entries} == {"training", "evaluation"}
    ledger.require_receipts()


def test_thresholds_that_are_refused_are_not_counted(
    workspace: Path, trained: ModelManifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise DataError("bars must be more", was="few")

    monkeypatch.setattr(thresholds_module, "backtest_all", refuse)
    before = Ledger(workspace).entries()

    with pytest.raises(DataError, match="bars must be more"):
        backtest_thresholds("trees", workspace, thresholds=(0.97,))

    assert Ledger(workspace).entries() == before


def test_training_data_shows_probabilities_when_asked_and_thirds_when_not(
    workspace: Path, trained: ModelManifest
) -> None:
    plain = open_data(config(), workspace)
    shown = open_data(override_config(config(), {"task.probabilities": "trees"}), workspace)

    assert (plain.world.probabilities == np.float32(1 / 3)).all()
    first = trained.stages[0].from_bar
    assert (shown.world.probabilities[:, :first] == np.float32(1 / 3)).all()
    assert np.ptp(shown.world.probabilities[:, trained.data.train_stop :, 2]) > 0.0
    assert np.array_equal(plain.world.features, shown.world.features)
    assert plain.identity.data_sha256 != shown.identity.data_sha256
    assert "trees" in shown.identity.label


def test_model_of_other_data_is_refused(workspace: Path, trained: ModelManifest) -> None:
    other = override_config(config(), {"task.probabilities": "trees", "market.seed": 8})

    with pytest.raises(DataError, match="fitted on this data"):
        open_data(other, workspace)


def test_model_that_saw_what_is_now_tested_is_refused(
    workspace: Path, trained: ModelManifest
) -> None:
    source, data = open_source(config(), workspace), open_data(config(), workspace)
    early = replace(source.split, train=IndexRange(0, source.split.train.stop - 1))

    with pytest.raises(DataError, match="validated or tested"):
        join_models(data.whole, source.table, early, names="trees", workspace=workspace)


def test_unknown_model_is_refused(workspace: Path, trained: ModelManifest) -> None:
    with pytest.raises(ConfigError, match="trees"):
        open_data(override_config(config(), {"task.probabilities": "tree"}), workspace)


def test_name_is_refused_before_anything_is_fitted(workspace: Path, trained: ModelManifest) -> None:
    with pytest.raises(ConfigError, match="free"):
        train_model(config(), ModelRequest("trees"), workspace)


def test_damaged_model_is_listed_with_its_problem(tmp_path: Path) -> None:
    folder = models_folder(tmp_path) / "broken"
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text("{")

    (line,) = list_models(tmp_path)

    assert line.manifest is None
    assert "manifest" in line.problem


@pytest.fixture(scope="module")
def table(workspace: Path, trained: ModelManifest) -> ThresholdTable:
    return backtest_thresholds("trees", workspace, thresholds=(0.0, 0.36, 1.0))


def test_thresholds_trade_less_the_higher_they_are(workspace: Path, table: ThresholdTable) -> None:
    always, some, never, hold = (line.performance for line in table.lines)
    assert hold.policy == HOLD
    assert always.total_return_frac == pytest.approx(hold.total_return_frac, abs=1e-12)
    assert always.exposure_frac > some.exposure_frac > never.exposure_frac == 0.0
    assert never.n_trades == 0
    assert never.total_return_frac == 0.0
    assert np.isnan(never.win_rate_frac)
    assert some.n_trades > 0
    assert table.n_bars == len(open_source(config(), workspace).split.test) - 1
    assert table.costs == "alpaca"
    assert table.synthetic


def test_costs_lower_what_a_threshold_earns(workspace: Path, table: ThresholdTable) -> None:
    dear = backtest_thresholds("trees", workspace, thresholds=(0.36,), costs="retail")

    assert dear.costs == "retail"
    assert (
        dear.lines[0].performance.total_return_frac < table.lines[1].performance.total_return_frac
    )


def test_three_models_are_seen_together_by_what_each_says_of_a_rise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fit_module, "_PREFIXES_PER_ROUND", 2)  # proofs are no matter of this test
    config = tiny_config()
    fit = FitConfig(LabelConfig(horizon_bars=3), FoldConfig(n_blocks=3, embargo_bars=2), seed=4)
    small = {"width": 4, "lookback_bars": 4, "max_updates": 4, "batch_windows": 16}
    for kind in ("mlp", "lstm", "gru"):
        settings = small | {"check_updates": 2}
        train_model(config, ModelRequest(kind, kind, settings, fit, proof_rounds=1), tmp_path)
    together = tiny_config(task__probabilities="mlp+lstm+gru")

    seen = open_data(together, tmp_path)

    for place, kind in enumerate(("mlp", "lstm", "gru")):
        alone = open_data(tiny_config(task__probabilities=kind), tmp_path)
        assert np.array_equal(
            seen.world.probabilities[..., place], alone.world.probabilities[..., 2]
        )
    assert seen.identity.feature_ids[-3:] == tuple(
        f"probability_up_of_model_{place}-v1" for place in (1, 2, 3)
    )
    run = begin_run(together, tmp_path, name="seer")
    assert run.result is not None
    subject = open_evaluated_run("seer", tmp_path)
    cuts = np.full(len(subject.data.whole.symbols), 300)
    future = CounterfactualData(subject).another_future(cuts, number=1)
    known = slice(0, 301)
    assert np.array_equal(
        future.probabilities[:, known], subject.data.whole.probabilities[:, known]
    )
    assert not np.array_equal(future.probabilities, subject.data.whole.probabilities)
    for wrong in ("mlp+lstm", "mlp+mlp+gru", "mlp+lstm+nothing"):
        with pytest.raises(ConfigError):
            open_data(tiny_config(task__probabilities=wrong), tmp_path)
