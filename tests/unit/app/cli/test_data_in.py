"""`tradingbot data import | generate`: options reach the importer, results reach the store."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.small_runs import make_run
from fixtures.watched_sessions import make_session
from tradingbot.app.cli.application import run
from tradingbot.app.cli.options import read_pairs
from tradingbot.configuration.option_values import read_values
from tradingbot.data.sources.synthetic import SyntheticSource
from tradingbot.data.store import BarStore
from tradingbot.domain.errors import ConfigError


def test_import_stores_under_the_name_and_says_what_is_next(
    call, workspace: Path, real_file: Path
) -> None:
    answer = call("data", "import", str(real_file), "--name", "mine")

    dataset = BarStore(workspace).open("mine")
    assert answer.code == 0
    assert dataset.id in answer.out
    assert f"tradingbot --workspace {workspace} data validate mine" in answer.err
    assert dataset.manifest.rows == 70
    assert not dataset.manifest.provenance.synthetic


def test_import_options_reach_the_provenance(call, workspace: Path, real_file: Path) -> None:
    text = real_file.read_text().replace(",close,", ",last,").replace(",", ";").replace("Z;", ";")
    real_file.write_text(text)

    answer = call(
        "data", "import", str(real_file), "--name", "mine", "--delimiter", ";", "--map",
        "close=last", "--time-zone", "UTC", "--stamps", "open", "--adjustment", "none",
        "--symbols", "AAPL, MS", "--rename", "MSFT=MS", "--json",
    )  # fmt: skip

    manifest = BarStore(workspace).open("mine").manifest
    assert answer.document["id"] == BarStore(workspace).open("mine").id
    assert manifest.symbols == ("AAPL", "MS")
    assert manifest.provenance.adjustment == "none"
    detail = manifest.provenance.detail
    assert (detail["columns"], detail["renames"], detail["time_zone"]) == (
        "close=last",
        "MSFT=MS",
        "UTC",
    )


def test_import_takes_the_calendar_of_the_universe(call, workspace: Path, real_file: Path) -> None:
    real_file.write_text(
        real_file.read_text()
        .replace("AAPL", "BTCUSDT")
        .replace("MSFT", "ETHUSDT")
        .replace(":30:", ":00:")
    )

    answer = call(
        "data", "import", str(real_file), "--name", "coins", "--universe", "crypto12",
        "--grid", "clock",
    )  # fmt: skip

    assert answer.code == 0, answer.err
    assert BarStore(workspace).open("coins").manifest.provenance.calendar == "24/7"


def test_import_bad_rows_are_quarantined_and_reported(
    call, workspace: Path, real_file: Path
) -> None:
    lines = real_file.read_text().splitlines()
    cells = lines[5].split(",")
    lines[5] = ",".join([*cells[:5], "nan", cells[6]])
    real_file.write_text("\n".join(lines) + "\n")

    answer = call("data", "import", str(real_file), "--name", "mine", "--json")

    dataset = BarStore(workspace).open("mine")
    assert answer.code == 0
    assert (dataset.manifest.rows, dataset.manifest.quarantined_rows) == (69, 1)
    assert [finding["code"] for finding in answer.document["findings"]] == ["NAN_PRICE"]


def test_import_sentiment_is_stored_beside_the_bars(
    call, workspace: Path, real_file: Path, tmp_path: Path
) -> None:
    scores = tmp_path / "scores.csv"
    scores.write_text(
        "symbol,sentiment,available_at\nAAPL,0,2024-06-24T00:00:00Z\nAAPL,5,2024-06-25T00:00:00Z\n"
    )

    answer = call(
        "data", "import", str(real_file), "--name", "mine", "--sentiment", str(scores),
        "--sentiment-range", "0", "10",
    )  # fmt: skip

    assert answer.code == 0, answer.err
    covariates = BarStore(workspace).open("mine").load_covariates()
    assert covariates["value"].to_list() == [0.0, 0.5]


def test_sentiment_joined_later_gives_the_dataset_that_importing_it_gives(
    call, workspace: Path, real_file: Path, tmp_path: Path
) -> None:
    scores = tmp_path / "scores.csv"
    lines = "symbol,sentiment,available_at\n{0},0.5,2024-06-24T00:00Z\n{0},0.1,2024-06-25T00:00Z\n"
    scores.write_text(lines.format("AAPL"))
    together = ("data", "import", str(real_file), "--name", "together", "--sentiment", str(scores))
    assert call(*together).code == 0
    assert call("data", "import", str(real_file), "--name", "mine").code == 0
    alone = BarStore(workspace).open("mine").id

    answer = call("data", "join", "mine", "--sentiment", str(scores), "--name", "scored", "--json")

    assert answer.code == 0, answer.err
    names = BarStore(workspace).names()
    assert names["scored"] == names["together"] == answer.document["id"]
    assert names["mine"] == alone != names["scored"]
    again = call("data", "join", "scored", "--sentiment", str(scores), "--name", "x")
    assert again.code == 2
    assert "a covariate must be joined once, was sentiment, which is there" in again.err
    scores.write_text(lines.format("ZZZ"))
    other = call("data", "join", "mine", "--sentiment", str(scores), "--name", "x")
    assert "must be about symbols of the dataset, was ZZZ" in other.err


def test_import_failing_leaves_the_name_where_it_was(
    call, workspace: Path, real_file: Path
) -> None:
    call("data", "import", str(real_file), "--name", "mine")
    before = BarStore(workspace).names()
    real_file.write_text(real_file.read_text().replace("100", "-100"))

    answer = call("data", "import", str(real_file), "--name", "mine")

    assert answer.code == 2
    assert BarStore(workspace).names() == before


def test_generate_is_the_same_for_the_same_seed(call, workspace: Path) -> None:
    arguments = ["data", "generate", "--market", "noise", "--universe", "prototype10"]
    arguments += ["--start", "2025-09-01", "--end", "2025-09-05", "--json"]

    one, two, other = (
        call(*arguments, "--name", name, "--seed", seed).document
        for name, seed in (("one", "1"), ("two", "1"), ("other", "2"))
    )

    assert one["id"] == two["id"] != other["id"]
    assert BarStore(workspace).open("one").manifest.provenance.synthetic


def test_generate_parameters_are_read_as_numbers(call, workspace: Path) -> None:
    answer = call(
        "data", "generate", "--name", "p", "--market", "planted", "--universe", "prototype10",
        "--start", "2025-09-01", "--end", "2025-09-05", "--set", "kappa=0.25", "--set", "phi=0.5",
    )  # fmt: skip

    assert answer.code == 0, answer.err
    assert "synthetic" in answer.out
    detail = BarStore(workspace).open("p").manifest.provenance.detail
    assert (detail["param.kappa"], detail["param.phi"]) == (0.25, 0.5)


def test_numbers_are_told_from_text() -> None:
    pairs = {"a": "1", "b": "0.5", "c": "true", "d": "False", "e": "word", "f": "-2e-3"}

    assert read_values(pairs) == {"a": 1, "b": 0.5, "c": True, "d": False, "e": "word", "f": -0.002}


@pytest.mark.parametrize("text", ["close", "=x", "close=", ""])
def test_pairs_without_both_sides_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--map must be NAME=VALUE"):
        read_pairs([text], "--map")


def test_pairs_keep_further_signs_in_the_value() -> None:
    assert read_pairs(["a=b=c"], "--map") == {"a": "b=c"}
    assert read_pairs(None, "--map") == {}


def test_name_that_is_given_to_other_bars_warns_of_what_uses_the_old_ones(
    call, workspace: Path, real_file: Path
) -> None:
    call("data", "import", str(real_file), "--name", "mine")
    old = BarStore(workspace).open("mine").manifest.content_sha256
    make_run(workspace / "runs", "first", data={"dataset_sha256": old})
    make_run(workspace / "runs", "other", data={"dataset_sha256": "e" * 64})
    make_session(workspace, "week", dataset="mine", data_sha256=old)
    again = call("data", "import", str(real_file), "--name", "mine")

    answer = call("data", "import", str(real_file), "--name", "mine", "--symbols", "AAPL")
    told = " ".join(answer.err.split())

    assert "warning" not in again.err
    assert answer.code == 0
    assert (
        f"warning: mine meant other bars until now, {old[:16]}; made with them: run first," in told
    )
    assert "session week, which go on with those" in told
    assert "other" not in told.replace("other bars", "")
    back = call("data", "import", str(real_file), "--name", "mine", "--json").document["replaced"]
    assert (back["runs"], back["sessions"], back["models"]) == ([], [], [])


def test_workspace_that_cannot_be_written_is_refused_before_bars_are_generated(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch(*_: object) -> None:
        raise AssertionError("bars were generated")

    monkeypatch.setattr(SyntheticSource, "fetch", fetch)

    assert run(["--workspace", "/proc/nope", "data", "generate", "--name", "x"]) == 2
    assert "/proc/nope" in capsys.readouterr().err
