"""Embeddings on disk, by what they were made of: weights of the encoder and the table encoded.

    <folder>/<encoder, 16 digits>-<table, 16 digits>.safetensors

The whole keys and the hash of the content are in the file. A file that is damaged, or is not what
its name says, is made anew: it is only a copy of what can be computed. The folder does not grow
without end: the files that were not used for longest give way.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.data.atomic import atomic_file, sweep_temporaries
from tradingbot.domain.errors import StorageError
from tradingbot.features.tensor_files import map_tensors, read_header, write_tensors
from tradingbot.networks.embedding import embed_table, weights_hash
from tradingbot.networks.encoders.encoder import Encoder
from tradingbot.runs.tensors import arrays_sha256, final_hash

EMBEDDINGS_FOLDER = "embeddings"
"""Below a workspace."""
KEPT_FILES = 8
"""Of one folder; those of the full encoder take half a gigabyte for 143 symbols and two years."""
_DIGITS = 16
_NAME = "embeddings"


def embeddings_path(folder: Path, encoder_sha256: str, table_sha256: str) -> Path:
    """Return where the embeddings of a table are, or would be."""
    name = f"{encoder_sha256[:_DIGITS]}-{table_sha256[:_DIGITS]}.safetensors"
    return folder / name


def cached_embeddings(
    folder: Path, encoder_sha256: str, table_sha256: str, compute: Callable[[], Tensor]
) -> Tensor:
    """Return embeddings (M, T, D) on the CPU, from disk where whole ones are there.

    Args:
        folder: Where embeddings are kept; made if absent.
        encoder_sha256: `networks.embedding.weights_hash` of the encoder. Where precision is a
            choice, hash it too: embeddings in bfloat16 are others.
        table_sha256: Hash of the table encoded: the panel's, and of what was done to it.
        compute: Makes the embeddings, float32 or float64.

    Raises:
        StorageError: If the disk refuses a new file.
    """
    path = embeddings_path(folder, encoder_sha256, table_sha256)
    keys = {"encoder_sha256": encoder_sha256, "table_sha256": table_sha256}
    found = _read(path, keys)
    if found is not None:
        with suppress(OSError):  # of another user, or a disk that is only read
            os.utime(path)
        return torch.from_numpy(found)
    made = compute().detach().cpu().contiguous()
    array = made.numpy()
    sweep_temporaries(folder)
    with atomic_file(path) as temporary:
        metadata = {**keys, "content_sha256": arrays_sha256({_NAME: array})}
        write_tensors(temporary, {_NAME: array}, metadata)
    _forget_oldest(folder, keep=path)
    return made


def kept_embeddings(encoder: Encoder, table: Tensor, workspace: Path | None) -> Tensor:
    """Return embeddings (M, T, D) of a table, from disk where they were made before.

    Threads and torch's version decide the last bits of a sum: they are part of the key, so that a
    run has the same bits whether or not anything was kept. A GPU computes them in less time than a
    disk reads them: what it makes is not kept.

    Args:
        encoder: On the device of the table.
        table: (M, T, F).
        workspace: Where embeddings are kept; None: nowhere. A disk without room changes nothing.
    """
    if workspace is None or table.device.type != "cpu":
        return embed_table(encoder, table)
    circumstances = f"{torch.get_num_threads()} {torch.__version__}"
    key = hashlib.sha256(f"{weights_hash(encoder)} {circumstances}".encode()).hexdigest()
    made: list[Tensor] = []

    def compute() -> Tensor:
        made.append(embed_table(encoder, table))
        return made[0]

    folder = workspace / EMBEDDINGS_FOLDER
    try:
        return cached_embeddings(folder, key, final_hash({"table": table}), compute)
    except StorageError:
        return made[0] if made else embed_table(encoder, table)


def _forget_oldest(folder: Path, *, keep: Path) -> None:
    """Remove the files beyond `KEPT_FILES` that were not used for longest; others may do so too."""
    with suppress(OSError):
        others = [file for file in folder.glob("*.safetensors") if file != keep]
        by_use = sorted(others, key=lambda file: file.stat().st_mtime_ns)
        for file in by_use[: max(0, len(others) + 1 - KEPT_FILES)]:
            file.unlink(missing_ok=True)


def _read(path: Path, keys: dict[str, str]) -> NDArray[Any] | None:
    """Map a stored file; None if it is absent or anything about it is wrong."""
    if not path.is_file():
        return None
    try:
        header, _ = read_header(path)
        metadata = header.get("__metadata__")
        if not isinstance(metadata, dict):
            return None
        found = map_tensors(path).get(_NAME)
    except StorageError:
        return None
    if found is None or found.ndim != 3 or found.dtype.kind != "f":
        return None
    expected = {**keys, "content_sha256": arrays_sha256({_NAME: np.asarray(found)})}
    return np.asarray(found) if metadata == expected else None
