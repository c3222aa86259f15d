"""The scaler of a panel is fitted once, stored beside it, and loaded; certificates name it."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tradingbot.configuration.pipeline import ScalingConfig
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import StorageError, UncertifiedPanelError
from tradingbot.features import panel_scaler, scaler_files
from tradingbot.features.causality.certificate import Certificate
from tradingbot.features.panel import Panel
from tradingbot.features.panel_manifest import PanelManifest
from tradingbot.features.panel_scaler import panel_scalers, store_panel_scaler
from tradingbot.features.scaler_files import ScalerRecord, find_scaler, load_scaler, save_scaler
from tradingbot.features.scaling import Scaler

TRAIN = IndexRange(5, 60)
ROBUST = ScalingConfig(kind="robust", pooling="pooled")
PER_SYMBOL = ScalingConfig(kind="standard", pooling="per_symbol")


@pytest.fixture
def panel(tmp_path: Path) -> Panel:
    """Two symbols, 100 bars, two features, a covariate; as if it had passed the gate."""
    rng = np.random.Generator(np.random.PCG64(3))
    arrays = {
        "features": rng.normal(size=(2, 100, 2)).astype(np.float32),
        "covariates": rng.normal(5.0, 2.0, size=(2, 100, 1)).astype(np.float32),
        "valid": rng.random((2, 100)) > 0.1,
    }
    manifest = PanelManifest.model_construct(
        symbols=("AAA", "BBB"), features=("fast", "slow"), covariates=("mood",)
    )
    return Panel(tmp_path, manifest, named(None), arrays)


def named(scaler: Scaler | None, sha256: str | None = None) -> Certificate:
    """A certificate that names a scaler."""
    return Certificate.model_construct(
        scaler_sha256=sha256 or (scaler and scaler.sha256),
        scaler_fit=scaler and scaler.fitted_on,
    )


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was fitted, in order."""
    done: list[str] = []
    fit = panel_scaler.fit_scaler

    def counted(kind, *args, **options):
        done.append(kind)
        return fit(kind, *args, **options)

    monkeypatch.setattr(panel_scaler, "fit_scaler", counted)
    return done


@pytest.mark.parametrize("scaling", [ROBUST, PER_SYMBOL])
def test_second_opening_loads_what_the_first_one_fitted(
    panel: Panel, fits: list[str], scaling: ScalingConfig
) -> None:
    first = panel_scalers(panel, TRAIN, scaling)
    again = panel_scalers(panel, TRAIN, scaling)

    assert fits == [scaling.kind, "standard"]
    assert [each.sha256 for each in again] == [each.sha256 for each in first]
    for name in ("centre", "scale", "rows"):
        for found, expected in zip(again, first, strict=True):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert (first[0].train_first, first[0].train_last) == (5, 59)


def test_other_rows_kinds_and_pooling_are_other_scalers(panel: Panel, fits: list[str]) -> None:
    asked = [
        (TRAIN, ROBUST),
        (IndexRange(5, 61), ROBUST),
        (TRAIN, ScalingConfig(kind="standard", pooling="pooled")),
        (TRAIN, PER_SYMBOL),
    ]
    hashes = {panel_scalers(panel, *each)[0].sha256 for each in asked}
    assert len(hashes) == 4
    count = len(fits)

    assert {panel_scalers(panel, *each)[0].sha256 for each in asked} == hashes
    assert len(fits) == count


def test_panel_that_passed_no_gate_is_fitted_on_and_leaves_nothing(
    panel: Panel, fits: list[str]
) -> None:
    uncertified = replace(panel, certificate=None)
    panel_scalers(uncertified, TRAIN, ROBUST)
    panel_scalers(uncertified, TRAIN, ROBUST)

    assert len(fits) == 4
    assert not (panel.folder / "scalers").exists()


def test_scaler_that_the_certificate_does_not_name_is_refused(panel: Panel) -> None:
    scaler = panel_scalers(panel, TRAIN, ROBUST)[0]

    panel_scalers(replace(panel, certificate=named(scaler)), TRAIN, ROBUST)
    other = replace(panel, certificate=named(scaler, "0" * 64))
    was = f"was {scaler.sha256[:16]}, not {'0' * 16}"
    with pytest.raises(UncertifiedPanelError, match=f"the certificate names, {was}.*prove-causal"):
        panel_scalers(other, TRAIN, ROBUST)
    panel_scalers(other, IndexRange(5, 50), ROBUST)  # another fit than the certificate's


def test_planted_scaler_is_refused_by_the_certificate(panel: Panel) -> None:
    scaler = panel_scalers(panel, TRAIN, ROBUST)[0]
    shutil.rmtree(panel.folder / "scalers")
    store_panel_scaler(panel, replace(scaler, centre=scaler.centre + 1.0))

    with pytest.raises(UncertifiedPanelError, match="one that the certificate names"):
        panel_scalers(replace(panel, certificate=named(scaler)), TRAIN, ROBUST)


def test_scaler_of_other_rows_than_asked_is_refused(
    panel: Panel, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = panel_scaler.fit_panel_scaler

    def past_training(found: Panel, train: IndexRange, *rest: object) -> object:
        return honest(found, IndexRange(train.start, train.stop + 3), *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(panel_scaler, "fit_panel_scaler", past_training)

    with pytest.raises(UncertifiedPanelError, match="scaler must be fitted as asked"):
        panel_scalers(panel, TRAIN, ROBUST)
    assert not (panel.folder / "scalers").exists()


def test_scaler_of_other_code_or_another_panel_is_fitted_again(
    panel: Panel, fits: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    panel_scalers(panel, TRAIN, ROBUST)
    monkeypatch.setattr(scaler_files, "scaler_code_sha256", lambda: "e" * 64)
    panel_scalers(panel, TRAIN, ROBUST)
    assert len(fits) == 4
    panel_scalers(panel, TRAIN, ROBUST)  # stored anew by the new code
    assert len(fits) == 4

    rebuilt = panel.manifest.model_copy(update={"dataset_sha256": "q" * 64})
    panel_scalers(replace(panel, manifest=rebuilt), TRAIN, ROBUST)
    assert len(fits) == 6


def test_damaged_scaler_is_fitted_again(panel: Panel, fits: list[str]) -> None:
    expected = panel_scalers(panel, TRAIN, ROBUST)[0]
    (stored,) = (panel.folder / "scalers").glob("robust-*")
    (stored / "scaler.safetensors").write_bytes(b"")

    assert panel_scalers(panel, TRAIN, ROBUST)[0].sha256 == expected.sha256
    assert fits.count("robust") == 2


def test_disk_that_refuses_changes_nothing(panel: Panel, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise StorageError("disk must have room", was="full", where="here", remedy="Make room")

    monkeypatch.setattr(panel_scaler, "save_scaler", refuse)

    assert len(panel_scalers(panel, TRAIN, ROBUST)) == 2


def test_stored_scaler_of_version_1_is_read_and_not_taken_for_a_fit(panel: Panel) -> None:
    scaler = panel_scalers(replace(panel, certificate=None), TRAIN, ROBUST)[0]
    folder = save_scaler(scaler, panel.folder / "scalers")
    record = json.loads((folder / "scaler.json").read_text())
    old = {name: value for name, value in record.items() if name not in NEW_FIELDS}
    (folder / "scaler.json").write_text(json.dumps({**old, "version": 1}))

    assert load_scaler(folder).sha256 == scaler.sha256
    found = find_scaler(folder.parent, scaler.fitted_on, panel_sha256=panel.manifest.sha256)
    assert found is None


NEW_FIELDS = ("panel_sha256", "code_sha256", "record_sha256")


def test_record_holds_a_whole_scaler(panel: Panel) -> None:
    for scaling in (ROBUST, PER_SYMBOL):
        scaler = panel_scalers(panel, TRAIN, scaling)[0]
        record = ScalerRecord.model_validate_json(ScalerRecord.of(scaler).model_dump_json())

        assert record.scaler().sha256 == scaler.sha256
        changed = record.model_copy(update={"train_last": 70})
        with pytest.raises(StorageError, match="as it was stored, was other content"):
            changed.scaler()


def test_scaler_of_some_symbols_scales_them_as_all(panel: Panel) -> None:
    scaler = panel_scalers(panel, TRAIN, PER_SYMBOL)[0]
    values, names = panel.arrays["features"], scaler.feature_names

    whole = scaler.transform(values, feature_names=names)
    part = scaler.of_symbols(["BBB"]).transform(values[1:], feature_names=names)

    np.testing.assert_array_equal(part, whole[1:])
