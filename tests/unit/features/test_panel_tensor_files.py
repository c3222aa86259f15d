"""Tensor files: same bytes, readable by others, and malicious headers refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from tradingbot.data.atomic import file_sha256
from tradingbot.domain.errors import StorageError
from tradingbot.features.tensor_files import header_sha256, map_tensors, read_header, write_tensors

TENSORS = {
    "flags": np.array([True, False, True]),
    "wide": np.arange(6, dtype=np.float64).reshape(2, 3),
    "single": np.arange(4, dtype=np.float32).reshape(2, 2, 1),
    "whole": np.array([-1, 2**40], dtype=np.int64),
    "none": np.empty((0, 3), dtype=np.float32),
}


def write_raw(path: Path, header: bytes, body: bytes = b"", length: int | None = None) -> Path:
    size = len(header) if length is None else length
    path.write_bytes(size.to_bytes(8, "little") + header + body)
    return path


def test_written_tensors_come_back_equal(tmp_path: Path) -> None:
    digest = write_tensors(tmp_path / "t", TENSORS, {"origin": "synthetic"})

    loaded = map_tensors(tmp_path / "t")

    assert digest == file_sha256(tmp_path / "t")
    assert set(loaded) == set(TENSORS)
    for name, values in TENSORS.items():
        np.testing.assert_array_equal(loaded[name], values)
        assert loaded[name].dtype == values.dtype
        assert loaded[name].flags.aligned
    assert read_header(tmp_path / "t")[0]["__metadata__"] == {"origin": "synthetic"}


def test_files_are_those_of_the_safetensors_library(tmp_path: Path) -> None:
    write_tensors(tmp_path / "ours", TENSORS)
    save_file(TENSORS, tmp_path / "theirs")

    for path, read in ((tmp_path / "ours", load_file), (tmp_path / "theirs", map_tensors)):
        for name, values in read(path).items():
            np.testing.assert_array_equal(values, TENSORS[name])


def test_order_of_tensors_and_memory_layout_do_not_change_the_bytes(tmp_path: Path) -> None:
    backwards = dict(reversed(TENSORS.items()))
    backwards["wide"] = np.asfortranarray(backwards["wide"])

    assert write_tensors(tmp_path / "a", TENSORS) == write_tensors(tmp_path / "b", backwards)


def test_writing_to_a_mapped_tensor_does_not_change_the_file(tmp_path: Path) -> None:
    digest = write_tensors(tmp_path / "t", TENSORS)

    map_tensors(tmp_path / "t")["wide"][0, 0] = 99.0

    assert file_sha256(tmp_path / "t") == digest


def entry(begin: int = 0, end: int = 8, shape: object = (2,), dtype: object = "F32") -> dict:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


@pytest.mark.parametrize(
    ("header", "body"),
    [
        ({"a": entry(0, 8), "b": entry(4, 12)}, 12),  # overlap
        ({"a": entry(0, 8), "b": entry(0, 8)}, 8),  # the same bytes twice
        ({"a": entry(0, 8), "b": entry(12, 20)}, 20),  # hole
        ({"a": entry(0, 8)}, 4),  # reaches outside the file
        ({"a": entry(0, 8)}, 16),  # bytes that belong to nothing
        ({"a": entry(0, 8, shape=(3,))}, 8),
        ({"a": entry(8, 0)}, 8),
        ({"a": entry(-8, 0)}, 0),
        ({"a": entry(0, 8, shape=(-2,))}, 8),
        ({"a": entry(0, 8, shape=(2**32, 2**32, 2**32, 0.5))}, 8),
        ({"a": entry(0, 0, shape=(2**62, 4))}, 0),  # overflows to 0 in 64 bits
        ({"a": entry(0, 8, dtype="O")}, 8),
        ({"a": entry(0, 8, dtype=["F32"])}, 8),
        ({"a": entry(0, 8, shape="2")}, 8),
        ({"a": entry(0, 8, shape=(True, 2))}, 8),
        ({"a": [0, 8]}, 8),
        ({"a": {**entry(), "path": "/etc/passwd"}}, 8),
        ([1, 2], 0),
    ],
)
def test_malicious_layout_is_refused(tmp_path: Path, header: object, body: int) -> None:
    path = write_raw(tmp_path / "t", json.dumps(header).encode(), b"\0" * body)

    with pytest.raises(StorageError):
        map_tensors(path)


def test_misaligned_tensor_is_refused(tmp_path: Path) -> None:
    header = {"a": entry(0, 1, (1,), "BOOL"), "b": entry(1, 9, (1,), "F64")}
    path = write_raw(tmp_path / "t", json.dumps(header).encode(), b"\0" * 9)

    with pytest.raises(StorageError, match="must fill its offsets"):
        map_tensors(path)


@pytest.mark.parametrize("length", [2**63, 2**64 - 1, 11_000_000, 1000])
def test_header_longer_than_the_file_is_refused(tmp_path: Path, length: int) -> None:
    path = write_raw(tmp_path / "t", b"{}", length=length)

    with pytest.raises(StorageError, match="must fit into the file"):
        read_header(path)


@pytest.mark.parametrize(
    "header",
    [
        b'{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},'
        b'"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}',
        b"\xff\xfe",
        b"{" * 1000,
        b"[" * 200_000,
        b'{"a": NaN',
        b"",
    ],
)
def test_header_that_is_no_proper_json_is_refused(tmp_path: Path, header: bytes) -> None:
    with pytest.raises(StorageError):
        header_sha256(write_raw(tmp_path / "t", header))


@pytest.mark.parametrize("content", [b"", b"1234567", None])
def test_file_without_header_or_absent_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "t"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(StorageError):
        map_tensors(path)
