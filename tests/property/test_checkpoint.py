"""Checkpoints over arbitrary tensors and arbitrary damage."""

from __future__ import annotations

import tempfile
from pathlib import Path

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given, settings
from hypothesis.extra import numpy as hnp

from fixtures.small_runs import content, make_run
from tradingbot.domain.errors import StorageError
from tradingbot.runs import final_hash, save_checkpoint
from tradingbot.runs.loading import load_checkpoint

FORMATS = ("f8", "f4", "f2", "i8", "i4", "i2", "i1", "u1", "?")
ARRAYS = st.sampled_from(FORMATS).flatmap(
    lambda kind: hnp.arrays(kind, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3))
)
NAMES = st.text(min_size=1, max_size=20).filter(lambda name: name != "__metadata__")


@settings(max_examples=25, deadline=None)
@given(st.dictionaries(NAMES, ARRAYS, max_size=5), st.booleans())
def test_any_tensors_come_back_bit_for_bit(arrays: dict, shorten: bool) -> None:
    tensors = {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}
    if shorten:
        tensors = {
            name: t.to(torch.bfloat16) if t.is_floating_point() else t
            for name, t in tensors.items()
        }
    with tempfile.TemporaryDirectory() as folder:
        run = make_run(Path(folder))

        manifest = save_checkpoint(run, "last", 1, content(training=tensors))
        loaded = load_checkpoint(run.checkpoints / manifest.name).training

    assert final_hash(loaded) == final_hash(tensors)
    assert {n: (t.dtype, t.shape) for n, t in loaded.items()} == {
        n: (t.dtype, t.shape) for n, t in tensors.items()
    }


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = make_run(tmp_path_factory.mktemp("kept"))
    manifest = save_checkpoint(run, "last", 1, content())
    return run.checkpoints / manifest.name


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_any_other_byte_in_any_tensor_file_is_found(kept: Path, data: st.DataObject) -> None:
    path = kept / data.draw(st.sampled_from(["agent.safetensors", "training.safetensors"]))
    whole = path.read_bytes()
    place = data.draw(st.integers(0, len(whole) - 1))
    other = data.draw(st.integers(1, 255))
    try:
        path.write_bytes(whole[:place] + bytes([whole[place] ^ other]) + whole[place + 1 :])
        with pytest.raises(StorageError):
            load_checkpoint(kept)
    finally:
        path.write_bytes(whole)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_any_other_byte_in_the_manifest_is_found_or_means_the_same(
    kept: Path, data: st.DataObject
) -> None:
    path = kept / "manifest.json"
    whole = path.read_bytes()
    expected = load_checkpoint(kept).manifest
    place = data.draw(st.integers(0, len(whole) - 1))
    other = data.draw(st.integers(1, 255))
    path.write_bytes(whole[:place] + bytes([whole[place] ^ other]) + whole[place + 1 :])
    try:
        found = load_checkpoint(kept).manifest
    except StorageError:
        return
    finally:
        path.write_bytes(whole)
    assert found == expected  # white space, or a number written another way


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_truncation_is_found(kept: Path, data: st.DataObject) -> None:
    path = kept / data.draw(st.sampled_from(["agent.safetensors", "training.safetensors"]))
    whole = path.read_bytes()
    try:
        path.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
        with pytest.raises(StorageError):
            load_checkpoint(kept)
    finally:
        path.write_bytes(whole)
