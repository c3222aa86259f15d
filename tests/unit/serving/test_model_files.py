"""Model files from elsewhere (M01 … M13): refused before anything of them is run or allocated."""

from __future__ import annotations

import io
import pickle
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper

from fixtures.served_runs import make_served_run
from tradingbot.domain.day_range import DayRange
from tradingbot.domain.errors import ConfigError, StorageError, UserError
from tradingbot.features.tensor_files import pack_tensors, unpack_tensors
from tradingbot.runs import RunDirectory
from tradingbot.serving import bundle as bundles
from tradingbot.serving.bundle import read_bundle, write_bundle
from tradingbot.serving.bundle_fit import require_unseen
from tradingbot.serving.export import run_export
from tradingbot.serving.export.run_export import ExportedRun, export_run
from tradingbot.serving.golden import answer_golden
from tradingbot.serving.served_model import ServedModel

Edit = Callable[[onnx.ModelProto], None]


def repack(path: Path, *, files: dict[str, bytes] | None = None, **changes: Any) -> Path:
    """Write a bundle again with other content, and every hash as if it had been exported so."""
    found = read_bundle(path)
    manifest = found.manifest.model_copy(update=changes)
    write_bundle(path, manifest, {**found.files, **(files or {})})
    return path


def edit_model(path: Path, edit: Edit, name: str = "heads.onnx") -> Path:
    model = onnx.ModelProto.FromString(read_bundle(path).files[name])
    edit(model)
    return repack(path, files={name: model.SerializeToString()})


class _Canary:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.path,))


@pytest.mark.parametrize("kind", ["agent.pkl", "agent.pt", "ppo.zip", "inside.zip"])
def test_M01_pickles_are_never_opened(tmp_path: Path, bundle: Path, kind: str) -> None:
    canary, path = tmp_path / "canary", tmp_path / kind
    poison = pickle.dumps(_Canary(canary))
    if kind == "agent.pkl":
        path.write_bytes(poison)
    elif kind == "agent.pt":
        torch.save(_Canary(canary), path)
    else:
        names = ("data", "policy.pth") if kind == "ppo.zip" else bundles._FILES
        with zipfile.ZipFile(path, "w") as archive:
            for name in names:
                archive.writestr(name, poison)

    with pytest.raises(StorageError, match=r"a bundle must|manifest of a bundle"):
        ServedModel.open(path)

    assert not canary.exists()
    pickle.loads(poison)
    assert canary.exists()  # the poison works


def test_M02_files_of_weights_only_are_refused_by_format(tmp_path: Path) -> None:
    torch.save({"weight": torch.zeros(3)}, tmp_path / "weights.pt")

    with pytest.raises(StorageError, match=r"a bundle must hold manifest\.json"):
        ServedModel.open(tmp_path / "weights.pt")


@pytest.mark.parametrize("location", ["../../etc/passwd", "/etc/passwd", "link", "weights.bin"])
def test_M03_external_data_is_refused(bundle: Path, location: str) -> None:
    def edit(model: onnx.ModelProto) -> None:
        tensor = model.graph.initializer[0]
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value=location)

    with pytest.raises(StorageError, match="must hold its tensors itself"):
        ServedModel.open(edit_model(bundle, edit))


def _declare_ten_gigabytes(model: onnx.ModelProto) -> None:
    model.graph.initializer[0].dims[:] = [50_000, 50_000]


def _add_loop(model: onnx.ModelProto) -> None:
    body = helper.make_graph([], "body", [], [])
    model.graph.node.append(helper.make_node("Loop", ["", ""], ["x"], body=body))


def _hide_graph(model: onnx.ModelProto) -> None:
    body = helper.make_graph([], "body", [], [])
    model.graph.node[0].attribute.append(helper.make_attribute("body", body))


def _add_tensor_of_zeros(model: onnx.ModelProto) -> None:
    node = helper.make_node("ConstantOfShape", ["constant_0"], ["huge"])
    model.graph.node.append(node)


@pytest.mark.parametrize(
    ("edit", "rule"),
    [
        (lambda model: setattr(model.graph.node[0], "domain", "evil"), "operators .* evil.Concat"),
        (lambda model: setattr(model.graph.node[0], "op_type", "Exec"), "operators .* Exec"),
        (_add_loop, "operators .* Loop"),
        (_hide_graph, "attributes of a model must be whole numbers or a fraction"),
        (_add_tensor_of_zeros, "operators .* ConstantOfShape"),
        (_declare_ten_gigabytes, "bytes that it declares, was .* 10,000,000,000 bytes declared"),
        (lambda model: model.functions.add(), "must have no functions"),
        (lambda model: model.graph.sparse_initializer.add(), "must have no sparse tensors"),
        (lambda model: model.graph.ClearField("node"), "must have 1 … 20,000 nodes"),
        (lambda model: model.graph.node.extend([model.graph.node[0]] * 20_001), "20,000 nodes"),
    ],
)
def test_M04_operators_and_sizes_are_those_of_a_list(bundle: Path, edit: Edit, rule: str) -> None:
    with pytest.raises(StorageError, match=rule):
        ServedModel.open(edit_model(bundle, edit))


def test_M04_what_is_too_large_is_not_read(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundles, "MAX_BUNDLE_BYTES", 1000)

    with pytest.raises(StorageError, match="bytes, of at most 1,000"):
        ServedModel.open(bundle)


def test_M05_damage_is_refused(bundle: Path, exported: ExportedRun) -> None:
    whole = bundle.read_bytes()
    for n_bytes in (0, 1, 100, len(whole) // 2, len(whole) - 1):
        bundle.write_bytes(whole[:n_bytes])
        with pytest.raises(StorageError):
            ServedModel.open(bundle)
    generator = np.random.default_rng(0)
    for place in generator.integers(len(whole), size=60):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << int(generator.integers(8))
        bundle.write_bytes(flipped)
        with pytest.raises(StorageError, match="the one that was recorded"):
            read_bundle(bundle, sha256=exported.sha256)
        try:  # without its hash at hand: refused, or nothing that counts was flipped
            model = read_bundle(bundle)
        except StorageError:
            continue
        assert model.manifest == exported.manifest


def test_M05_members_are_those_that_the_manifest_was_sealed_over(bundle: Path) -> None:
    """A whole archive with a sealed manifest, and another file under a member's name."""
    found = read_bundle(bundle)
    changed = {**found.files, "golden.safetensors": found.files["golden.safetensors"] + b"\0"}
    with zipfile.ZipFile(bundle, "w") as archive:
        archive.writestr("manifest.json", found.manifest.model_dump_json(indent=1))
        for name, data in changed.items():
            archive.writestr(name, data)

    with pytest.raises(StorageError, match=r"files of a bundle.*was \['golden"):
        read_bundle(bundle)


def test_M05_hostile_archives_leave_one_kind_of_error(bundle: Path) -> None:
    """Every byte of the directory at the end, and of the first header, turned over."""
    whole = bundle.read_bytes()
    directory = whole.rindex(b"PK\x01\x02manifest"[:4], 0, len(whole))
    for place in (*range(40), *range(directory - 60, len(whole), 3)):
        flipped = bytearray(whole)
        flipped[place] ^= 0xFF
        bundle.write_bytes(flipped)
        try:
            read_bundle(bundle)
        except StorageError:
            continue


def test_M05_manifest_without_its_seal_is_refused(bundle: Path) -> None:
    found = read_bundle(bundle)
    unsealed = found.manifest.model_copy(update={"sha256": ""}).model_dump_json()
    other = found.manifest.model_copy(update={"confidence": "distance_from_middle"})
    for text in (unsealed, other.model_dump_json(), "{}", "[" * 50_000, "\xff"):
        with zipfile.ZipFile(bundle, "w") as archive:
            for name, data in {"manifest.json": text.encode("latin-1"), **found.files}.items():
                archive.writestr(name, data)
        with pytest.raises(StorageError, match="the manifest of a bundle must be"):
            ServedModel.open(bundle)


@pytest.mark.parametrize(
    ("edit", "rule"),
    [
        (lambda model: setattr(model.graph.input[1], "name", "x"), "inputs .* was .'x'"),
        (
            lambda model: setattr(
                model.graph.input[1].type.tensor_type.shape.dim[1], "dim_value", 3
            ),
            r"inputs .*\(3,\)",
        ),
        (lambda model: setattr(model.graph.input[1].type.tensor_type, "elem_type", 11), "inputs"),
        (lambda model: model.graph.output.pop(), "outputs"),
        (lambda model: setattr(model.opset_import[0], "version", 25), "operator set 20"),
        (lambda model: model.opset_import.add(domain="ai.onnx.ml", version=3), "operator set 20"),
    ],
)
def test_M06_inputs_outputs_and_opset_are_the_bundles(bundle: Path, edit: Edit, rule: str) -> None:
    with pytest.raises(StorageError, match=rule):
        ServedModel.open(edit_model(bundle, edit))


def _fill_weights(value: float) -> Edit:
    def edit(model: onnx.ModelProto) -> None:
        for tensor in model.graph.initializer:
            if tensor.data_type == TensorProto.FLOAT and len(tensor.dims) >= 2:
                count = len(tensor.raw_data) // 4
                tensor.raw_data = np.full(count, value, np.float32).tobytes()

    return edit


def test_M07_weights_that_are_not_finite_are_refused(bundle: Path) -> None:
    for value in (np.nan, np.inf):
        with pytest.raises(StorageError, match="weights must be finite"):
            ServedModel.open(edit_model(bundle, _fill_weights(value)))


def test_M07_dead_weights_are_found_by_golden_vectors_and_by_promotion(bundle: Path) -> None:
    edit_model(bundle, _fill_weights(0.0))
    with pytest.raises(StorageError, match="answer its golden vectors"):
        ServedModel.open(bundle)

    found = read_bundle(bundle)  # a bundle that was exported dead
    golden = unpack_tensors(found.files["golden.safetensors"], bundle)
    asked = {name: golden[name] for name in ("agent", "rows", "private", "allowed")}
    answers = answer_golden(ServedModel(found), asked)
    repack(bundle, files={"golden.safetensors": pack_tensors({**asked, **answers})})
    assert ServedModel.open(bundle).check().is_constant  # `registry.promote` refuses it


def test_M07_constant_model_is_not_promoted(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from datetime import UTC, datetime

    from tradingbot.serving.golden import GoldenCheck
    from tradingbot.serving.registry import ModelRegistry

    registry, at = ModelRegistry(tmp_path / "workspace"), datetime(2026, 1, 5, tzinfo=UTC)
    registry.register(bundle, at=at)
    monkeypatch.setattr(ServedModel, "check", lambda self: GoldenCheck(0.0, is_constant=True))

    with pytest.raises(StorageError, match="must answer differently to different inputs"):
        registry.promote("v1", at=at)

    assert registry.current("shadow") is None


@pytest.mark.parametrize("graph", ["window_model", "stream_model"])
def test_M08_gap_to_pytorch_stops_the_export(
    served_run: RunDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, graph: str
) -> None:
    write = getattr(run_export, graph)

    def bent(encoder: Any) -> bytes:
        with torch.no_grad():
            encoder.norm.bias += 2e-5
        data: bytes = write(encoder)
        with torch.no_grad():
            encoder.norm.bias -= 2e-5
        return data

    monkeypatch.setattr(run_export, graph, bent)

    with pytest.raises(ConfigError, match=r"agree with PyTorch to 1e-05, was \S*e-05"):
        export_run(served_run, tmp_path / "bent.zip", n_hostile=50)

    assert not (tmp_path / "bent.zip").exists()


def test_M09_scalers_missing_or_changed_are_refused(bundle: Path) -> None:
    acting = read_bundle(bundle).manifest.acting
    first, *rest = acting.scalers
    shifted = first.model_copy(update={"centre": [x + 1.0 for x in first.centre]})
    for scalers in ((), (shifted, *rest)):
        repack(bundle, acting=acting.model_copy(update={"scalers": scalers}))
        with pytest.raises(StorageError, match=r"other scalers|scaler must be as it was stored"):
            ServedModel.open(bundle)


def test_M10_features_of_another_order_or_formula_are_refused(bundle: Path) -> None:
    acting = read_bundle(bundle).manifest.acting
    first, second, *rest = acting.features
    other = first.model_copy(update={"sha256": "0" * 64})
    older = first.model_copy(update={"id": f"{first.id}9"})
    swapped = (
        first.model_copy(update={"sha256": second.sha256}),
        second.model_copy(update={"sha256": first.sha256}),
    )
    for features in ((other, second), (older, second), swapped):
        repack(bundle, acting=acting.model_copy(update={"features": (*features, *rest)}))
        with pytest.raises(ConfigError, match=rf"features of a bundle.*was {first.id}"):
            ServedModel.open(bundle)
    repack(bundle, acting=acting.model_copy(update={"features": (second, *rest)}))
    with pytest.raises(StorageError, match="other columns"):
        ServedModel.open(bundle)


def test_M11_days_that_overlap_are_refused(bundle: Path) -> None:
    manifest = read_bundle(bundle).manifest
    require_unseen(manifest, "2024-09-02", where="backtest")
    for day in ("2024-08-30", "2024-03-01", "2023-01-01"):
        with pytest.raises(ConfigError, match="judged on days after those that it learned from"):
            require_unseen(manifest, day, where="backtest")
    with pytest.raises(ConfigError, match="no days of"):
        require_unseen(manifest.model_copy(update={"periods": {}}), "2030-01-01", where="backtest")
    late = {**manifest.periods, "train": DayRange("2024-01-02", "2024-09-03", 900)}
    with pytest.raises(StorageError, match="other periods"):
        ServedModel.open(repack(bundle, periods=late))


def _zip(members: list[tuple[str, bytes]], kind: int = zipfile.ZIP_STORED) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", kind) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return packed.getvalue()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_M12_zip_slip_and_bombs_are_refused(bundle: Path, tmp_path: Path) -> None:
    found = read_bundle(bundle)
    members = [("manifest.json", found.manifest.model_dump_json().encode()), *found.files.items()]
    renamed = [(name.replace("heads", "../../heads"), data) for name, data in members]
    cases = {
        "slip": (_zip(renamed), "a bundle must hold"),
        "absolute": (_zip([*members, ("/etc/cron.d/x", b"")]), "a bundle must hold"),
        "twice": (_zip([*members, members[0]]), "a bundle must hold"),
        "missing": (_zip(members[:-1]), "a bundle must hold"),
        "compressed": (_zip(members, zipfile.ZIP_DEFLATED), "stored as they are"),
        "bomb": (
            _zip([*members[:-1], (members[-1][0], bytes(50_000_000))], zipfile.ZIP_DEFLATED),
            "stored as they are",
        ),
        "declared": (_declare_more(_zip(members)), "fit into it|zip file that"),
    }
    for name, (data, rule) in cases.items():
        bundle.write_bytes(data)
        with pytest.raises(StorageError, match=rule):
            ServedModel.open(bundle)
        assert sorted(each.name for each in tmp_path.iterdir()) == ["bundle.zip"], name


def _declare_more(data: bytes) -> bytes:
    """Say in the directory that the first member has 3 GB."""
    place = data.index(b"PK\x01\x02")
    return data[: place + 20] + struct.pack("<II", 3 << 30, 3 << 30) + data[place + 28 :]


@pytest.mark.parametrize(
    "golden",
    [
        struct.pack("<Q", 2**63) + b"{}",
        struct.pack("<Q", 2) + b"{}",
        b"",
        b'\x46\x00\x00\x00\x00\x00\x00\x00{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":1}',
    ],
)
def test_M13_hostile_tensor_files_are_refused(bundle: Path, golden: bytes) -> None:
    repack(bundle, files={"golden.safetensors": golden})

    with pytest.raises(StorageError):
        ServedModel.open(bundle)


def test_M13_overlapping_tensors_are_refused(bundle: Path) -> None:
    text = (
        b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},'
        b'"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}'
    )
    golden = struct.pack("<Q", len(text)) + text + bytes(12)
    repack(bundle, files={"golden.safetensors": golden})

    with pytest.raises(StorageError, match="without overlap or gap"):
        ServedModel.open(bundle)


def test_bundle_of_no_file_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent.zip", Path("/dev/null")):
        with pytest.raises(StorageError, match="a bundle must be a file"):
            ServedModel.open(path)


def test_run_without_scalers_or_of_vectors_is_not_exported(tmp_path: Path) -> None:
    run = make_served_run(tmp_path, encoder=None, scalers=())

    with pytest.raises(UserError, match="must hold its scalers to be exported"):
        export_run(run, tmp_path / "x.zip")
