"""Hundreds of cuts: the market is given without its end, and in large markets by stretches.

A leak at one row in a hundred is met by a cut once in a hundred, so a proof needs hundreds of them.
Nothing can be read out of rows that are not there, so what a prefix of the market gives must be the
same in the whole. Where prefixes are long, stretches stand for them: a stretch is a market, too,
and is computed once with the rows that follow a cut and once without. What speaks of absolute rows
only (a model's stages) says nothing in a stretch; then the market is given from its first row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import groupby

import numpy as np

from tradingbot.features.causality import subject as claims
from tradingbot.features.causality.cuts import calendar_traits
from tradingbot.features.causality.perturbations import copy_inputs
from tradingbot.features.causality.tally import Round, Tally, defined_count, is_constant
from tradingbot.features.inputs import MarketInputs

Evaluate = Callable[[claims.ProofSubject, MarketInputs], Mapping[str, claims.Output] | str]

MEMORY_ROWS = 512
"""Rows that a stretch holds before the first cut in it: what most outputs remember."""
STRETCH_ROWS = 64
"""Rows of the market whose cuts share a stretch."""
PREFIX_CELLS = 100_000_000
"""Rows times symbols of all prefixes together up to which no stretches are needed."""
_CUTS_PER_TRAIT = 6
_SHIFT = 191  # has no divisor in common with 512: stretches begin at ever other distances


def prefix_cuts(inputs: MarketInputs, count: int, rng: np.random.Generator) -> list[int]:
    """Choose the last rows of the prefixes: some of each kind in the calendar, the rest drawn.

    Returns:
        Distinct rows, rising; every row but the last where there are at most twice as many.
    """
    usable = inputs.shape[0] - 1
    if usable <= 2 * count:
        return list(range(usable))
    traits = calendar_traits(inputs)[:usable]
    special = [rng.permutation(np.flatnonzero(column))[:_CUTS_PER_TRAIT] for column in traits.T]
    chosen = np.unique(np.concatenate(special))
    chosen = rng.permutation(chosen)[:count]
    others = rng.permutation(np.setdiff1d(np.arange(usable), chosen))
    return sorted(np.concatenate([chosen, others[: count - len(chosen)]]).tolist())


def compare_prefixes(
    inputs: MarketInputs,
    subject: claims.ProofSubject,
    tallies: list[Tally],
    cuts: list[int],
    evaluate: Evaluate,
) -> Iterator[int]:
    """Compute stretches with and without their end and compare what both hold.

    Ends at the first offence; what was counted is added to the tallies.

    Args:
        inputs: The market.
        subject: What is examined.
        tallies: Accounts of its outputs.
        cuts: Last rows of the prefixes, rising.
        evaluate: Computes a subject, or says why it failed.

    Yields:
        The number of recomputations, after each stretch.
    """
    if subject.prefixes is not None:
        yield _compare_ends(inputs, subject.prefixes, tallies, cuts)
        return
    length, width = inputs.shape
    is_small = length * width * len(cuts) // 2 <= PREFIX_CELLS
    whole = is_small or not _tells_in_stretches(inputs, subject, tallies, evaluate)
    for place, group in groupby(cuts, key=lambda cut: 0 if whole else cut // STRETCH_ROWS):
        first = place * STRETCH_ROWS - MEMORY_ROWS - place * _SHIFT % MEMORY_ROWS
        first = max(0, first)
        own = list(group)
        stop = min(length, max(own) + STRETCH_ROWS)
        found = _compare_stretch(inputs, (first, stop), subject, own, evaluate)
        for tally in tallies:
            _add(tally, found.get(tally.output))
        yield len(own) + 1
        if any(tally.offence is not None for tally in tallies):
            return


def _compare_ends(
    inputs: MarketInputs, prefixes: claims.Prefixes, tallies: list[Tally], cuts: list[int]
) -> int:
    """Compare the ends of prefixes that the subject knows how to compute by themselves."""
    give = prefixes(copy_inputs(inputs))
    for cut in cuts:
        first, ends = give(cut + 1)
        for tally in tallies:
            tally.compare_end(cut, first, ends[tally.output], inputs.closed_at)
        if any(tally.offence is not None for tally in tallies):
            break
    return len(cuts)


def _compare_stretch(
    inputs: MarketInputs,
    rows: tuple[int, int],
    subject: claims.ProofSubject,
    cuts: list[int],
    evaluate: Evaluate,
) -> dict[str, Tally]:
    """Return the accounts of one stretch, by output; none where the subject cannot compute it."""
    first, stop = rows
    whole = _stretch(inputs, first, stop)
    expected = evaluate(subject, whole)
    if isinstance(expected, str):
        return {}
    names = inputs.symbols
    found = {name: Tally.of(subject, name, output, names) for name, output in expected.items()}
    for cut in cuts:
        planned = Round(cut, "truncate", np.full(inputs.shape[1], cut - first, dtype=np.int64))
        if not any(tally.takes_part(planned) for tally in found.values()):
            continue
        got = evaluate(subject, _stretch(inputs, first, cut + 1))
        for tally in found.values():
            tally.compare(planned, got, whole.closed_at, cut + 1 - first)
    return found


def _stretch(inputs: MarketInputs, first: int, stop: int) -> MarketInputs:
    return copy_inputs(inputs.truncated(stop).from_row(first))


def _tells_in_stretches(
    inputs: MarketInputs,
    subject: claims.ProofSubject,
    tallies: list[Tally],
    evaluate: Evaluate,
) -> bool:
    """Tell whether the last stretch gives every output that the whole market gives there."""
    stop = inputs.shape[0]
    first = stop - MEMORY_ROWS - STRETCH_ROWS
    if first <= 0:
        return True
    got = evaluate(subject, _stretch(inputs, first, stop))
    if isinstance(got, str):
        return False
    for tally in tallies:
        if tally.scope == "fitted" or tally.output not in got:
            continue
        here = Tally.of(subject, tally.output, got[tally.output], inputs.symbols)
        told = here.expected[MEMORY_ROWS:]
        was = tally.expected[first + MEMORY_ROWS : stop]
        if here.known_from > MEMORY_ROWS and tally.known_from <= stop:
            return False
        if 2 * defined_count(told) < defined_count(was) or is_constant(told) > is_constant(was):
            return False
    return True


def _add(tally: Tally, more: Tally | None) -> None:
    if more is not None:
        tally.comparisons += more.comparisons
        tally.differing += more.differing
        tally.offence = tally.offence or more.offence
