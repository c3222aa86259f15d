"""`result.json`: what a finished run is worth, beside simple policies; written and read.

Every account is a sleeve of the same size that is never rebalanced; the portfolio is all sleeves
together. Figures are net of costs, records those of `evaluation.performance`. Files without a
`format` are of version 1: they hold fewer figures, the others are read as NaN or None.
"""

from __future__ import annotations

import json
from dataclasses import MISSING, dataclass, fields, replace
from math import nan
from pathlib import Path
from typing import Any, TypeVar

from tradingbot.data.atomic import write_text
from tradingbot.data.json_files import json_problem
from tradingbot.domain.errors import DataError, StorageError
from tradingbot.domain.symbol import PORTFOLIO
from tradingbot.evaluation.dossier.codec import from_plain, to_plain
from tradingbot.evaluation.performance import record as performance
from tradingbot.evaluation.statistics.interval import Interval
from tradingbot.runs.directory import STATUS_FILE, read_status
from tradingbot.runs.recorded_files import require_recorded
from tradingbot.training.action_gate import ActionGate

RESULT_FILE, RESULT_FORMAT = "result.json", 3
_WITHOUT_PARTS = 2
"""Format in which net returns were not taken apart into market, timing and alpha."""
_ACCOUNTS_NOTE = (
    "Return, Sharpe and drawdown: all per-symbol accounts together, never rebalanced; bp/bar: "
    "their mean. "
    "Not the score of training, which is the mean of the single agents' Sharpe of alpha on the "
    "first half of validation. "
)
_PORTFOLIO_NOTE = (
    "All figures, bp/bar too, are of the whole portfolio's value: its agent sets the weights of "
    "the symbols' sleeves and of cash at every bar; other policies hold sleeves of equal size that "
    "are never rebalanced. Trades are round trips of its net orders. "
)
_HALVES_NOTE = (
    "The first half of validation chose the weights, the second decided what is kept of them; test "
    "decided nothing."
)
_Record = TypeVar("_Record")


@dataclass(frozen=True)
class JointAgent:
    """An agent of a sleeve that learned with the master, beside its frozen self.

    Figures are mean alpha net of costs, in basis points per bar.
    """

    agent: str
    frozen_bps: float
    """On the first half of validation, as the three below."""
    joint_bps: float
    """What its last turn made of it, before it was rolled back where it lost."""
    difference_bps: Interval
    """Joint less frozen, bar by bar; below 0 it lost."""
    kept: bool
    """Whether the portfolio trades with what it learned; else with its frozen self."""
    later_bps: Interval
    """Of what the portfolio trades with, less frozen, on the second half, which decided nothing
    about it."""


@dataclass(frozen=True)
class TrainResult:
    """A finished run."""

    run: str
    label: str
    synthetic: bool
    best_mean_sharpe: float
    """Mean of the single agents' annual Sharpe ratios of alpha on the first half of validation,
    before any agent was told to stay out: the `score` that the best weights were chosen by; not
    the portfolio's Sharpe ratio. −∞ where no evaluation was healthy. In runs of versions that
    chose by the net return: of that."""
    decision: str
    """What the second half of validation decided to keep of the policy, in words."""
    trading_agents: tuple[str, ...]
    """Those that this half lets trade; the others stay out."""
    final_weights_sha256: str
    """Of the weights when training ended."""
    parts: tuple[performance.PartPerformance, ...]
    """Validation and test."""
    gates: tuple[ActionGate, ...]
    """Gate A of each part."""
    weights_sha256: str = ""
    """Of the checkpoint `selected`: the best weights with what is kept of their deviations, and the
    agents that trade."""
    caveat: str = ""
    """What every figure here is to be read with; empty for synthetic data."""
    joint: tuple[JointAgent, ...] = ()
    """Agents of a portfolio's sleeves that learned with the master; empty where they are frozen, or
    where the best weights are of before their first turn."""
    format: int = RESULT_FORMAT

    @property
    def is_portfolio(self) -> bool:
        """One agent moved capital between sleeves, instead of one per account."""
        return [row.agent for part in self.parts[:1] for row in part.agents] == [PORTFOLIO]

    @property
    def figures_note(self) -> str:
        """What the figures are of; stands under their tables."""
        return (_PORTFOLIO_NOTE if self.is_portfolio else _ACCOUNTS_NOTE) + _HALVES_NOTE

    def shown_policies(
        self, part: performance.PartPerformance
    ) -> list[performance.PolicyPerformance]:
        """Return the rows of a part for a table: the one agent of a portfolio under that name."""
        own = {performance.AGENTS: PORTFOLIO} if self.is_portfolio else {}
        return [replace(row, policy=own.get(row.policy, row.policy)) for row in part.policies]

    def part(self, name: str) -> performance.PartPerformance:
        """Return a part by its name."""
        return next(each for each in self.parts if each.part == name)


def store_result(run: Path, result: TrainResult) -> None:
    """Write `result.json` into a run's folder.

    Raises:
        StorageError: If the disk refuses.
    """
    text = json.dumps(to_plain(result), indent=1, allow_nan=False, ensure_ascii=False)
    write_text(run / RESULT_FILE, text + "\n")


def read_result(run: Path) -> TrainResult:
    """Read what a finished run is worth.

    Raises:
        StorageError: If the file is missing, damaged, of another format, or not the one that the
            run recorded when it finished.
    """
    path = run / RESULT_FILE
    if (run / STATUS_FILE).exists():
        require_recorded(run, RESULT_FILE, read_status(run))
    try:
        values = performance.rename_old_policies(json.loads(path.read_bytes()))
        if isinstance(values, dict) and "format" not in values:
            return _read_version_1(values)
        if isinstance(values, dict) and values["format"] == _WITHOUT_PARTS:
            parts = [performance.add_missing_parts(part) for part in values["parts"]]
            values = {**values, "parts": parts, "format": RESULT_FORMAT}
        if isinstance(values, dict):
            values.setdefault("joint", [])  # agents of sleeves were always frozen once
        return from_plain(TrainResult, values, name=RESULT_FILE)
    except (OSError, ValueError) as e:
        problem = json_problem(e)
    except DataError as e:
        problem = f"{e.rule}, was {e.was}"
    except (KeyError, TypeError, AttributeError) as e:
        problem = f"one without {str(e)[:60]}"
    rule = "a finished run must have a readable result"
    where = str(path)
    raise StorageError(rule, was=problem, where=where, remedy="Restore the file, or train again")


def _read_version_1(values: dict[str, Any]) -> TrainResult:
    trading, score = tuple(values["trading_agents"]), values["best_mean_sharpe"]
    return TrainResult(
        **_take(values, "run label synthetic decision final_weights_sha256 weights_sha256 caveat"),
        best_mean_sharpe=-float("inf") if score is None else score,
        trading_agents=trading,
        parts=tuple(_part_of_version_1(part, trading) for part in values["parts"]),
        gates=tuple(_gate_of_version_1(part["gate"]) for part in values["parts"]),
    )


def _part_of_version_1(
    part: dict[str, Any], trading: tuple[str, ...]
) -> performance.PartPerformance:
    share, agents = part["share_of_oracle"], part["agents"]
    return _fill(
        performance.PartPerformance,
        **_take(part, "part first_day last_day bars"),
        reference=performance.HOLD,
        policies=tuple(_policy_of_version_1(row) for row in part["policies"]),
        agents=tuple(_agent_of_version_1(row, row["agent"] in trading) for row in agents),
        excess_over_hold_bps=_interval(part["excess_over_hold_bps"]),
        share_of_oracle=None if share is None else Interval(share, nan, nan),
        trades_per_1000=part["gate"]["trades_per_1000"],
    )


def _policy_of_version_1(row: dict[str, Any]) -> performance.PolicyPerformance:
    kinds = {performance.AGENTS: "agents", performance.ORACLE: "oracle"}
    intervals = {name: _interval(row[name]) for name in ("sharpe_annual", "net_bps_per_bar")}
    figures = _take(row, "policy total_return_frac max_drawdown_frac")
    figures["kind"] = kinds.get(row["policy"], "baseline")
    return _fill(performance.PolicyPerformance, **figures, **intervals)


def _agent_of_version_1(row: dict[str, Any], trades: bool) -> performance.AgentPerformance:
    names = "agent sharpe_annual total_return_frac hold_return_frac net_bps_per_bar"
    figures = _take(row, f"{names} trades_per_1000 action_entropy")
    return _fill(performance.AgentPerformance, **figures, trades=trades)


def _gate_of_version_1(gate: dict[str, Any]) -> ActionGate:
    lists = {name: tuple(gate[name]) for name in ("histogram", "failures")}
    return ActionGate(**{**gate, **lists})


def _take(row: dict[str, Any], names: str) -> dict[str, Any]:
    """Return fields that version 1 has too."""
    return {name: row[name] for name in names.split()}


def _fill(record: type[_Record], /, **known: Any) -> _Record:
    """Build a record; numbers that version 1 does not have are NaN, counts None, lists empty."""
    empty = {"float": nan, "int | None": None}
    needed = [each for each in fields(record) if each.default is MISSING]  # type: ignore[arg-type]
    names = {each.name: empty.get(str(each.type), ()) for each in needed}
    return record(**{**names, **known})


def _interval(values: list[float | None]) -> Interval:
    return Interval(*(nan if value is None else value for value in values))
