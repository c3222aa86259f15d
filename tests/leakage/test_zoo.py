"""The prover catches every planted leak and flags no clean counterpart."""

from __future__ import annotations

import pytest

from leakage.markets import synthetic_inputs
from leakage.zoo import BOUNDARIES, ZOO
from tradingbot.features.causality.prover import ProofPlan, prove_causal
from tradingbot.features.causality.subject import CausalityReport

LEAKS = [name for name, specimen in ZOO.items() if specimen.leaks]
CLEAN = [name for name, specimen in ZOO.items() if not specimen.leaks]


@pytest.fixture(scope="module")
def report() -> CausalityReport:
    return examine(seed=0, prefix_rounds=0)


def examine(**plan: int) -> CausalityReport:
    subjects = [specimen.subject for specimen in ZOO.values()]
    return prove_causal(synthetic_inputs(), subjects, ProofPlan(boundaries=BOUNDARIES, **plan))


def test_zoo_is_large_enough() -> None:
    assert len(LEAKS) >= 18
    assert len(CLEAN) >= 12


@pytest.mark.parametrize("name", LEAKS)
def test_planted_leak_is_caught(report: CausalityReport, name: str) -> None:
    verdict = report.verdict(f"{name}:value")

    assert verdict.status == "leaks"
    assert verdict.offence is not None
    assert verdict.differing > 0


@pytest.mark.parametrize("name", CLEAN)
def test_clean_counterpart_is_not_flagged(report: CausalityReport, name: str) -> None:
    verdict = report.verdict(f"{name}:value")

    assert verdict.status == "causal", f"{verdict.reason} {verdict.offence}"
    assert verdict.comparisons > 0


def test_verdicts_depend_neither_on_the_seed_nor_on_prefixes() -> None:
    found = examine(seed=1, prefix_rounds=120)

    caught = {verdict.subject for verdict in found.verdicts if verdict.status == "leaks"}
    assert caught == set(LEAKS)
    assert not [verdict for verdict in found.verdicts if verdict.status == "unproved"]
