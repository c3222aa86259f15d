"""The tables of a study: history, importance and slices, as records that JSON can hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tradingbot.tuning.search_parameter import Choice
from tradingbot.tuning.search_space import SearchSpace
from tradingbot.tuning.trial_record import TrialResult, TrialState


@dataclass(frozen=True)
class HistoryRow:
    """One trial in the order in which it was chosen."""

    trial: int
    state: TrialState
    score: float | None
    best: float | None
    """Of all finished trials up to this one."""
    steps_per_agent: int
    took_s: float
    settings: Mapping[str, Choice]
    curve: tuple[tuple[int, float], ...]
    """(evaluation, mean alpha Sharpe there)."""
    failed: str


@dataclass(frozen=True)
class ImportanceRow:
    """How much of the score one setting explains."""

    key: str
    share_frac: float


@dataclass(frozen=True)
class SlicePoint:
    """One trial seen along one setting."""

    trial: int
    value: Choice
    score: float
    state: TrialState


@dataclass(frozen=True)
class SettingSlice:
    """All trials seen along one setting."""

    key: str
    scale: str
    """`linear`, `log` or `choices`."""
    points: tuple[SlicePoint, ...]


@dataclass(frozen=True)
class StudyTables:
    """What dashboards show of a study."""

    history: tuple[HistoryRow, ...]
    importance: tuple[ImportanceRow, ...]
    slices: tuple[SettingSlice, ...]


def tables_of(
    results: Sequence[TrialResult], importance: Mapping[str, float], space: SearchSpace
) -> StudyTables:
    """Lay the trials of a study out."""
    return StudyTables(
        history=tuple(_history(results)),
        importance=tuple(ImportanceRow(key, share) for key, share in importance.items()),
        slices=tuple(
            SettingSlice(
                each.key, "choices" if each.choices else each.scale, _points(results, each.key)
            )
            for each in space.parameters
        ),
    )


def _history(results: Sequence[TrialResult]) -> list[HistoryRow]:
    rows: list[HistoryRow] = []
    best: float | None = None
    for each in results:
        if each.state == "finished" and each.score is not None:
            best = each.score if best is None else max(best, each.score)
        rows.append(
            HistoryRow(
                trial=each.spec.number,
                state=each.state,
                score=each.score,
                best=best,
                steps_per_agent=each.steps_per_agent,
                took_s=each.took_s,
                settings=dict(each.spec.params),
                curve=each.curve,
                failed=each.failed,
            )
        )
    return rows


def _points(results: Sequence[TrialResult], key: str) -> tuple[SlicePoint, ...]:
    return tuple(
        SlicePoint(each.spec.number, dict(each.spec.params)[key], each.score, each.state)
        for each in results
        if each.score is not None
    )
