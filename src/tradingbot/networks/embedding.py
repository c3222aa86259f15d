"""Embeddings of whole tables, in chunks that bound memory, and the hash of the weights they are of.

What is kept on disk is no matter of this package: see `runs/embeddings.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor, nn
from torch.nn import functional

from tradingbot.networks.encoders.encoder import Encoder
from tradingbot.networks.precision import Precision

CHUNK_BARS = {"cpu": 2**12, "cuda": 2**18}
"""Bars encoded at once where nothing else is said: within a processor's caches; some 4 GB."""


def embed_table(
    encoder: Encoder,
    table: Tensor,
    *,
    precision: Precision = "float32",
    chunk_bars: int | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Encode histories (M, T, F) → (M, T, D) without gradients; cuts change last bits at most.

    A bar's embedding does not depend on how many bars follow: a table that grows keeps its bits.

    Args:
        encoder: On the device of the table.
        table: (M, T, F).
        precision: Of matrix products.
        chunk_bars: Bars encoded at once, which bounds memory, but for what `encoder.padded_bars`
            adds; None: what suits the device.
        out: (M, T, D) to write to; None: a new tensor.
    """
    n_series, n_bars, _ = table.shape
    if out is None:
        out = table.new_empty(n_series, n_bars, encoder.width)
    chunk = chunk_bars or CHUNK_BARS.get(table.device.type, CHUNK_BARS["cpu"])
    with torch.no_grad(), autocast(table.device, precision):
        for series, begin, end in _chunks(n_series, n_bars, chunk, encoder.padded_bars(n_bars)):
            seen = table[series, max(0, begin - encoder.lookback_bars + 1) : end]
            wanted = encoder.padded_bars(end - begin)
            filled = functional.pad(seen, (0, 0, 0, wanted - (end - begin)))
            made = encoder(filled, None, wanted)
            out[series, begin:end] = made[:, : end - begin]
    return out


def autocast(device: torch.device, precision: Precision) -> AbstractContextManager[object]:
    """Return the context in which matrix products have a precision."""
    if precision == "float32":
        return nullcontext()
    # Weights cast without gradients must not be met again where gradients are wanted.
    return torch.autocast(device.type, dtype=torch.bfloat16, cache_enabled=False)


def weights_hash(module: nn.Module) -> str:
    """Return the sha256 of kind, settings and named tensors; the device does not matter."""
    digest = hashlib.sha256(f"{type(module).__name__}({module.extra_repr()})".encode())
    for name, tensor in sorted(module.state_dict().items()):
        digest.update(f"\n{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        flat = tensor.detach().cpu().contiguous().reshape(-1)
        digest.update(flat.view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _chunks(
    n_series: int, n_bars: int, chunk: int, padded_bars: int
) -> Iterator[tuple[slice, int, int]]:
    """Cut a table into blocks of whole series, or one series into stretches of time."""
    together = max(1, chunk // max(1, padded_bars))
    length = min(n_bars, chunk)
    for series in range(0, n_series, together):
        for begin in range(0, n_bars, max(1, length)):
            yield slice(series, series + together), begin, min(begin + length, n_bars)
