"""Panels: content, storage, the gate, and builds that are killed."""

from __future__ import annotations

import errno
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from fixtures.killed_writes import Killed, kill_at_every_write
from tradingbot.data.node_copies import COPIES_VARIABLE
from tradingbot.domain.errors import DataError, StorageError, UncertifiedPanelError
from tradingbot.domain.seeding import stream
from tradingbot.features.causality.prover import ProofPlan
from tradingbot.features.compute import compute_features
from tradingbot.features.inputs import MarketInputs, build_inputs
from tradingbot.features.panel import Panel, build_panel, panel_folder, panel_specs
from tradingbot.features.proof_subjects import certify_panel
from tradingbot.features.scaling import Scaler, ScalerOptions, fit_scaler
from tradingbot.features.spec import spec_hash
from tradingbot.features.tensor_files import header_sha256, write_tensors

DATASET = "d" * 64
TRAIN_ROWS = 200
PLAN = ProofPlan(common_rounds=4, staggered_rounds=2)


def make_inputs(rows: int = 280, symbols: int = 3) -> MarketInputs:
    """Synthetic daily random walks; B misses some bars, only A and B have the covariates."""
    rng = stream(9, "panel")
    closed_at = np.arange(rows).astype("datetime64[D]").astype("datetime64[us]")
    frames = []
    for n in range(symbols):
        close = 50 * np.exp(np.cumsum(rng.normal(0, 0.02, rows)))
        frame = pl.DataFrame(
            {
                "symbol": ["ABCDEFGH"[n]] * rows,
                "closed_at": closed_at,
                "open": close * 1.001,
                "high": close * 1.02,
                "low": close * 0.98,
                "close": close,
                "volume": np.floor(rng.lognormal(9, 1, rows)),
                "vwap": close * 1.0001,
            }
        )
        frames.append(frame.filter(pl.Series(rng.random(rows) > (0.1 if n == 1 else 0.0))))
    covariates = pl.DataFrame(
        {
            "symbol": ["A", "B", "A", "B"],
            "name": ["sentiment", "sentiment", "signal", "signal"],
            "available_at": closed_at[[10, 20, 30, 40]],
            "value": [0.9, 0.1, 1.5, -1.5],
        }
    )
    bars = (
        pl.concat(frames)
        .with_columns(pl.col("closed_at").dt.replace_time_zone("UTC"))
        .with_columns(known_at=pl.col("closed_at"))
    )
    return build_inputs(bars, covariates.with_columns(pl.col("available_at")))


@pytest.fixture(scope="module")
def inputs() -> MarketInputs:
    return make_inputs()


@pytest.fixture
def panel(inputs: MarketInputs, tmp_path: Path) -> Panel:
    return build_panel(inputs, panel_specs(inputs.covariates), dataset_hash=DATASET, root=tmp_path)


@pytest.fixture(scope="module")
def certified_once(inputs: MarketInputs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    specs = panel_specs(inputs.covariates)
    root = tmp_path_factory.mktemp("certified")
    panel = build_panel(inputs, specs, dataset_hash=DATASET, root=root)
    scaler = fit_scaler(
        "standard",
        panel.numpy("features"),
        panel.numpy("valid"),
        slice(0, TRAIN_ROWS),
        feature_names=panel.manifest.features,
        symbols=panel.symbols,
    )
    report, certificate = certify_panel(
        panel, inputs, specs, train_rows=TRAIN_ROWS, plan=PLAN, scaler=scaler
    )
    assert certificate is not None, report.failures[:3]
    assert certificate.scaler_sha256 == scaler.sha256
    return panel.folder


@pytest.fixture
def certified(certified_once: Path, tmp_path: Path) -> Path:
    return shutil.copytree(certified_once, tmp_path / "certified")


def test_panel_holds_every_tensor_in_its_shape_and_type(panel: Panel, inputs) -> None:
    length, width = inputs.shape
    described = {name: (v.shape, v.dtype.name) for name, v in panel.arrays.items()}

    assert described == {
        "features": ((width, length, 23), "float32"),
        "regimes": ((width, length, 10), "float32"),
        "covariates": ((width, length, 1), "float32"),
        "prices": ((width, length, 6), "float64"),
        "present": ((width, length), "bool"),
        "valid": ((width, length), "bool"),
        "closed_at": ((length,), "int64"),
    }
    assert panel.manifest.covariates == ("signal",)
    assert panel.folder == panel_folder(
        panel.folder.parents[1], DATASET, spec_hash(panel_specs(inputs.covariates))
    )


def test_panel_holds_computed_features_where_defined_and_zero_elsewhere(panel, inputs) -> None:
    computed = compute_features(inputs, panel_specs(inputs.covariates))

    for tensor, names in (
        ("features", panel.manifest.features),
        ("regimes", panel.manifest.regimes),
        ("covariates", panel.manifest.covariates),
    ):
        for position, name in enumerate(names):
            expected = np.nan_to_num(computed[name].astype(np.float32), nan=0.0)
            np.testing.assert_array_equal(panel.numpy(tensor)[:, :, position].T, expected)


def test_valid_means_present_and_everything_defined(panel, inputs) -> None:
    computed = compute_features(inputs, panel_specs(inputs.covariates))
    expected = inputs.present & ~np.any([np.isnan(v) for v in computed.values()], axis=0)

    np.testing.assert_array_equal(panel.numpy("valid").T, expected)
    assert panel.numpy("valid")[0].any()
    assert not panel.numpy("valid")[2].any()  # C never gets a signal: undefined, never neutral


def test_nothing_a_network_reads_is_nan_but_prices_of_absent_bars_are(panel, inputs) -> None:
    for name in ("features", "regimes", "covariates"):
        assert np.isfinite(panel.numpy(name)).all()
    absent = ~inputs.present.T
    assert absent.any()
    assert np.isnan(panel.numpy("prices")[absent]).all()
    assert np.isfinite(panel.numpy("prices")[~absent]).all()
    np.testing.assert_array_equal(panel.numpy("prices")[..., 3].T, inputs.bars["close"])


@pytest.mark.parametrize("symbols", [1, 2])
def test_build_leaves_its_inputs_alone_and_stores_presence_as_it_is(tmp_path, symbols) -> None:
    inputs = make_inputs(symbols=2)
    if symbols == 1:
        bars = {name: values[:, 1:].copy() for name, values in inputs.bars.items()}
        inputs = MarketInputs(("B",), inputs.closed_at, inputs.present[:, 1:].copy(), bars)
    before = inputs.present.copy()

    specs = panel_specs(inputs.covariates)
    panel = build_panel(inputs, specs, dataset_hash=DATASET, root=tmp_path)

    np.testing.assert_array_equal(inputs.present, before)
    np.testing.assert_array_equal(panel.numpy("present").T, before)
    assert panel.numpy("valid").sum() < before.sum()


def test_same_content_gives_the_same_bytes(inputs, tmp_path: Path) -> None:
    specs = panel_specs(inputs.covariates)
    folders = [
        build_panel(inputs, specs, dataset_hash=DATASET, root=tmp_path / name).folder
        for name in ("one", "two")
    ]

    for file in ("panel.safetensors", "manifest.json"):
        assert (folders[0] / file).read_bytes() == (folders[1] / file).read_bytes()


def test_panel_without_certificate_is_refused(panel: Panel) -> None:
    with pytest.raises(UncertifiedPanelError, match="features prove-causal"):
        Panel.open(panel.folder)


def test_certified_panel_opens(certified: Path) -> None:
    panel = Panel.open(certified, verify=True)

    assert panel.certificate is not None
    assert panel.certificate.subjects == ("features", "scaling", "every_bar")
    assert TRAIN_ROWS - 1 in panel.certificate.common_cuts


def tamper(folder: Path) -> None:
    """Show every bar the features of the next one; size and header stay as they were."""
    mapped = Panel.open(folder, require_certificate=False).arrays
    arrays = {name: values.copy() for name, values in mapped.items()}
    shifted = np.roll(arrays["features"], -1, axis=1)
    write_tensors(folder / "panel.safetensors", {**arrays, "features": shifted})


def test_panel_is_mapped_from_the_copy_of_a_node_that_keeps_copies(
    certified: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(COPIES_VARIABLE, str(tmp_path / "copies"))
    here = Panel.open(certified)
    (certified / "panel.safetensors").unlink()

    there = Panel.open(certified)

    assert (tmp_path / "copies" / there.manifest.file_sha256).is_file()
    np.testing.assert_array_equal(there.numpy("features"), here.numpy("features"))


def test_certified_panel_with_features_shifted_by_one_bar_is_refused(certified: Path) -> None:
    header = header_sha256(certified / "panel.safetensors")
    tamper(certified)

    assert header_sha256(certified / "panel.safetensors") == header
    with pytest.raises(StorageError, match="must match its manifest"):
        Panel.open(certified)
    Panel.open(certified, require_certificate=False)


def test_certified_panel_without_its_tensor_file_is_refused(certified: Path) -> None:
    (certified / "panel.safetensors").unlink()

    with pytest.raises(StorageError, match="must be readable"):
        Panel.open(certified)


@pytest.mark.parametrize(
    ("content", "was"), [(None, "missing"), ("{", "damaged"), ('{"symbols": 1}', "damaged")]
)
def test_panel_without_a_readable_manifest_is_told_what_is_wrong_with_it(
    panel: Panel, content: str | None, was: str
) -> None:
    file = panel.folder / "manifest.json"
    file.unlink() if content is None else file.write_text(content)

    with pytest.raises(StorageError) as refused:
        Panel.open(panel.folder, require_certificate=False)

    assert f"readable manifest, was {was} ({file})" in str(refused.value)


def test_panel_with_two_tensors_renamed_is_refused_by_its_header(panel: Panel) -> None:
    path = panel.folder / "panel.safetensors"
    content = path.read_bytes()
    swapped = content.replace(b'"present"', b'"-"').replace(b'"valid"', b'"present"')
    path.write_bytes(swapped.replace(b'"-"', b'"valid"'))

    assert path.stat().st_size == len(content)
    with pytest.raises(StorageError, match="must match its manifest"):
        Panel.open(panel.folder, require_certificate=False)


def test_folder_that_accepts_no_certificate_is_refused_before_the_proof(
    panel: Panel, inputs, monkeypatch
) -> None:
    def read_only(path: Path, *args: object, **options: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr(Path, "touch", read_only)
    told: list[object] = []
    specs = panel_specs(inputs.covariates)

    with pytest.raises(StorageError, match="workspace must be writable"):
        certify_panel(
            panel, inputs, specs, train_rows=TRAIN_ROWS, progress=lambda *a: told.append(a)
        )
    assert told == []


def test_certificate_beside_another_panel_is_refused(certified: Path, tmp_path: Path) -> None:
    other = make_inputs(rows=279)
    panel = build_panel(
        other, panel_specs(other.covariates), dataset_hash=DATASET, root=tmp_path / "other"
    )
    certificate = (certified / "certificate.json").read_bytes()
    (panel.folder / "certificate.json").write_bytes(certificate)

    with pytest.raises(UncertifiedPanelError, match="must be for this panel"):
        Panel.open(panel.folder)


def test_panel_of_other_values_than_its_inputs_cannot_be_certified(panel: Panel) -> None:
    other = make_inputs(rows=279)

    with pytest.raises(DataError, match="must hold what its dataset"):
        certify_panel(panel, other, panel_specs(other.covariates), train_rows=TRAIN_ROWS, plan=PLAN)


@pytest.mark.parametrize("kind", ["robust", "per_symbol"])
def test_scaler_fitted_past_the_training_rows_is_refused(panel: Panel, inputs, kind) -> None:
    def fit(rows: int) -> Scaler:
        return fit_scaler(
            "robust",
            panel.numpy("features"),
            panel.numpy("present"),
            slice(0, rows),
            feature_names=panel.manifest.features,
            symbols=panel.symbols,
            options=ScalerOptions(pooling="pooled" if kind == "robust" else "per_symbol"),
        )

    specs = panel_specs(inputs.covariates)
    for wrong in (fit(TRAIN_ROWS + 1), fit(TRAIN_ROWS)):  # too long; and not on valid rows
        with pytest.raises(DataError, match=r"training rows and no other|valid training row"):
            certify_panel(panel, inputs, specs, train_rows=TRAIN_ROWS, plan=PLAN, scaler=wrong)


@pytest.mark.parametrize(("symbols", "opens"), [(3, False), (1, True)])
def test_panel_proved_without_staggered_rounds_opens_only_if_it_has_one_symbol(
    tmp_path: Path, symbols: int, opens: bool
) -> None:
    inputs = replace(make_inputs(symbols=symbols), covariates={})
    specs = panel_specs(())
    panel = build_panel(inputs, specs, dataset_hash=DATASET, root=tmp_path)
    plan = ProofPlan(common_rounds=1, staggered_rounds=0)

    _, certificate = certify_panel(panel, inputs, specs, train_rows=TRAIN_ROWS, plan=plan)

    assert certificate is not None
    if opens:
        assert Panel.open(panel.folder).certificate == certificate
    else:
        with pytest.raises(UncertifiedPanelError, match="rows of its own"):
            Panel.open(panel.folder)


def test_failed_proof_withdraws_the_old_certificate(certified, inputs, monkeypatch) -> None:
    from tradingbot.features import proof_subjects as defaults

    def leaking(market: MarketInputs, specs: object, **options: str) -> dict:
        values = compute_features(market, specs, **options)
        values["rsi_14"] = np.roll(values["rsi_14"], -1, axis=0)
        return values

    monkeypatch.setattr(defaults, "compute_features", leaking)
    report, certificate = certify_panel(
        Panel.open(certified),
        inputs,
        panel_specs(inputs.covariates),
        train_rows=TRAIN_ROWS,
        plan=PLAN,
    )

    assert certificate is None
    assert {v.output for v in report.failures} >= {"technical/rsi_14"}
    with pytest.raises(UncertifiedPanelError):
        Panel.open(certified)


def test_proof_killed_at_any_write_or_before_its_end_keeps_the_old_certificate(
    certified: Path, inputs: MarketInputs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tradingbot.features import proof_subjects

    def killed(*args: object, **options: object) -> None:
        raise Killed

    def prove(folder: Path) -> None:
        specs, panel = panel_specs(inputs.covariates), Panel.open(folder)
        certify_panel(panel, inputs, specs, train_rows=TRAIN_ROWS, plan=PLAN)

    monkeypatch.setattr(proof_subjects, "prove_every_bar", killed)
    monkeypatch.setattr(proof_subjects, "prove_causal", lambda *args, **options: None)
    before = (certified / "certificate.json").read_bytes()
    for folder, _ in kill_at_every_write(certified, tmp_path / "copies", prove):
        assert (folder / "certificate.json").read_bytes() == before
        assert Panel.open(folder).certificate is not None


def test_panel_found_to_hold_other_values_loses_its_certificate(
    certified: Path, inputs: MarketInputs
) -> None:
    panel = Panel.open(certified)
    fewer = panel_specs(inputs.covariates)[:-1]
    with pytest.raises(DataError, match="what its dataset and specs give"):
        certify_panel(panel, inputs, fewer, train_rows=TRAIN_ROWS, plan=PLAN)
    with pytest.raises(UncertifiedPanelError, match="must have a causality certificate"):
        Panel.open(certified)


def test_torch_tensors_share_the_mapped_memory_and_never_change_the_file(certified: Path) -> None:
    panel = Panel.open(certified)
    before = (certified / "panel.safetensors").read_bytes()

    tensors = panel.tensors()
    tensors["features"][0, 0, 0] = 42.0

    assert panel.numpy("features")[0, 0, 0] == 42.0
    assert (certified / "panel.safetensors").read_bytes() == before
    assert tensors["valid"].dtype.is_floating_point is False


def test_unknown_tensor_gets_a_suggestion(panel: Panel) -> None:
    with pytest.raises(DataError, match="Did you mean 'features'"):
        panel.numpy("feature")


def test_panel_whose_file_was_cut_or_swapped_is_refused(panel: Panel) -> None:
    path = panel.folder / "panel.safetensors"
    path.write_bytes(path.read_bytes()[:-8])

    with pytest.raises(StorageError, match="bytes of tensors"):
        Panel.open(panel.folder, require_certificate=False)


def test_panel_with_one_flipped_bit_is_found_by_verify(panel: Panel) -> None:
    path = panel.folder / "panel.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content))

    Panel.open(panel.folder, require_certificate=False)
    with pytest.raises(StorageError, match="match its manifest"):
        Panel.open(panel.folder, require_certificate=False, verify=True)


def test_build_over_a_panel_with_one_flipped_bit_is_refused(panel: Panel, inputs) -> None:
    path = panel.folder / "panel.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content))

    with pytest.raises(StorageError, match=r"match its manifest.*features build"):
        build_panel(
            inputs,
            panel_specs(inputs.covariates),
            dataset_hash=DATASET,
            root=panel.folder.parents[1],
        )


@pytest.mark.parametrize(
    ("field", "value"), [("synthetic", False), ("accepted_findings", ["GAP"]), ("time_zone", "UTC")]
)
def test_panel_whose_manifest_was_edited_is_refused_before_any_proof(
    panel: Panel, field: str, value: object
) -> None:
    path = panel.folder / "manifest.json"
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps({**manifest, field: value}))
    with pytest.raises(StorageError, match="must match its manifest, was edited"):
        Panel.open(panel.folder, require_certificate=False)

    del manifest["record_sha256"]  # of an older version: its certificate is about the same hash
    path.write_text(json.dumps(manifest))
    opened = Panel.open(panel.folder, require_certificate=False)
    assert opened.manifest.sha256 == panel.manifest.sha256


@pytest.mark.parametrize("text", ["", "{}", "\xff", '{"version": 2}'])
def test_panel_with_bad_manifest_is_refused(panel: Panel, text: str) -> None:
    (panel.folder / "manifest.json").write_text(text, encoding="latin-1")

    with pytest.raises(StorageError, match="readable manifest"):
        Panel.open(panel.folder, require_certificate=False)


def test_manifest_names_features_with_versions(panel: Panel, inputs) -> None:
    manifest = json.loads((panel.folder / "manifest.json").read_text())

    assert manifest["feature_ids"] == [spec.id for spec in panel_specs(inputs.covariates)]
    assert manifest["dataset_sha256"] == DATASET
    assert manifest["synthetic"] is None


KILLED_BUILD = """
import os, signal, sys
sys.path[:0] = sys.argv[3:]
from pathlib import Path
from test_panel import DATASET, make_inputs
from tradingbot.data import atomic
from tradingbot.features.panel import build_panel, panel_specs

calls = 0
def fsync(path, real=atomic._fsync):
    global calls
    calls += 1
    if calls == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    real(path)

atomic._fsync = fsync
inputs = make_inputs()
build_panel(inputs, panel_specs(inputs.covariates), dataset_hash=DATASET, root=Path(sys.argv[1]))
"""


@pytest.mark.parametrize("killed_at", [1, 3])
def test_killed_build_leaves_no_panel_and_the_rerun_completes(inputs, tmp_path, killed_at) -> None:
    here = [str(Path(__file__).parent), str(Path(__file__).parents[2])]
    command = [sys.executable, "-c", KILLED_BUILD, str(tmp_path), str(killed_at), *here]

    killed = subprocess.run(command, check=False, capture_output=True)

    specs = panel_specs(inputs.covariates)
    folder = panel_folder(tmp_path, DATASET, spec_hash(specs))
    assert killed.returncode == -9, killed.stderr.decode()
    assert not folder.exists()
    assert list(folder.parent.iterdir())  # what the killed build left under a temporary name
    panel = build_panel(inputs, specs, dataset_hash=DATASET, root=tmp_path)
    assert [entry.name for entry in folder.parent.iterdir()] == [folder.name]
    Panel.open(panel.folder, require_certificate=False, verify=True)


def test_panel_whose_manifest_swaps_two_symbols_is_refused(certified: Path) -> None:
    path = certified / "manifest.json"
    record = json.loads(path.read_text())
    record["symbols"][:2] = record["symbols"][1::-1]
    path.write_text(json.dumps(record))
    with pytest.raises(StorageError, match="edited"):
        Panel.open(certified)

    del record["record_sha256"]  # of an older version
    path.write_text(json.dumps(record))
    with pytest.raises(UncertifiedPanelError, match="must be for this panel"):
        Panel.open(certified)
