"""How often the test against the best baseline passes: policies that know nothing, and that do.

Returns of symbols share a market (correlation 0.4) that is paid for (5 % a year). Agents and five
baselines draw positions of their own, without costs, and are judged by alpha: baselines as they
are, and at no more exposure than the agents have. Synthetic; no training.

    python benchmarks/superiority_size.py                 2,000 draws per row, some minutes
    python benchmarks/superiority_size.py --draws 200
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.seeding import stream
from tradingbot.evaluation.statistics.superior import superior_ability

FloatArray = NDArray[np.float64]
SYMBOLS, BARS, BARS_PER_YEAR = 10, 1_000, 1_764
CORRELATION, PREMIUM_PER_YEAR, DEVIATION = 0.4, 0.05, 0.004
STAY = 0.9
"""Probability that a position is kept at the next bar."""
LEVEL = 0.05


@dataclass(frozen=True)
class Policies:
    """What agents and rules hold and know. Knowledge is a correlation with the next own move."""

    words: str
    size: float
    """Of the agents' positions, share of the account."""
    is_long_only: bool = False
    known: float = 0.0
    rule_known: float = 0.0
    """What the first baseline, which holds whole accounts, knows."""


ROWS = (
    Policies("nulls, a sixth, long and short", 1 / 6),
    Policies("nulls, a half, long and short", 1 / 2),
    Policies("nulls, whole accounts, long only", 1.0, is_long_only=True),
    Policies("as knowing as a rule, a sixth of its size", 1 / 6, known=0.05, rule_known=0.05),
    Policies("knowing (0.05), a sixth, long and short", 1 / 6, known=0.05),
    Policies("knowing (0.05), whole, long and short", 1.0, known=0.05),
)


def draw_own_moves(generator: np.random.Generator) -> FloatArray:
    """Draw returns (2T, N); return the second half (T, N) less the market by betas of the first."""
    shared = generator.standard_normal((2 * BARS, 1)) * math.sqrt(CORRELATION)
    single = generator.standard_normal((2 * BARS, SYMBOLS)) * math.sqrt(1.0 - CORRELATION)
    returns = PREMIUM_PER_YEAR / BARS_PER_YEAR + DEVIATION * (shared + single)
    others = (returns.sum(axis=1, keepdims=True) - returns) / (SYMBOLS - 1)
    before = slice(0, BARS)
    centred = others[before] - others[before].mean(axis=0)
    beta = (centred * returns[before]).sum(axis=0) / (centred**2).sum(axis=0)
    return (returns - beta * others)[BARS:]


def draw_positions(
    generator: np.random.Generator, own: FloatArray, policies: Policies, known: float
) -> FloatArray:
    """Draw positions (T, N) that last, as shares of whole accounts, right a little more often."""
    fresh = known * own / DEVIATION + generator.standard_normal(own.shape)
    is_new = generator.random(own.shape) >= (STAY if known == 0.0 else 0.0)
    is_new[0] = True
    row = np.maximum.accumulate(np.where(is_new, np.arange(BARS)[:, None], 0), axis=0)
    side = np.sign(np.take_along_axis(fresh, row, axis=0))
    return np.maximum(side, 0.0) if policies.is_long_only else side


def passes(own: FloatArray, baselines: list[FloatArray], n_draws: int) -> bool:
    """Return whether agents (T,) are better than every baseline by the product's own test."""
    return all(
        superior_ability(own[:, None], each, n_draws=n_draws).p_consistent < LEVEL
        for each in baselines
    )


def one_draw(policies: Policies, index: int, n_draws: int) -> tuple[bool, bool]:
    """Return whether one market's agents pass, beside whole baselines and at equal exposure."""
    generator = stream(index, "superiority", policies.words)
    own = draw_own_moves(generator)
    held = policies.size * draw_positions(generator, own, policies, policies.known)
    agents = (held * own).mean(axis=1)
    rules = [np.ones_like(own)]
    for place in range(4):
        known = policies.rule_known if place == 0 else 0.0
        rules.append(draw_positions(generator, own, policies, known))
    whole = [np.zeros(BARS), *((rule * own).mean(axis=1) for rule in rules)]
    exposures = [0.0, *(float(np.abs(rule).mean()) for rule in rules)]
    mine = float(np.abs(held).mean())
    equal = [
        track * (mine / exposure if exposure > mine else 1.0)
        for track, exposure in zip(whole, exposures, strict=True)
    ]
    return passes(agents, whole, n_draws), passes(agents, equal, n_draws)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=2_000, help="markets per row")
    parser.add_argument("--resamples", type=int, default=200, help="of each test")
    options = parser.parse_args()
    print(f"{SYMBOLS} symbols, {BARS:,} bars, {options.draws:,} draws; passed at {LEVEL:.0%}:")
    print("| policies | baselines as they are | at equal exposure |\n|---|---|---|")
    for row in ROWS:
        found = [one_draw(row, index, options.resamples) for index in range(options.draws)]
        shares = np.mean(found, axis=0)
        print(f"| {row.words} | {shares[0]:.1%} | {shares[1]:.1%} |", flush=True)


if __name__ == "__main__":
    main()
