"""The headline of a portfolio says whose edge it is; the gate asks for a sure difference."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fixtures.example_dossier import example_dossier, portfolio_dossier
from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.gates.gates_file import load_gates
from tradingbot.evaluation.gates.judging import judge_gates
from tradingbot.evaluation.gates.master_edge import tell_whose_edge
from tradingbot.evaluation.gates.memo import write_memo
from tradingbot.evaluation.statistics.interval import Interval


def with_edges(alone: float, adds: float) -> Dossier:
    dossier = portfolio_dossier()
    assert dossier.allocation is not None
    found = replace(
        dossier.allocation,
        fixed_alpha_bps=Interval(alone, alone - 0.3, alone + 0.3),
        over_fixed_bps=Interval(adds, adds - 0.1, adds + 0.1),
    )
    return replace(dossier, allocation=found)


@pytest.mark.parametrize(
    ("alone", "adds", "begins"),
    [
        (1.0, 0.05, "The edge is the agents': equal weight"),
        (1.0, -0.5, "The edge is the agents': equal weight"),
        (1.0, 0.2, "The edge is the agents' and the master's: equal weight"),
        (0.2, 0.2, "The edge is the master's: equal weight"),
        (0.2, 0.05, ""),
    ],
)
def test_edge_is_whose_interval_lies_above_0(alone: float, adds: float, begins: str) -> None:
    said = tell_whose_edge(with_edges(alone, adds))

    assert said.startswith(begins)
    assert bool(said) == bool(begins)


def test_figures_of_both_are_told_with_their_intervals() -> None:
    said = tell_whose_edge(with_edges(1.0, 0.05))

    assert said == (
        "The edge is the agents': equal weight of the same sleeves earns 1.00 [0.70, 1.30] bp per "
        "bar of alpha, the master adds 0.05 [-0.05, 0.15]."
    )
    assert said in write_memo(with_edges(1.0, 0.05), load_gates()).headline
    assert tell_whose_edge(example_dossier()) == ""


@pytest.mark.parametrize(("adds", "outcome"), [(0.05, "fail"), (0.11, "pass"), (-0.2, "fail")])
def test_gate_asks_for_the_lower_end_of_the_difference(adds: float, outcome: str) -> None:
    """Return a year is 3 % higher in all of them: a point says nothing."""
    asked = [gate for gate in load_gates() if gate.name == "master/over_fixed"]

    (judged,) = judge_gates(with_edges(1.0, adds), asked, {})

    assert judged.outcome == outcome


def test_rule_that_trades_sleeves_is_no_agent() -> None:
    dossier = with_edges(1.0, 0.05)
    assert dossier.allocation is not None
    by_rule = replace(dossier.allocation, traded_by="the rule momentum")

    assert tell_whose_edge(replace(dossier, allocation=by_rule)).startswith("The edge is the sleev")
