"""Prefix invariance at every bar: features fed bar by bar against features of the whole history.

The stream is given one bar at a time and cannot see a later one, so equal bits at every bar leave
no bar at which the batch could look ahead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tradingbot.data.sources.source import Progress, ignore_progress
from tradingbot.features.causality.comparison import defined_count, differs
from tradingbot.features.causality.report import Offence, ProofVerdict
from tradingbot.features.compute import compute_features
from tradingbot.features.inputs import FloatArray, MarketInputs
from tradingbot.features.spec import FeatureSpec
from tradingbot.features.streaming import FeatureStream

_REPORT_EVERY_ROWS = 256


def prove_every_bar(
    inputs: MarketInputs, specs: Sequence[FeatureSpec], *, progress: Progress = ignore_progress
) -> tuple[ProofVerdict, ...]:
    """Compare streaming with batch, bit for bit, for each feature at each bar of each symbol.

    Returns:
        A verdict per feature, of subject `every_bar`.
    """
    streamed = _streamed(inputs, specs, progress)
    batch = compute_features(inputs, specs)
    return tuple(
        _verdict(spec, batch[spec.name], streamed[:, position], inputs)
        for position, spec in enumerate(specs)
    )


def covariates_so_far(inputs: MarketInputs) -> Iterator[dict[str, FloatArray]]:
    """Yield, row by row, each covariate's last value available by that row's close, (N,).

    Independent of `as_of.join_as_of`, which it checks; NaN where nothing is available yet.
    """
    latest = {name: np.full(inputs.shape[1], np.nan) for name in inputs.covariates}
    taken = dict.fromkeys(inputs.covariates, 0)
    for now in inputs.closed_at:
        for name, events in inputs.covariates.items():
            while taken[name] < len(events.values) and events.available_at[taken[name]] <= now:
                latest[name][events.symbol_index[taken[name]]] = events.values[taken[name]]
                taken[name] += 1
        yield {name: values.copy() for name, values in latest.items()}


def _streamed(inputs: MarketInputs, specs: Sequence[FeatureSpec], progress: Progress) -> FloatArray:
    """(T, F, N) features as a stream gave them."""
    length, width = inputs.shape
    stream = FeatureStream(inputs.symbols, specs, time_zone=inputs.time_zone)
    streamed = np.empty((length, len(specs), width))
    for row, covariates in enumerate(covariates_so_far(inputs)):
        bars = {name: values[row] for name, values in inputs.bars.items()}
        features = stream.push(inputs.closed_at[row], inputs.present[row], bars, covariates)
        streamed[row] = features.T
        if row % _REPORT_EVERY_ROWS == 0 or row == length - 1:
            progress(row + 1, length, "every bar")
    return streamed


def _verdict(
    spec: FeatureSpec, batch: FloatArray, streamed: FloatArray, inputs: MarketInputs
) -> ProofVerdict:
    marked = differs(batch, streamed)
    offence = None
    if marked.any():
        row, column = (int(i) for i in np.argwhere(marked)[0])
        offence = Offence(
            symbol=inputs.symbols[column],
            closed_at=str(inputs.closed_at[row]),
            cut_at=str(inputs.closed_at[row]),
            perturbation="fed bar by bar",
            expected=repr(float(batch[row, column])),
            got=repr(float(streamed[row, column])),
        )
    is_empty = not defined_count(batch)
    return ProofVerdict(
        subject="every_bar",
        output=f"{spec.family}/{spec.name}",
        scope="market",
        known_from=0,
        status="leaks" if offence else "unproved" if is_empty else "causal",
        comparisons=batch.size,
        differing=int(marked.sum()),
        offence=offence,
        reason="it is defined nowhere" if is_empty else "",
    )
