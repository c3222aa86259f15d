"""Code that works block by block slips at the last bar of a block: cuts fall there."""

from __future__ import annotations

import numpy as np
import pytest

from leakage.markets import synthetic_inputs
from tradingbot.features.causality import cuts
from tradingbot.features.causality.prover import ProofPlan, prove_causal
from tradingbot.features.causality.subject import ProofSubject
from tradingbot.features.inputs import MarketInputs

BLOCKS = (64, 100, 128, 250, 256, 500, 512, 1000, 1024)


@pytest.fixture(scope="module")
def inputs() -> MarketInputs:
    market = synthetic_inputs(days=200, symbols=12)
    assert market.shape == (1400, 12)
    return market


def leaking_subject(block_rows: int, scope: str) -> ProofSubject:
    """Close, but of the next bar in the last row of each block."""

    def compute(market: MarketInputs) -> dict[str, np.ndarray]:
        value = market.bars["close"].copy()
        last = np.arange(block_rows - 1, len(value) - 1, block_rows)
        value[last] = market.bars["close"][last + 1]
        return {"value": value if scope == "symbol" else np.nanmean(value, axis=1)}

    return ProofSubject(f"{scope}, blocks of {block_rows}", compute, scope)


def missed(inputs: MarketInputs, blocks: tuple[int, ...], plan: ProofPlan) -> list[str]:
    subjects = [leaking_subject(rows, scope) for rows in blocks for scope in ("symbol", "market")]
    report = prove_causal(inputs, subjects, plan)
    return [verdict.subject for verdict in report.verdicts if verdict.status != "leaks"]


@pytest.mark.parametrize("seed", range(3))
def test_next_bar_leak_at_the_last_row_of_each_block_is_caught(inputs, seed: int) -> None:
    assert (
        missed(inputs, BLOCKS, ProofPlan(boundaries=(980, 1190), seed=seed, prefix_rounds=0)) == []
    )


def test_prover_without_block_edges_misses_them(inputs, monkeypatch) -> None:
    monkeypatch.setattr(cuts, "block_edges", lambda length: [])

    assert missed(inputs, (512,), ProofPlan(prefix_rounds=0)) == [
        "symbol, blocks of 512",
        "market, blocks of 512",
    ]
