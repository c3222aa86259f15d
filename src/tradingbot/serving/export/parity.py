"""Comparing a bundle's graphs with the PyTorch policy, on real rows and on hostile ones."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.agents.policy import PolicyInputs
from tradingbot.domain.errors import ConfigError
from tradingbot.domain.seeding import stream as random_stream
from tradingbot.networks.encoders.encoder import Encoder
from tradingbot.networks.view import TableView
from tradingbot.runs.policy import StoredPolicy
from tradingbot.serving.bundle import ParityRecord
from tradingbot.serving.golden import TOLERANCE, largest_difference
from tradingbot.serving.served_model import ServedModel

HOSTILE_ROWS = 2_000
_WINDOWS_PER_LOOKBACK = 4
_STEP_BARS = 64
"""Bars that are compared at once."""
_USUAL_BOUND = 10.0
_SCALES = (0.0, 1e-30, 1e-3, 1.0, 10.0, 1e3, 1e6)
"""Of hostile rows: they are multiplied by one of these each."""


class ParityInputs(NamedTuple):
    """What both are given; N agents, T bars."""

    rows: Tensor
    """(N, T, F) float32, scaled."""
    private: Tensor
    """(T, 18, N) float32."""
    allowed: Tensor
    """(T, 7, N) bool, the first always allowed."""


def hostile_inputs(loaded: StoredPolicy, n_bars: int, *, seed: int = 0) -> ParityInputs:
    """Draw rows of every size, with whole bars and columns of zeros and bounds among them."""
    # Scaling lets nothing larger through; where it has no bound, ten deviations are hostile enough.
    bound = loaded.acting.feature_bound or _USUAL_BOUND
    shape = (len(loaded.agents), n_bars, loaded.n_columns)
    rows = draw_hostile(random_stream(seed, "export/parity"), shape, bound)
    return with_accounts(torch.from_numpy(rows), seed=seed, scale=3.0)


def draw_hostile(
    generator: np.random.Generator, shape: tuple[int, int, int], bound: float
) -> NDArray[np.float32]:
    """Draw rows (N, T, F) of every size within a bound, some of them zeros, some with spikes."""
    rows = generator.standard_normal(shape)
    rows *= generator.choice(_SCALES, size=(*shape[:2], 1))
    rows[:, :: max(1, shape[1] // 8)] = 0.0  # a bar that no symbol has
    spikes = generator.random(rows.shape) < 0.01
    rows[spikes] = generator.choice([-1e6, -10.0, 10.0, 1e6], size=int(spikes.sum()))
    return np.clip(rows, -bound, bound).astype(np.float32)


def with_accounts(rows: Tensor, *, seed: int = 0, scale: float = 1.0) -> ParityInputs:
    """Draw private numbers and allowed codes beside rows (N, T, F)."""
    n_agents, n_bars, _ = rows.shape
    generator = random_stream(seed, "export/accounts")
    private = scale * generator.standard_normal((n_bars, 18, n_agents))
    allowed = generator.random((n_bars, 7, n_agents)) > 0.4
    allowed[:, 0] = True
    return ParityInputs(
        rows, torch.from_numpy(private.astype(np.float32)), torch.from_numpy(allowed)
    )


class Gaps(NamedTuple):
    """What comparing one set of inputs came to."""

    largest: float
    n_rows: int
    n_decisions_differ: int


def compare(loaded: StoredPolicy, model: ServedModel, inputs: ParityInputs) -> Gaps:
    """Compare streaming and heads with PyTorch on every bar of some inputs, windows on some bars.

    A window costs as much as W bars of a stream: of W bars, a few windows are compared. Embeddings
    are compared with those of double precision: on hostile rows float32 is as far from them in
    PyTorch as in ONNX Runtime, and the two together could be twice as far apart.
    """
    encoder, exact = loaded.seen_through, deepcopy(loaded.seen_through).double()
    n_agents, n_bars, _ = inputs.rows.shape
    largest, n_differ = 0.0, 0
    ours = model.begin_stream(n_agents)
    for begin in range(0, n_bars, _STEP_BARS):
        bars = range(begin, min(begin + _STEP_BARS, n_bars))
        wanted = _embed(encoder, inputs.rows, bars)
        certain = _embed(exact, inputs.rows.double(), bars)
        streamed = []
        for bar in bars:
            ours, embedding = model.stream(ours, inputs.rows[:, bar].numpy())
            streamed.append(embedding)
        found = np.stack(streamed, axis=1)
        some = slice(None, None, -(-encoder.lookback_bars // _WINDOWS_PER_LOOKBACK))
        windows, known = _windows(inputs.rows, bars[some], encoder.lookback_bars)
        by_window = model.embed_windows(windows, known).reshape(n_agents, -1, encoder.width)
        gaps = (
            largest_difference(found, certain.numpy()),
            largest_difference(by_window, certain[:, some].numpy()),
        )
        gap, differ = _compare_answers(loaded, model, (wanted, found), inputs, bars)
        largest, n_differ = max(largest, gap, *gaps), n_differ + differ
    return Gaps(largest, n_agents * n_bars, n_differ)


def measure_gaps(
    loaded: StoredPolicy, model: ServedModel, real: Tensor | None, *, n_hostile: int
) -> tuple[list[Gaps], list[Gaps]]:
    """Compare on drawn rows, and on real ones (N, T, F) where there are some.

    Args:
        loaded: The policy in PyTorch.
        model: The same in ONNX Runtime.
        real: Scaled rows; None: none are at hand.
        n_hostile: Hostile rows, of all agents together, at the least.

    Returns:
        Of hostile rows, and of real ones.
    """
    n_bars = max(2 * model.lookback_bars, -(-n_hostile // len(loaded.agents)))
    hostile = [compare(loaded, model, hostile_inputs(loaded, n_bars))]
    return hostile, [] if real is None else [compare(loaded, model, with_accounts(real))]


def record_parity(hostile: Sequence[Gaps], real: Sequence[Gaps], *, where: str) -> ParityRecord:
    """Put together what comparing came to.

    Raises:
        ConfigError: If they differ by more than `TOLERANCE`.
    """
    made = [*hostile, *real]
    largest = max(each.largest for each in made)
    if not largest <= TOLERANCE:
        raise ConfigError(
            f"ONNX Runtime must agree with PyTorch to {TOLERANCE:g}",
            was=f"{largest:.2g}",
            where=where,
            remedy="Do not serve this run; report it with its configuration",
        )
    return ParityRecord(
        n_real=sum(each.n_rows for each in real),
        n_hostile=sum(each.n_rows for each in hostile),
        largest_difference=largest,
        n_decisions=sum(each.n_rows for each in made),
        n_decisions_differ=sum(each.n_decisions_differ for each in made),
    )


@torch.no_grad()
def _embed(encoder: Encoder, rows: Tensor, bars: range) -> Tensor:
    """Return PyTorch's embeddings (N, len(bars), D), of the bars before as well."""
    begin = max(0, bars.start - encoder.lookback_bars + 1)
    embedding: Tensor = encoder(rows[:, begin : bars.stop], None, len(bars))
    return embedding


def _windows(
    rows: Tensor, bars: range, lookback: int
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return windows (N · len(bars), W, F) and how many of their bars exist."""
    padded = torch.nn.functional.pad(rows[:, : bars.stop], (0, 0, lookback - 1, 0))
    cut = padded.unfold(1, lookback, 1)[:, bars].transpose(2, 3)
    known = np.minimum(np.array(bars) + 1, lookback)
    flat = np.ascontiguousarray(cut.flatten(0, 1).numpy())
    return flat, np.tile(known, len(rows)).astype(np.int64)


def _compare_answers(
    loaded: StoredPolicy,
    model: ServedModel,
    embeddings: tuple[Tensor, NDArray[np.float32]],
    inputs: ParityInputs,
    bars: range,
) -> tuple[float, int]:
    """Compare outputs and actions; each side reads its own embeddings (N, T, D)."""
    theirs, ours = embeddings
    n_agents, n_bars, _ = theirs.shape
    policy = loaded.policy_on(TableView(theirs))
    # Bar by bar, agents in turn: as accounts of a backtest are laid out.
    rows = (torch.arange(n_agents)[None] * n_bars + torch.arange(n_bars)[:, None]).reshape(-1)
    private = inputs.private[bars.start : bars.stop].movedim(1, 0).flatten(1)
    allowed = inputs.allowed[bars.start : bars.stop].movedim(1, 0).flatten(1)
    nothing = private.new_empty(len(rows), 0)
    seen = PolicyInputs(rows, nothing, nothing, private, allowed)
    output = policy.outputs(seen).transpose(0, 1).flatten(0, 1).numpy()
    action = policy(seen).numpy()
    agent = np.tile(np.arange(n_agents), n_bars)
    laid = np.ascontiguousarray(ours.swapaxes(0, 1).reshape(len(agent), -1))
    made: Any = model.decide(agent, laid, private.numpy(), allowed.numpy())
    gap = largest_difference(made.output, output)
    is_other = np.abs(made.action - action) > TOLERANCE
    return gap, int(is_other.sum())
