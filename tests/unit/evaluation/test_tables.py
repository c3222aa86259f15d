"""Tables beside the page: every figure, three columns for an interval, equal bytes."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from fixtures.example_dossier import bare_dossier, example_dossier, example_memo, strange_dossier
from tradingbot.evaluation.dossier.codec import from_plain, to_plain
from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.tables import as_csv, tables_of, write_tables


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8"))))


def test_tables_hold_the_dossier_and_every_table(tmp_path: Path) -> None:
    dossier, memo = example_dossier(), example_memo()

    written = write_tables(dossier, memo, tmp_path)

    names = (
        "policies agents equity windows regimes stress sensitivity seeds ablation rewards placebos "
        "gates months drawdowns hours weekdays trades symbols"
    )
    assert {path.name for path in written} == {
        "dossier.json",
        "memo.json",
        *(f"{name}.csv" for name in names.split()),
    }
    content = json.loads((tmp_path / "dossier.json").read_text("utf-8"))
    assert to_plain(from_plain(Dossier, content)) == content
    assert content["parts"][1]["policies"][0]["equity"] == list(dossier.test.policies[0].equity)


def test_intervals_are_three_columns_and_parts_are_named(tmp_path: Path) -> None:
    dossier = example_dossier()
    write_tables(dossier, example_memo(), tmp_path)

    row = rows_of(tmp_path / "tables" / "policies.csv")[len(dossier.parts[0].policies)]
    sharpe = dossier.test.policies[0].sharpe_annual
    assert (row["part"], row["policy"]) == ("test", "agents")
    ends = (row["sharpe_annual"], row["sharpe_annual_low"], row["sharpe_annual_high"])
    assert tuple(map(float, ends)) == tuple(sharpe)
    assert "equity" not in row


def test_equity_has_a_row_per_day_and_a_column_per_policy(tmp_path: Path) -> None:
    dossier = example_dossier()
    write_tables(dossier, example_memo(), tmp_path)

    rows = rows_of(tmp_path / "tables" / "equity.csv")
    assert len(rows) == sum(len(part.days) for part in dossier.parts)
    assert float(rows[-1]["agents"]) == dossier.test.policies[0].equity[-1]


def test_equity_has_no_day_twice(tmp_path: Path) -> None:
    dossier = example_dossier()
    test = dossier.test
    twice = replace(
        test,
        days=(test.days[0], *test.days),
        policies=tuple(replace(row, equity=(1.0, *row.equity)) for row in test.policies),
    )
    write_tables(replace(dossier, parts=(twice,)), example_memo(), tmp_path)

    rows = rows_of(tmp_path / "tables" / "equity.csv")
    assert [row["day"] for row in rows] == list(test.days)
    assert float(rows[0]["agents"]) == test.policies[0].equity[0]


def test_gates_that_were_not_measured_have_an_empty_figure(tmp_path: Path) -> None:
    write_tables(example_dossier(), example_memo(), tmp_path)

    rows = {row["gate"]: row for row in rows_of(tmp_path / "tables" / "gates.csv")}
    assert rows["F/latency"]["measured"] == ""
    assert rows["final/sharpe"]["interval_low"] == "0.82"
    assert rows["F/latency"]["interval_low"] == ""


def test_equal_dossiers_give_equal_bytes(tmp_path: Path) -> None:
    first = write_tables(example_dossier(), example_memo(), tmp_path / "a")
    second = write_tables(example_dossier(), example_memo(), tmp_path / "b")

    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_pieces_left_out_have_no_table(tmp_path: Path) -> None:
    written = write_tables(bare_dossier(), example_memo(), tmp_path)

    assert {path.name for path in written if path.suffix == ".csv"} == {
        "policies.csv",
        "agents.csv",
        "equity.csv",
        "gates.csv",
    }


def test_strange_numbers_survive(tmp_path: Path) -> None:
    dossier = strange_dossier()
    write_tables(dossier, example_memo(), tmp_path)

    content = json.loads((tmp_path / "dossier.json").read_text("utf-8"))
    assert from_plain(Dossier, content).statistics.min_track_record_bars == math.inf
    assert rows_of(tmp_path / "tables" / "policies.csv")[0]["sharpe_annual"] == "nan"
    assert rows_of(tmp_path / "tables" / "equity.csv")[5]["agents"] == ""


def test_csv_quotes_what_would_break_it() -> None:
    table = tables_of(strange_dossier(), example_memo())["ablation"]

    assert next(csv.DictReader(io.StringIO(as_csv(table))))["axis"] == table[0]["axis"]


@pytest.mark.parametrize(
    "text", ["=cmd|' /C calc'!A0", "+1+cmd()", "-2+3+cmd|x", "@SUM(A1)", "\t=1", " =1+1", "＝1"]
)
def test_text_that_a_spreadsheet_would_run_is_kept_from_it(tmp_path: Path, text: str) -> None:
    memo = example_memo()
    hostile = replace(memo, gates=(replace(memo.gates[0], words=text), *memo.gates[1:]))

    write_tables(example_dossier(), hostile, tmp_path)

    assert rows_of(tmp_path / "tables" / "gates.csv")[0]["words"] == f"'{text}"


def test_figures_of_cells_stay_as_they_are() -> None:
    text = as_csv([{"a": -1.5, "b": "-0.13 [-4.72, 2.31]", "c": "≥ 0.95", "=d": None}])

    assert text == 'a,b,c,\'=d\n-1.5,"-0.13 [-4.72, 2.31]",≥ 0.95,\n'
