"""Torch tensors to and from tensor files, their hash, and whether weights are fit to be kept.

Torch is imported where a tensor is touched: runs are looked up without it, and it takes seconds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.errors import DataError

if TYPE_CHECKING:
    from torch import Tensor

_STORABLE = frozenset(
    f"torch.{name}"
    for name in (
        *("float64", "float32", "float16", "bfloat16", "bool"),
        *("int64", "int32", "int16", "int8", "uint8"),
    )
)


def to_arrays(tensors: Mapping[str, Tensor]) -> dict[str, NDArray[Any]]:
    """Copy tensors to the host as arrays; bfloat16 becomes its bits, uint16.

    Raises:
        DataError: If a name is no text of a tensor file, or a format cannot be stored.
    """
    import torch

    arrays = {}
    for name, tensor in tensors.items():
        if not name or name == "__metadata__" or not isinstance(tensor, torch.Tensor):
            raise DataError("tensor must have a name and be a tensor", was=repr(name))
        if str(tensor.dtype) not in _STORABLE or tensor.layout is not torch.strided:
            raise DataError("tensor must have a format that files know", was=tensor.dtype)
        host = tensor.detach().cpu().contiguous()
        is_short = host.dtype is torch.bfloat16
        arrays[name] = host.view(torch.int16).numpy().view(np.uint16) if is_short else host.numpy()
    return arrays


def to_tensors(arrays: Mapping[str, NDArray[Any]]) -> dict[str, Tensor]:
    """Copy arrays of a tensor file to tensors on the host."""
    import torch

    tensors = {}
    for name, array in arrays.items():
        if array.dtype == np.uint16:
            bits = torch.from_numpy(np.array(array).view(np.int16))
            tensors[name] = bits.view(torch.bfloat16)
        else:
            tensors[name] = torch.from_numpy(np.array(array))
    return tensors


def final_hash(tensors: Mapping[str, Tensor]) -> str:
    """Hash names, formats, shapes and bytes: equal exactly where every bit is."""
    return arrays_sha256(to_arrays(tensors))


def arrays_sha256(arrays: Mapping[str, NDArray[Any]]) -> str:
    """Hash arrays as `final_hash` hashes tensors."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name}:{array.dtype.str}:{arrays[name].shape};".encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def weakness(weights: Mapping[str, Tensor]) -> str | None:
    """Say why weights must not be kept, or None: not finite, or a network of zeros alone.

    A network is what stands before the first dot of the names.
    """
    import torch

    alive: dict[str, bool] = {}
    for name, tensor in weights.items():
        if not tensor.is_floating_point():
            continue
        if not bool(torch.isfinite(tensor).all()):
            return f"{name} holds NaN or infinity"
        network = name.partition(".")[0]
        alive[network] = alive.get(network, False) or bool(torch.count_nonzero(tensor))
    dead = [network for network, is_alive in alive.items() if not is_alive]
    return f"{dead[0]} is all zeros" if dead else None
