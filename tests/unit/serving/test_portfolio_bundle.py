"""A portfolio as one bundle: the master answers as PyTorch does, no part can be changed."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from fixtures.drawn_portfolios import make_portfolio_run
from tradingbot.app.model_export import require_exportable
from tradingbot.domain.errors import ConfigError, ModelAnswerError, StorageError
from tradingbot.market.params import ActionRules, EpisodeRules, SimulatorParams
from tradingbot.risk.limits import RiskLimits
from tradingbot.runs import RunDirectory
from tradingbot.runs.master import load_chain
from tradingbot.serving.bundle import read_bundle, write_bundle
from tradingbot.serving.export.master_export import hostile_views, with_portfolios
from tradingbot.serving.export.master_graph import master_model
from tradingbot.serving.export.run_export import ExportedRun, export_run
from tradingbot.serving.graph_contract import MASTER_FILE
from tradingbot.serving.registry import ModelRegistry
from tradingbot.serving.served_model import ServedModel
from tradingbot_benchmarks.serving.drawn_run import AT

RULES = SimulatorParams(
    limits=RiskLimits(max_position_frac=1.0),
    action=ActionRules(space="target", smoothing_bars=1),
    episode=EpisodeRules(window_bars=1),
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    return make_portfolio_run(tmp_path_factory.mktemp("runs"), rules=RULES)


@pytest.fixture(scope="module")
def portfolio(run: RunDirectory, tmp_path_factory: pytest.TempPathFactory) -> ExportedRun:
    rows = torch.randn(300, 3 * 11 + 1, generator=torch.Generator().manual_seed(1))
    path = tmp_path_factory.mktemp("bundles") / "portfolio.zip"
    return export_run(run, path, n_hostile=200, real_sleeves=rows)


@pytest.mark.parametrize("components", [0, 3])
@pytest.mark.parametrize("trades", [True, False])
def test_master_of_a_bundle_is_pytorchs(tmp_path: Path, components: int, trades: bool) -> None:
    run = make_portfolio_run(tmp_path, rules=RULES, components=components, trades=trades)
    portfolio = export_run(run, tmp_path / "portfolio.zip", n_hostile=2_000)
    chain, model = load_chain(run), ServedModel.open(portfolio.path, sha256=portfolio.sha256)

    inputs = hostile_views(chain, 10_000, seed=5)
    given, n_private = torch.from_numpy(inputs), 3 * 2 + 4
    wanted = chain.master(given[:, :-n_private], given[:, -n_private:]).numpy()
    found = model.allocate(inputs)

    np.testing.assert_allclose(found, wanted, atol=1e-5)
    np.testing.assert_allclose(found.sum(-1), 1.0, atol=1e-6)
    assert (np.ptp(found) > 0.1) == trades or (found[:, -1] == 1.0).all()
    parity = portfolio.manifest.parity
    assert parity.largest_difference <= 1e-5
    assert parity.n_decisions_differ == 0
    assert parity.n_hostile >= 12_000


def test_bundle_says_what_the_master_sees_and_trades_by(portfolio: ExportedRun) -> None:
    manifest = portfolio.manifest
    part = manifest.portfolio
    assert part is not None
    assert manifest.run.id == "master"
    assert part.agents.id == "agents"
    assert part.member_names[:3] == ("position", "proposal", "confidence")
    assert part.member_names[-1] == "embedding_2"
    assert part.rules["limits"]["max_position_frac"] == 1.0
    assert manifest.parity.n_real == 300
    assert manifest.sizes.n_master_inputs == 3 * (11 + 2) + 1 + 4


def test_same_run_gives_the_same_bytes(portfolio: ExportedRun, run: RunDirectory, tmp_path: Path):
    rows = torch.randn(300, 3 * 11 + 1, generator=torch.Generator().manual_seed(1))
    again = export_run(run, tmp_path / "again.zip", n_hostile=200, real_sleeves=rows)
    assert again.sha256 == portfolio.sha256


def test_master_that_forgets_a_sleeve_stops_the_export(
    run: RunDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A graph that differs from PyTorch is never written."""
    from tradingbot.serving.export import run_export

    def other(master: object, n_inputs: int) -> bytes:
        chain = load_chain(run)
        with torch.no_grad():
            chain.master.head.weights[0][0] += 0.01
        return master_model(chain.master, n_inputs)

    monkeypatch.setattr(run_export, "master_model", other)
    with pytest.raises(ConfigError, match="must agree with PyTorch"):
        export_run(run, tmp_path / "other.zip", n_hostile=50)
    assert not (tmp_path / "other.zip").exists()


def test_tampered_master_is_refused_by_verify(portfolio: ExportedRun, tmp_path: Path) -> None:
    """Changed bytes by the hash; other weights under a new seal by the golden vectors."""
    registry = ModelRegistry(tmp_path)
    version = registry.register(portfolio.path, at=AT)
    assert not registry.problems(version)
    bundle = read_bundle(portfolio.path)
    graph = bytearray(bundle.files[MASTER_FILE])
    place = graph.rfind(np.float32(bundle_weight(bundle.files[MASTER_FILE])).tobytes())
    graph[place : place + 4] = np.float32(0.5).tobytes()
    forged = tmp_path / "forged.zip"
    files = {**bundle.files, MASTER_FILE: bytes(graph)}
    write_bundle(forged, bundle.manifest, files)
    with pytest.raises(StorageError, match="golden vectors"):
        ServedModel.open(forged)

    path = registry.bundle_path(version)
    path.chmod(0o600)
    path.write_bytes(forged.read_bytes())
    assert "the one that was recorded" in registry.problems(version)[version.name]


def bundle_weight(graph: bytes) -> float:
    """Return a weight of a graph that is not 0."""
    from onnx import ModelProto, numpy_helper

    tensors = [
        numpy_helper.to_array(each) for each in ModelProto.FromString(graph).graph.initializer
    ]
    large = next(each for each in tensors if each.dtype == np.float32 and each.size > 8)
    return float(large.flat[0])


def test_bundle_without_its_master_is_refused(portfolio: ExportedRun, tmp_path: Path) -> None:
    bundle = read_bundle(portfolio.path)
    less = {name: data for name, data in bundle.files.items() if name != MASTER_FILE}
    path = tmp_path / "less.zip"
    write_bundle(path, bundle.manifest, less)
    with pytest.raises(StorageError, match="if it is of a portfolio"):
        ServedModel.open(path)
    beside = tmp_path / "beside.zip"
    write_bundle(beside, bundle.manifest.model_copy(update={"portfolio": None}), bundle.files)
    with pytest.raises(StorageError, match="if it is of a portfolio"):
        ServedModel.open(beside)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_master_that_sees_no_number_gives_no_weights(portfolio: ExportedRun, bad: float) -> None:
    model = ServedModel.open(portfolio.path)
    inputs = np.zeros((2, model.manifest.sizes.n_master_inputs), np.float32)
    inputs[1, 0] = bad
    if np.isnan(bad):
        with pytest.raises(ModelAnswerError, match="finite"):
            model.allocate(inputs)
    else:  # an activation bounds it
        assert np.isfinite(model.allocate(inputs)).all()
    with pytest.raises(ConfigError, match="shapes"):
        model.allocate(inputs[:, 1:])


def test_real_rows_beside_drawn_portfolios_lie_where_the_master_reads_them(
    run: RunDirectory,
) -> None:
    chain = load_chain(run)
    market = torch.arange(2 * 34, dtype=torch.float32).view(2, 34)
    seen = with_portfolios(chain, market)
    np.testing.assert_array_equal(seen[:, :34], market.numpy())
    capital = np.append(seen[0, 34:40:2], seen[0, 40])
    assert capital.sum() == pytest.approx(1.0)
    assert (seen[0, 35:41:2] <= seen[0, 34:40:2]).all()


def test_portfolio_of_a_rule_is_refused_with_what_to_do(tmp_path: Path) -> None:
    run = make_portfolio_run(tmp_path, rules=RULES)
    environment = {"kind": "portfolio", "portfolio": {"sleeves": "momentum"}}
    config = {**run.record.config, "environment": environment}
    other = replace(run, record=run.record.model_copy(update={"config": config}))
    with pytest.raises(ConfigError, match="sleeves=run:NAME"):
        require_exportable(other)


def test_bundle_of_agents_alone_has_no_word_of_a_portfolio(bundle: Path) -> None:
    with zipfile.ZipFile(bundle) as archive:
        text = archive.read("manifest.json").decode()
    assert "portfolio" not in json.loads(text)
    assert "n_master_inputs" not in json.loads(text)["sizes"]
