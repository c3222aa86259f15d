"""A run opens the bars that it learned from by their hash, whatever their name means now."""

from __future__ import annotations

import shutil
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from fixtures.tiny_training import tiny_config
from tradingbot.app.model_export import export_model
from tradingbot.configuration.pipeline import MarketConfig, PipelineConfig
from tradingbot.data.ingest import ingest
from tradingbot.data.store import BarStore
from tradingbot.domain.errors import ConfigError
from tradingbot.evaluation.analyses.evaluated_run import open_evaluated_run
from tradingbot.features.pipeline import build_features, prove_features, synthetic_source
from tradingbot.runs import find_run
from tradingbot.serving.registry import ModelRegistry
from tradingbot.training.own_dataset_names import with_own_dataset
from tradingbot.training.session import begin_run


def _store(workspace: Path, end: date) -> None:
    market = MarketConfig(name="planted", universe="prototype10", start=date(2025, 7, 1), end=end)
    ingest(synthetic_source(market), BarStore(workspace), name="mine")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with the run `first` on `mine`, which names other bars since."""
    workspace = tmp_path_factory.mktemp("own")
    _store(workspace, date(2025, 9, 30))
    built = build_features(BarStore(workspace).open("mine"), workspace)
    prove_features(built, PipelineConfig())
    begin_run(tiny_config(dataset="mine", symbols=["SPY", "AAPL"]), workspace, name="first")
    _store(workspace, date(2025, 10, 10))
    return workspace


@pytest.fixture
def workspace(trained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained, tmp_path / "workspace"))


def test_run_is_judged_on_the_bars_that_it_learned_from(workspace: Path) -> None:
    subject = open_evaluated_run("first", workspace)

    own = subject.run.record.data
    assert BarStore(workspace).names()["mine"] != own.dataset_sha256[:16]  # type: ignore[index]
    assert subject.data.identity.data_sha256 == own.data_sha256
    assert subject.config.dataset == own.dataset_sha256[:16]  # type: ignore[index]


def test_configuration_is_the_runs_own_where_the_name_means_its_bars(workspace: Path) -> None:
    config = tiny_config(dataset="mine")
    now = BarStore(workspace).open("mine").manifest.content_sha256

    assert with_own_dataset(config, now, workspace) is config
    assert with_own_dataset(config, None, workspace) is config
    assert with_own_dataset(config, "0" * 64, workspace) is config
    assert with_own_dataset(tiny_config(), now, workspace).dataset is None


def test_run_whose_bars_are_gone_is_refused_with_the_command_that_brings_them_back(
    workspace: Path,
) -> None:
    digest = find_run(workspace / "runs", "first").record.data.dataset_sha256
    assert digest is not None
    shutil.rmtree(workspace / "datasets" / digest[:16])

    with pytest.raises(ConfigError, match="on the data that it learned from") as refused:
        open_evaluated_run("first", workspace)
    told = str(refused.value)
    assert digest[:16] in told
    assert "tradingbot data import FILE --name mine" in told


def test_export_takes_the_runs_own_bars_and_is_the_same_model_again(workspace: Path) -> None:
    run = find_run(workspace / "runs", "first")

    made = export_model(run, workspace, at=datetime.now(UTC))
    assert made.note == ""
    assert made.exported.manifest.parity.n_real > 0
    digest = run.record.data.dataset_sha256
    assert digest is not None
    shutil.rmtree(workspace / "datasets" / digest[:16])

    with pytest.raises(ConfigError, match=r"not with other bars than model v1 .*, was mine"):
        export_model(run, workspace, at=datetime.now(UTC))
    assert [each.name for each in ModelRegistry(workspace).versions()] == ["v1"]
