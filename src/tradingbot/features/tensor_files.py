"""Tensors in safetensors files: written in one known byte order, read through a memory map.

A file is 8 bytes of header length, a JSON header and the tensors' bytes. Everything in the header
is checked before it is used, since a file may come from elsewhere.

Source: safetensors format description, https://huggingface.co/docs/safetensors.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.errors import StorageError

_DTYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "|i1",
    "U8": "|u1",
    "BOOL": "|b1",
    "BF16": "<u2",  # numpy has no bfloat16: its bits travel as uint16
}
_NAMES = {np.dtype(code): name for name, code in _DTYPES.items()}
_MAX_HEADER_BYTES = 10_000_000
_ALIGNMENT = 8


def write_tensors(
    path: Path, tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, str] | None = None
) -> str:
    """Write tensors; the same content always gives the same bytes.

    Widest elements come first, then names in order, so that every tensor is aligned. The caller
    makes the write atomic.

    Returns:
        Hex sha256 of the file.
    """
    digest = hashlib.sha256()
    with path.open("wb") as file:
        for part in _parts(tensors, metadata):
            file.write(part)
            digest.update(part)
    return digest.hexdigest()


def pack_tensors(tensors: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the bytes of a file of tensors."""
    return b"".join(_parts(tensors, None))


def unpack_tensors(data: bytes, where: Path) -> dict[str, NDArray[Any]]:
    """Read what `pack_tensors` made, or anyone; the arrays cannot be written to.

    Args:
        data: The bytes of a file.
        where: What messages name.

    Raises:
        StorageError: If it is no well-formed safetensors file.
    """
    header, start = _read_header(io.BytesIO(data), len(data), where)
    return _views(header, np.frombuffer(data, np.uint8, offset=start))


def _parts(
    tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, str] | None
) -> Iterator[bytes | memoryview]:
    """Yield length, header and tensors."""
    order = sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name))
    header: dict[str, Any] = {}
    if metadata:
        header["__metadata__"] = dict(sorted(metadata.items()))
    end = 0
    for name in order:
        tensor = tensors[name]
        begin, end = end, end + tensor.nbytes
        header[name] = {
            "dtype": _NAMES[tensor.dtype.newbyteorder("<")],
            "shape": list(tensor.shape),
            "data_offsets": [begin, end],
        }
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    yield len(text).to_bytes(8, "little")
    yield text
    for name in order:
        tensor = tensors[name]
        little = np.ascontiguousarray(tensor, dtype=tensor.dtype.newbyteorder("<"))
        yield little.reshape(-1).view(np.uint8).data


def map_tensors(path: Path) -> dict[str, NDArray[Any]]:
    """Open every tensor as a view of the file, reading nothing but the header.

    The views may be written to: that changes this process's copy of a page, never the file.

    Raises:
        StorageError: If the file is not a well-formed safetensors file, whatever its origin.
    """
    header, start = read_header(path)
    if path.stat().st_size == start:
        data: NDArray[np.uint8] = np.empty(0, dtype=np.uint8)
    else:
        data = np.memmap(path, dtype=np.uint8, mode="c", offset=start)
    return _views(header, data)


def _views(header: dict[str, Any], data: NDArray[np.uint8]) -> dict[str, NDArray[Any]]:
    return {
        name: data[entry["data_offsets"][0] : entry["data_offsets"][1]]
        .view(_DTYPES[entry["dtype"]])
        .reshape(entry["shape"])
        for name, entry in header.items()
        if name != "__metadata__"
    }


def read_header(path: Path) -> tuple[dict[str, Any], int]:
    """Read and check the header.

    Returns:
        The header and the offset of the first tensor's byte.
    """
    try:
        with path.open("rb") as file:
            return _read_header(file, path.stat().st_size, path)
    except OSError as e:
        _refuse("tensor file must be readable", f"{type(e).__name__}: {e}", path)


def _read_header(file: BinaryIO, size: int, path: Path) -> tuple[dict[str, Any], int]:
    length = int.from_bytes(file.read(8), "little")
    if size < 8 or length > min(_MAX_HEADER_BYTES, size - 8):
        _refuse("header must fit into the file", f"{length} bytes", path)
    try:
        header = json.loads(file.read(length), object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError) as e:
        _refuse("tensor file must be readable", f"{type(e).__name__}: {e}", path)
    if not isinstance(header, dict):
        _refuse("header must be a JSON object", type(header).__name__, path)
    _check_layout(header, size - 8 - length, path)
    return header, 8 + length


def header_sha256(path: Path) -> str:
    """Hash the length and header only: cheap, and it pins names, types, shapes and offsets."""
    _, start = read_header(path)
    with path.open("rb") as file:
        return hashlib.sha256(file.read(start)).hexdigest()


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) != len(pairs):
        raise ValueError("a key occurs twice")
    return entries


def _check_layout(header: dict[str, Any], data_bytes: int, path: Path) -> None:
    """Refuse tensors that overlap, leave holes, reach outside the file or lie about their size."""
    spans = []
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        if not _is_entry(entry):
            _refuse("tensor must have a known dtype, a shape and offsets", str(entry)[:80], path)
        begin, end = entry["data_offsets"]
        count = 1
        for axis in entry["shape"]:
            count *= axis  # Python integers do not overflow
        dtype = np.dtype(_DTYPES[entry["dtype"]])
        if end - begin != count * dtype.itemsize or begin % dtype.itemsize:
            _refuse(f"tensor {name[:40]!r} must fill its offsets", [begin, end], path)
        spans.append((begin, end))
    expected = 0
    for begin, end in sorted(spans):
        if begin != expected:
            _refuse("tensors must follow each other without overlap or gap", begin, path)
        expected = end
    if expected != data_bytes:
        _refuse(f"file must hold {expected} bytes of tensors", data_bytes, path)


def _is_entry(entry: object) -> bool:
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        return False
    shape, offsets = entry["shape"], entry["data_offsets"]
    return (
        isinstance(entry["dtype"], str)
        and entry["dtype"] in _DTYPES
        and isinstance(shape, list)
        and len(shape) <= 8
        and isinstance(offsets, list)
        and len(offsets) == 2
        and all(type(number) is int and number >= 0 for number in (*shape, *offsets))
    )


def _refuse(rule: str, was: object, path: Path) -> NoReturn:
    raise StorageError(
        rule, was=was, where=str(path), remedy="Delete the folder that holds it and build it again"
    )
