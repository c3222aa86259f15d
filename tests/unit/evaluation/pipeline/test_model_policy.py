"""`tradingbot backtest model:NAME`: a supervised model by the one backtester, on unseen bars."""

from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from fixtures.described_data import describe_panel
from fixtures.tiny_training import tiny_config
from tradingbot.agents.baselines.probability_threshold import ProbabilityThreshold
from tradingbot.configuration.pipeline import MarketConfig
from tradingbot.data.ingest import ingest
from tradingbot.data.splits import IndexRange
from tradingbot.data.store import BarStore
from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.evaluation.analyses.probability_thresholds import backtest_thresholds
from tradingbot.evaluation.market_rollouts import market_of_source
from tradingbot.evaluation.pipeline.backtest_figures import BacktestFigures
from tradingbot.evaluation.pipeline.backtest_terms import BacktestTerms
from tradingbot.evaluation.pipeline.backtests import NamedBacktests, backtest_named
from tradingbot.evaluation.pipeline.model_policy import open_traded_model
from tradingbot.evaluation.pipeline.test_access import count_test_access
from tradingbot.evaluation.policy_names import (
    require_known_policies,
    require_models_fit,
    require_models_later,
)
from tradingbot.features.pipeline import synthetic_source
from tradingbot.market.costs import cost_profile
from tradingbot.runs.ledger import Ledger
from tradingbot.supervised import FitConfig, FoldConfig, LabelConfig
from tradingbot.supervised.model_files import open_model
from tradingbot.supervised.model_manifest import ModelManifest
from tradingbot.supervised.model_names import models_folder
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import load_train_config
from tradingbot.training.supervised import fit

FIT = FitConfig(LabelConfig(horizon_bars=3), FoldConfig(n_blocks=3, embargo_bars=2))
TREES = {"max_rounds": 8, "min_leaf_bars": 20, "patience": 3}


CONFIG = load_train_config("quick", {"market.start": "2025-02-03"})


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def trees(workspace: Path) -> ModelManifest:
    return fitted_on(CONFIG, "trees", workspace)


def fitted_on(config: TrainConfig, name: str, workspace: Path) -> ModelManifest:
    """Fit a model without the proof of its causality: that takes longest, and has its own tests."""
    proof = SimpleNamespace(comparisons=1, recomputations=1, seed=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fit, "prove_model", lambda *_, **__: proof)
        return fit.train_model(config, fit.ModelRequest(name, "lightgbm", TREES, FIT), workspace)


def later(manifest: ModelManifest) -> date:
    return date.fromisoformat(manifest.data.last_day) + timedelta(days=1)


def only(played: NamedBacktests) -> BacktestFigures:
    (figures,) = played.figures()
    return figures


def looks(workspace: Path) -> int:
    entries = Ledger(workspace).entries(run="supervised/trees")
    return sum(entry.kind == "evaluation" for entry in entries)


def test_model_trades_its_own_test_part_as_supervised_backtest_does(
    workspace: Path, trees: ModelManifest
) -> None:
    level = round(trees.base_rates[2], 3)
    played = backtest_named(["model:trees", "buy_and_hold"], workspace, BacktestTerms())
    model, hold = played.figures()

    table = backtest_thresholds("trees", workspace, thresholds=(level,))

    theirs = table.lines[0].performance
    assert model.performance.policy == "model:trees (out of sample)"
    assert model.performance.kind == "supervised"
    assert model.performance.n_trades == theirs.n_trades > 0
    assert model.performance.total_return_frac == theirs.total_return_frac
    assert model.bars == table.n_bars == hold.bars
    fitted = f"fitted on {trees.data.first_day} … {trees.data.last_day}."
    assert model.note == (
        f"model:trees (lightgbm): long while P(up) ≥ {level:g}, else flat; {fitted}"
    )
    assert hold.note == ""
    before = looks(workspace)
    count_test_access(played.accesses)
    assert looks(workspace) == before  # the same look by another command
    count_test_access(backtest_named(["model:trees"], workspace, _terms(delay_bars=1)).accesses)
    assert looks(workspace) == before + 1


def test_model_of_relative_features_trades_its_own_bars_and_is_refused_on_other_features(
    workspace: Path,
) -> None:
    config = load_train_config("quick", {"market.start": "2025-02-03", "features": "relative"})
    manifest = fitted_on(config, "own_moves", workspace)
    assert "residual_1" in manifest.features

    ours = only(backtest_named(["model:own_moves"], workspace, BacktestTerms()))

    level = round(manifest.base_rates[2], 3)
    theirs = backtest_thresholds("own_moves", workspace, thresholds=(level,)).lines[0].performance
    assert ours.performance.n_trades == theirs.n_trades > 0
    assert ours.performance.total_return_frac == theirs.total_return_frac
    plain = market_of_source(synthetic_source(CONFIG.market))
    with pytest.raises(DataError, match="features that the model was fitted on"):
        backtest_named(["model:own_moves"], workspace, BacktestTerms(), market=plain)


def test_late_begin_and_silence_of_a_model_are_told(workspace: Path, trees: ModelManifest) -> None:
    first = date.fromisoformat(trees.data.first_day)
    early = first - timedelta(days=30)

    figures = only(backtest_named(["model:trees"], workspace, _terms(start=early)))

    began, reason = figures.begins.split(": ", maxsplit=1)
    assert began == f"Begins on {figures.first_day} instead of {early}"
    assert reason.startswith("the data begin on ")
    assert "are the past that features, rules or models need first" in reason
    assert "Flat before " in figures.note
    late = only(backtest_named(["model:trees"], workspace, _terms(start=later(trees))))
    assert (late.begins, "Flat before" in late.note) == ("", False)


def test_generated_market_is_refused_by_its_days_before_it_is_made(
    workspace: Path, trees: ModelManifest
) -> None:
    own = {key: trees.config["market"][key] for key in ("name", "universe", "seed")}
    day, before = later(trees), later(trees) - timedelta(days=1)
    for market in (own | {"seed": -1}, own | {"name": "noise"}):
        with pytest.raises(DataError, match="bars must lie after those"):
            require_models_later(["model:trees"], workspace, market, None, before)
        require_models_later(["model:trees"], workspace, market, day, before)
    require_models_later(["model:trees", "macd"], workspace, own, None, before)


def _terms(**options: object) -> BacktestTerms:
    return replace(BacktestTerms(), **options)  # type: ignore[arg-type]


def test_threshold_costs_and_days_act(workspace: Path, trees: ModelManifest) -> None:
    names = [f"model:trees{more}" for more in (":threshold=0", ":threshold=1", "")]
    always, never, usual = backtest_named(names, workspace, BacktestTerms()).figures()
    begins = date.fromisoformat(always.last_day) - timedelta(days=9)
    dear = only(
        backtest_named(
            ["model:trees"], workspace, _terms(costs=cost_profile("retail"), start=begins)
        )
    )

    assert always.performance.policy == "model:trees:threshold=0 (out of sample)"
    assert "P(up) ≥ 1, else flat" in never.note
    exposures = [each.performance.exposure_frac for each in (always, usual, never)]
    assert exposures[0] > 0.9 > exposures[1] > exposures[2] == 0.0
    assert dear.bars < always.bars
    shares = [each.performance.cost_share_frac for each in (dear, usual)]
    assert dear.costs.one_way_frac > usual.costs.one_way_frac
    assert shares[0] != shares[1]


def test_training_part_is_out_of_fold_and_silent_before_the_first_stage(
    workspace: Path, trees: ModelManifest
) -> None:
    played = backtest_named(["model:trees:threshold=0.3"], workspace, _terms(part="train"))

    (found,) = played.backtests
    assert found.policy == "model:trees:threshold=0.3 (out of fold)"
    assert played.accesses == ()  # no test bar was looked at
    held = np.abs(found.position_frac).sum(axis=1)
    begun = int(np.searchsorted(found.closed_at, _closed_at(trees.stages[0].from_bar)))
    assert begun > 100
    assert not held[:begun].any()
    assert held[begun:].any()


def _closed_at(bar: int) -> np.int64:
    market = market_of_source(synthetic_source(CONFIG.market), prices_alone=True)
    return np.int64(market.world.closed_at[bar])


def test_model_beside_a_run_trades_its_symbols_and_bars(
    evaluated_workspace: Path, tmp_path: Path
) -> None:
    workspace = Path(shutil.copytree(evaluated_workspace, tmp_path / "workspace"))
    fitted = fitted_on(tiny_config(), "small", workspace)

    run, model = backtest_named(["tiny", "model:small"], workspace, BacktestTerms()).backtests
    assert run.policy == "tiny"

    assert model.policy == "model:small (out of sample)"
    assert model.symbols == run.symbols
    assert len(model.symbols) < len(fitted.data.symbols)
    assert np.array_equal(model.closed_at, run.closed_at)
    alone = backtest_named(["model:small"], workspace, BacktestTerms()).backtests[0]
    assert alone.position_frac.any()
    rows = [alone.symbols.index(symbol) for symbol in model.symbols]
    held = alone.position_frac[:, rows] > 0.0
    assert np.array_equal(held, model.position_frac > 0.0)  # costs are the run's


def test_other_data_is_traded_after_the_training_part_alone(
    workspace: Path, trees: ModelManifest
) -> None:
    changed = CONFIG.market.model_copy(update={"seed": 8})
    other = market_of_source(synthetic_source(changed))

    with pytest.raises(DataError) as caught:
        backtest_named(["model:trees"], workspace, BacktestTerms(), market=other)
    played = backtest_named(
        ["model:trees"], workspace, _terms(start=later(trees), cost_bps=3.0), market=other
    )

    assert "bars must lie after those that the model was fitted on" in str(caught.value)
    assert f"--from a day after {trees.data.last_day}" in str(caught.value)
    figures = only(played)
    assert figures.performance.policy == "model:trees (out of sample)"
    assert "on other data than these" in figures.note
    assert figures.first_day > trees.data.last_day
    assert figures.performance.n_trades > 0
    (access,) = played.accesses
    assert access.data != Ledger(workspace).entries(run="supervised/trees")[0].data


def test_on_other_data_the_last_stage_speaks_from_the_day_after_the_training_part(
    workspace: Path, trees: ModelManifest
) -> None:
    changed = CONFIG.market.model_copy(update={"seed": 8})
    other = market_of_source(synthetic_source(changed))
    assert other.table is not None
    table, last_day = other.table(), date.fromisoformat(trees.data.last_day)

    traded = open_traded_model("model:trees", workspace, other)

    first, days = traded.first_bar, other.world.closed_at.astype("datetime64[us]")
    assert days[first - 1].item().date() == last_day < days[first].item().date()
    with pytest.raises(DataError, match=f"--from a day after {last_day}"):
        backtest_named(["model:trees"], workspace, _terms(start=last_day), market=other)
    stages = open_model(models_folder(workspace), "trees")[0].stages
    early, late = (
        stage.calibration.apply(stage.model.probabilities(table, IndexRange(first, table.n_bars)))
        for stage in (stages[0], stages[-1])
    )
    assert isinstance(traded.policy, ProbabilityThreshold)
    spoken = traded.policy.chances.numpy().reshape(len(table.symbols), table.n_bars, 3)
    valid = table.valid[:, first:]
    assert not spoken[:, :first].any()
    np.testing.assert_array_equal(spoken[:, first:][valid], late[valid].astype(np.float32))
    assert np.abs(early[valid] - late[valid]).max() > 0.01


def test_own_data_given_by_name_begins_where_the_model_speaks(
    workspace: Path, trees: ModelManifest
) -> None:
    same = market_of_source(synthetic_source(CONFIG.market), prices_alone=True)

    (found,) = backtest_named(["model:trees"], workspace, BacktestTerms(), market=same).backtests

    assert found.policy == "model:trees (out of fold, then out of sample)"
    assert found.closed_at[0] == same.world.closed_at[trees.stages[0].from_bar]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("model:tree", "Did you mean 'trees'?"),
        ("model:trees:level=0.4", "parameter of model:trees must be threshold, was 'level'"),
        ("model:trees:threshold=40", r"must lie in \[0, 1\], was 40"),
        ("model:trees:threshold=high", "was 'high'"),
    ],
)
def test_what_no_model_has_is_refused(
    workspace: Path, trees: ModelManifest, name: str, words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        require_known_policies([name], workspace / "runs", has_market=False)


def test_dataset_that_does_not_fit_is_refused_by_its_manifests_alone(
    workspace: Path, trees: ModelManifest
) -> None:
    days = {"start": date(2025, 5, 1), "end": date(2025, 5, 9)}
    source = synthetic_source(MarketConfig(universe="prototype10", name="noise", **days))
    dataset = ingest(source, BarStore(workspace), name="mine").dataset
    day = later(trees)

    describe_panel(dataset, workspace, trees.features)
    for first_day in (None, day - timedelta(days=1)):
        with pytest.raises(DataError, match="bars must lie after those"):
            require_models_fit(["macd", "model:trees"], dataset, workspace, first_day)
    require_models_fit(["model:trees"], dataset, workspace, day)
    require_models_fit(["macd"], dataset, workspace, None)

    describe_panel(dataset, workspace, ("rsi", "trend"))
    with pytest.raises(DataError, match="features that the model was fitted on"):
        require_models_fit(["model:trees"], dataset, workspace, day)
