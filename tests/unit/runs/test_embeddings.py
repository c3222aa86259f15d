"""Embeddings on disk: whole and of the right weights, or computed anew."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tradingbot.features.tensor_files import write_tensors
from tradingbot.runs.embeddings import KEPT_FILES, cached_embeddings, embeddings_path

ENCODER, TABLE = "a" * 64, "b" * 64


class Computed:
    """Makes embeddings and counts how often it had to."""

    def __init__(self, factor: float = 1.0) -> None:
        self.times, self.factor = 0, factor

    def __call__(self) -> Tensor:
        self.times += 1
        return self.factor * torch.arange(24.0).view(2, 3, 4)


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    cached_embeddings(tmp_path, ENCODER, TABLE, Computed())
    return embeddings_path(tmp_path, ENCODER, TABLE)


def recomputed(folder: Path, encoder: str = ENCODER, table: str = TABLE) -> int:
    """Ask for the embeddings; they must be right, whether computed or not. Return how often."""
    computed = Computed()
    found = cached_embeddings(folder, encoder, table, computed)
    assert torch.equal(found, Computed()())
    return computed.times


def test_embeddings_are_computed_once(tmp_path: Path):
    assert recomputed(tmp_path) == 1
    assert recomputed(tmp_path) == 0


def test_other_weights_or_another_table_are_computed(stored: Path):
    assert recomputed(stored.parent, encoder="c" * 64) == 1
    assert recomputed(stored.parent, table="c" * 64) == 1


def test_embeddings_that_were_not_used_for_longest_give_way(stored: Path):
    os.utime(stored, (1, 1))
    others = [f"{number:x}" * 64 for number in range(1, KEPT_FILES)]
    for seconds, encoder in enumerate(others, start=2):
        recomputed(stored.parent, encoder=encoder)
        os.utime(embeddings_path(stored.parent, encoder, TABLE), (seconds, seconds))
    assert recomputed(stored.parent) == 0  # the oldest, but used now
    assert recomputed(stored.parent, encoder="f" * 64) == 1

    assert len([*stored.parent.glob("*.safetensors")]) == KEPT_FILES
    assert recomputed(stored.parent) == 0
    assert recomputed(stored.parent, encoder=others[1]) == 0
    assert recomputed(stored.parent, encoder=others[0]) == 1


def test_hash_that_only_begins_alike_is_not_mistaken(stored: Path):
    assert recomputed(stored.parent, encoder=ENCODER[:16] + "c" * 48) == 1
    assert recomputed(stored.parent) == 1  # it shares the name: the later one replaced it


def test_flip_of_any_byte_is_found(stored: Path):
    whole = stored.read_bytes()
    for place in range(0, len(whole), 7):
        damaged = bytearray(whole)
        damaged[place] ^= 0x01
        stored.write_bytes(bytes(damaged))
        assert recomputed(stored.parent) == 1, place
        assert stored.read_bytes() == whole, place


@pytest.mark.parametrize("length", [0, 5, 60, -1])
def test_truncated_file_is_computed_anew(stored: Path, length: int):
    stored.write_bytes(stored.read_bytes()[:length])

    assert recomputed(stored.parent) == 1
    assert recomputed(stored.parent) == 0


def test_file_with_more_bytes_is_computed_anew(stored: Path):
    stored.write_bytes(stored.read_bytes() + b"\0")

    assert recomputed(stored.parent) == 1


def test_what_is_returned_may_be_changed_without_changing_the_file(stored: Path):
    found = cached_embeddings(stored.parent, ENCODER, TABLE, Computed())
    found += 1.0

    assert recomputed(stored.parent) == 0


def test_gradients_and_other_layouts_are_stored_as_plain_numbers(tmp_path: Path):
    made = torch.arange(24.0).view(4, 3, 2).transpose(0, 2).requires_grad_(True)

    for _ in range(2):
        found = cached_embeddings(tmp_path, ENCODER, TABLE, lambda: made)
        assert torch.equal(found, made.detach())
        assert not found.requires_grad


@pytest.mark.parametrize(
    ("name", "shape", "dtype"),
    [
        ("embeddings", (2, 3, 4), "f4"),  # without the keys
        ("others", (2, 3, 4), "f4"),
        ("embeddings", (6, 4), "f4"),
        ("embeddings", (2, 3, 4), "i4"),
    ],
)
def test_file_that_holds_something_else_is_computed_anew(
    stored: Path, name: str, shape: tuple[int, ...], dtype: str
) -> None:
    numbers = Computed()().numpy().reshape(shape).astype(dtype)
    for metadata in ({}, {"encoder_sha256": ENCODER, "table_sha256": TABLE}):
        write_tensors(stored, {name: numbers}, metadata)
        assert recomputed(stored.parent) == 1
        assert recomputed(stored.parent) == 0
