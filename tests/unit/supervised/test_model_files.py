"""Stored models: the same bits back, and nothing damaged, foreign or half-written is read."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from fixtures.supervised_tables import CONFIG, QUICK_SETTINGS, TRAIN, market_table, quick_classifier
from tradingbot.domain.errors import ConfigError, StorageError
from tradingbot.supervised import ProbabilityModel, fit_model
from tradingbot.supervised.model_files import open_model, save_model
from tradingbot.supervised.model_manifest import (
    DataRecord,
    ModelManifest,
    ProofRecord,
    read_manifest,
)
from tradingbot.supervised.model_names import model_names

FITTED: dict[str, ProbabilityModel] = {}


def model_of(kind: str) -> ProbabilityModel:
    if kind not in FITTED:
        FITTED[kind] = fit_model(quick_classifier(kind), market_table(), TRAIN, CONFIG).model
    return FITTED[kind]


def manifest_of(kind: str, name: str = "one") -> ModelManifest:
    table = market_table()
    return ModelManifest(
        name=name,
        model=kind,
        settings=QUICK_SETTINGS[kind],
        labels={},
        folds={},
        seed=0,
        features=table.names,
        data=DataRecord(
            label="a test",
            synthetic=True,
            data_sha256=table.sha256,
            symbols=table.symbols,
            n_bars=table.n_bars,
            train_start=TRAIN.start,
            train_stop=TRAIN.stop,
            first_day="2016-01-04",
            last_day="2016-02-01",
        ),
        config={},
        base_rates=(0.3, 0.4, 0.3),
        scores={},
        proof=ProofRecord(comparisons=1, recomputations=1, seed=0),
        versions={},
    )


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    save_model(tmp_path, model_of("lightgbm"), manifest_of("lightgbm"))
    return tmp_path


@pytest.mark.parametrize("kind", ["mlp", "lightgbm"])
def test_stored_model_gives_the_same_bits(kind: str, tmp_path: Path) -> None:
    saved = save_model(tmp_path, model_of(kind), manifest_of(kind))

    model, manifest = open_model(tmp_path, "one")

    table = market_table()
    assert np.array_equal(model.probabilities(table), model_of(kind).probabilities(table))
    assert manifest == saved
    assert [s.seen_until for s in model.stages] == [s.seen_until for s in model_of(kind).stages]


def test_names_are_listed_and_temporaries_are_not(stored: Path) -> None:
    (stored / ".tmp-abc-two").mkdir()
    (stored / "stray").mkdir()

    assert model_names(stored) == ("one",)
    assert model_names(stored / "nowhere") == ()


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "none", "x" * 200])
def test_name_that_is_no_folder_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="name"):
        save_model(tmp_path, model_of("lightgbm"), manifest_of("lightgbm", name))
    assert list(tmp_path.iterdir()) == []


def test_taken_name_is_refused(stored: Path) -> None:
    with pytest.raises(ConfigError, match="free"):
        save_model(stored, model_of("lightgbm"), manifest_of("lightgbm"))


def test_unknown_model_names_the_closest(stored: Path) -> None:
    with pytest.raises(ConfigError, match="Did you mean 'one'"):
        open_model(stored, "onw")
    with pytest.raises(ConfigError):
        read_manifest(stored, "../one")


def test_changed_weights_are_refused(stored: Path) -> None:
    path = stored / "one" / "stage_01.txt"
    path.write_text(path.read_text().replace("leaf_value=", "leaf_value=9", 1))

    with pytest.raises(StorageError, match=r"stage_01\.txt"):
        open_model(stored, "one")


def test_missing_weights_are_refused(stored: Path) -> None:
    (stored / "one" / "stage_00.txt").unlink()

    with pytest.raises(StorageError, match="missing"):
        open_model(stored, "one")


def edit_manifest(folder: Path, **changes: object) -> None:
    path = folder / "one" / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_edited_manifest_is_refused(stored: Path) -> None:
    edit_manifest(stored, seed=3)

    with pytest.raises(StorageError, match="edited"):
        read_manifest(stored, "one")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 99}', "\udcff"])
def test_unreadable_manifest_is_refused(stored: Path, text: str) -> None:
    path = stored / "one" / "manifest.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))

    with pytest.raises(StorageError, match="manifest"):
        read_manifest(stored, "one")


def sealed(folder: Path, **changes: object) -> None:
    """Edit the manifest and its hash, as somebody who knows how would."""
    edit_manifest(folder, **changes)
    path = folder / "one" / "manifest.json"
    manifest = ModelManifest.model_validate_json(path.read_text())
    whole = manifest.sealed()
    path.write_text(whole.model_dump_json())


def test_model_of_a_kind_nobody_knows_is_refused(stored: Path) -> None:
    sealed(stored, model="oracle")

    with pytest.raises(StorageError, match="kind"):
        open_model(stored, "one")


def test_weights_outside_the_folder_are_refused(stored: Path) -> None:
    stages = json.loads((stored / "one" / "manifest.json").read_text())["stages"]
    (stored / "other.txt").write_text("tree")
    stages[0]["file"] = "../other.txt"
    sealed(stored, stages=stages)

    with pytest.raises(StorageError, match="every file"):
        open_model(stored, "one")


def test_trees_of_other_features_are_refused(stored: Path) -> None:
    sealed(stored, features=["a", "b"])

    with pytest.raises(StorageError, match="features"):
        open_model(stored, "one")


def test_network_of_another_size_is_refused(tmp_path: Path) -> None:
    save_model(tmp_path, model_of("mlp"), manifest_of("mlp"))
    sealed(tmp_path, settings={**QUICK_SETTINGS["mlp"], "width": 9})

    with pytest.raises(StorageError, match="network"):
        open_model(tmp_path, "one")
