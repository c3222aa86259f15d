"""`tradingbot data list | show | validate | split`."""

from __future__ import annotations

from pathlib import Path

from tradingbot.app.cli.application import run
from tradingbot.data.store import BarStore


def test_list_shows_every_dataset_with_its_names(call, workspace: Path) -> None:
    store = BarStore(workspace)
    store.point("again", store.open("planted"))

    rows = call("data", "list", "--json").document

    assert [row["id"] for row in rows] == sorted(d.id for d in store.datasets())
    named = next(row for row in rows if row["id"] == store.open("planted").id)
    assert named["names"] == "again, planted"
    assert {row["kind"] for row in rows} == {"synthetic"}
    table = call("data", "list")
    assert (table.code, "again, planted" in table.out) == (0, True)


def test_list_of_an_empty_workspace_says_what_to_do(tmp_path: Path, capsys) -> None:
    assert run(["--workspace", str(tmp_path / "new"), "data", "list"]) == 0

    hint = f"tradingbot --workspace {tmp_path / 'new'} data generate"
    assert hint in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_show_tells_provenance_and_hash(call, workspace: Path) -> None:
    dataset = BarStore(workspace).open("planted")

    shown = call("data", "show", "planted")
    document = call("data", "show", dataset.id[:8], "--json").document

    assert dataset.manifest.content_sha256 in shown.out
    assert "detail: market" in shown.out
    assert document["id"] == dataset.id
    assert document["manifest"]["rows"] == dataset.manifest.rows


def test_verify_means_every_byte(call, workspace: Path) -> None:
    whole = call("data", "verify", "planted", "--json")
    assert (whole.code, whole.document["whole"]) == (0, True)

    path = BarStore(workspace).open("planted").folder / "manifest.json"
    path.write_text(path.read_text().replace('"timeframe": "1h"', '"timeframe": "3h"'))

    damaged = call("data", "verify", "planted", "--json")
    assert (damaged.code, damaged.document["whole"]) == (1, False)
    assert "edited" in damaged.document["files"]["manifest.json"]
    assert "edited" in call("data", "verify", "planted").out
    refused = call("data", "validate", "planted")
    assert (refused.code, "manifest must be as it was written" in refused.err) == (2, True)


def test_validate_clean_data_leaves_with_0(call) -> None:
    answer = call("data", "validate", "regimes", "--universe", "prototype10", "--json")

    assert answer.code == 0
    assert answer.document["ready"] is True
    assert answer.document["synthetic"] is True


def test_validate_against_another_universe_leaves_with_findings(call) -> None:
    answer = call("data", "validate", "regimes", "--universe", "us143")

    assert answer.code in (1, 2)
    assert "Readiness of regimes" in answer.out
    assert "synthetic" in answer.out


def test_validate_draws_a_heat_map(call, tmp_path: Path) -> None:
    file = tmp_path / "coverage.png"

    answer = call("data", "validate", "regimes", "--heat-map", str(file))

    assert file.read_bytes()[:4] == b"\x89PNG"
    assert str(file) in answer.err.replace("\n", "")
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_split_shows_three_parts_in_order(call) -> None:
    document = call("data", "split", "regimes", "--json").document

    assert [part["part"] for part in document["parts"]] == ["train", "validation", "test"]
    ends = [(part["first"], part["last"]) for part in document["parts"]]
    assert ends == sorted(ends)
    assert document["gap"]["purge_bars"] == 7
    assert "purge 7 bars, embargo 7 bars" in call("data", "split", "regimes").out


def test_split_follows_the_configuration(call, tmp_path: Path) -> None:
    config = tmp_path / "case.yaml"
    config.write_text(
        "extends: us143\nsplits:\n  train: 0.5\n  validation: 0.25\n  test: 0.25\n"
        "  purge_bars: 1\n  embargo_bars: 0\n"
    )

    document = call("data", "split", "regimes", "--config", str(config), "--json").document

    train, _, test = (part["bars"] for part in document["parts"])
    assert train / test < 2.1
    assert document["gap"] == {**document["gap"], "purge_bars": 1, "embargo_bars": 0}


def test_split_reads_the_workspace_of_the_configuration(
    workspace: Path, tmp_path: Path, capsys
) -> None:
    config = tmp_path / "case.yaml"
    config.write_text(f"extends: us143\nworkspace: {workspace}\n")

    assert run(["data", "split", "regimes", "--config", str(config)]) == 0
    elsewhere = ["--workspace", str(tmp_path / "other")]
    assert run([*elsewhere, "data", "split", "regimes", "--config", str(config)]) == 2
    assert "regimes" in capsys.readouterr().err


def test_validate_tells_what_an_earlier_delivery_said_otherwise(call, workspace: Path) -> None:
    same = call("data", "validate", "planted", "--earlier", "planted", "--json")
    other = call("data", "validate", "planted", "--earlier", "regimes", "--json")

    codes = [{finding["code"] for finding in told.document["findings"]} for told in (same, other)]
    assert (same.code, other.code) == (0, 1)
    assert "BARS_REVISED" in codes[1] - codes[0]


def test_validate_refuses_bars_without_a_session_of_their_calendar(
    call, workspace: Path, tmp_path: Path
) -> None:
    file, hours = tmp_path / "saturday.csv", range(10, 16)
    rows = [f"2025-01-04T{hour}:00:00+00:00,BTC,1,1,1,1,1" for hour in hours]
    file.write_text("\n".join(["timestamp,symbol,open,high,low,close,volume", *rows]) + "\n")
    assert call("data", "import", str(file), "--name", "saturday").code == 0

    answer = call("data", "validate", "saturday")

    assert answer.code == 2
    assert "must lie in sessions of their calendar, was none of XNYS" in answer.err
    assert "--calendar" in answer.err


def test_validate_judges_quotes(call, tmp_path: Path) -> None:
    quotes = tmp_path / "quotes.csv"
    lines = ["symbol,quoted_at,bid,ask", "SPY,2025-07-01T14:30:00Z,10,9"]
    quotes.write_text("\n".join([*lines, "SPY,2025-07-01T14:31:00Z,10,10.01"]) + "\n")

    found = call("data", "validate", "planted", "--quotes", str(quotes), "--json")
    quotes.write_text("symbol,quoted_at,bid\nSPY,2025-07-01T14:30:00Z,10\nSPY,2025-07-02,1\n")
    refused = call("data", "validate", "planted", "--quotes", str(quotes))

    assert found.document["findings"][0]["code"] == "QUOTE_CROSSED"
    assert found.code == 1
    assert (refused.code, "Add ask" in refused.err) == (2, True)
