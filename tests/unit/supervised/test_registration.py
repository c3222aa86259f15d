"""Stored models are subjects of their panel's proof, and of no other."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tradingbot.app.cli.application import run
from tradingbot.data.store import BarStore
from tradingbot.domain.errors import StorageError
from tradingbot.features.causality.prover import ProofPlan, prove_causal
from tradingbot.features.causality.subject import ProofContext, registered_subjects, subject_names
from tradingbot.features.panel import Panel
from tradingbot.features.pipeline import BuiltPanel, build_features
from tradingbot.supervised import FitConfig, FoldConfig, LabelConfig
from tradingbot.supervised.causality import registered_models
from tradingbot.supervised.model_names import models_folder
from tradingbot.supervised.probability_model import ProbabilityModel
from tradingbot.supervised.table import ModelTable
from tradingbot.training.config_files import load_train_config
from tradingbot.training.supervised import data as sources
from tradingbot.training.supervised.fit import ModelRequest, train_model

NAME = "supervised/trees"
FIT = FitConfig(LabelConfig(horizon_bars=3), FoldConfig(n_blocks=2, embargo_bars=2))
TREES = {"max_rounds": 4, "min_leaf_bars": 20, "patience": 2}
SMALL = "extends: us143\nproof:\n  common_rounds: 1\n  staggered_rounds: 1\n"


@pytest.fixture(scope="module")
def workspace(synthetic_store: BarStore, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two panels that nobody proved, a model of one of them, and one that cannot be read."""
    folder = tmp_path_factory.mktemp("registered") / "workspace"
    shutil.copytree(synthetic_store.root, folder)
    built_of(folder, "planted")

    def open_unproved(place: Path) -> Panel:
        return Panel.open(place, require_certificate=False)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "Panel", SimpleNamespace(open=open_unproved))
        config = load_train_config("quick", {"dataset": "planted"})
        request = ModelRequest("trees", "lightgbm", TREES, FIT, proof_rounds=1)
        train_model(config, request, folder)
    broken = models_folder(folder) / "broken"
    broken.mkdir()
    (broken / "manifest.json").write_text("{")
    return folder


def built_of(workspace: Path, dataset: str) -> BuiltPanel:
    return build_features(BarStore(workspace).open(dataset), workspace)


def test_models_are_registered_for_their_own_panel_while_it_is_proved(workspace: Path) -> None:
    with registered_models(built_of(workspace, "planted").panel, workspace) as names:
        assert names == (NAME,)
        assert NAME in subject_names()
    assert NAME not in subject_names()
    with registered_models(built_of(workspace, "regimes").panel, workspace) as names:
        assert names == ()


@pytest.mark.parametrize(("ahead", "status"), [(0, "causal"), (1, "leaks")])
def test_registered_model_is_caught_if_and_only_if_it_looks_ahead(
    workspace: Path, ahead: int, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = built_of(workspace, "planted")
    honest = ProbabilityModel.probabilities

    def shifted(model: ProbabilityModel, table: ModelTable) -> np.ndarray:
        chances = honest(model, table)
        return np.concatenate([chances[:, ahead:], chances[:, :ahead]], axis=1)

    monkeypatch.setattr(ProbabilityModel, "probabilities", shifted)
    with registered_models(built.panel, workspace):
        subjects = registered_subjects(ProofContext(tuple(built.specs), 300))
        plan = ProofPlan(common_rounds=2, staggered_rounds=0)
        report = prove_causal(built.inputs, subjects, plan)

    found = {verdict.subject: verdict.status for verdict in report.verdicts}
    assert found[NAME] == status


def test_damaged_model_is_refused_and_nothing_stays_registered(
    workspace: Path, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(workspace, tmp_path / "copy"))
    file = next((models_folder(copy) / "trees").glob("stage_*"))
    file.write_bytes(file.read_bytes()[:-1])

    with (
        pytest.raises(StorageError, match="other content"),
        registered_models(built_of(copy, "planted").panel, copy),
    ):
        pass
    assert NAME not in subject_names()


def test_certificate_of_the_panel_names_its_models(
    workspace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "small.yaml").write_text(SMALL)
    place = ["--workspace", str(workspace), "features", "prove-causal", "planted"]

    code = run([*place, "--config", str(tmp_path / "small.yaml"), "--json"])

    assert code == 0
    proved = json.loads(capsys.readouterr().out)["certificate"]["outputs"]
    assert [each["output"] for each in proved if each["subject"] == NAME] == ["probabilities"]
    assert Panel.open(built_of(workspace, "planted").panel.folder).certificate is not None
