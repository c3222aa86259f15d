"""Bars that are stored under a campaign's dataset: those that are asked for, or it is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import tradingbot as tb
from fixtures.tiny_campaign import OPTIONS, tiny_campaign
from tradingbot.app.cli.application import run
from tradingbot.campaign.request import CampaignRequest, campaign_config
from tradingbot.campaign.session import walk_campaign
from tradingbot.data.ingest import ingest
from tradingbot.data.sources.files import FileImport, FileSource
from tradingbot.data.store import BarStore
from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.domain.timeframe import BarGrid
from tradingbot.features.pipeline import synthetic_source
from tradingbot.training.config_files import override_config


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`a.csv` and `b.csv`: the closing stamps of two markets."""
    folder = tmp_path_factory.mktemp("files")
    for seed, name in enumerate(("a", "b")):
        made = tb.generate_bars(symbols=["AAA", "BBB"], start="2025-04-01", seed=seed).frame
        told = made.rename({"closed_at": "timestamp"})
        columns = ("timestamp", "symbol", "open", "high", "low", "close", "volume")
        told.select(columns).write_csv(folder / f"{name}.csv")
    return folder


def asked_of(bars: FileImport | None, name: str = "foo") -> CampaignRequest:
    options = {k: v for k, v in OPTIONS.items() if not k.startswith("market.")} | {"symbols": []}
    config = campaign_config("quick", options, "foo", generates=False)
    return replace(tiny_campaign(name), config=config, bars=bars, generates=False)


def test_file_is_not_passed_over_where_its_name_is_stored(files: Path, tmp_path: Path) -> None:
    own = FileImport(path=files / "a.csv", stamps="close")
    ingest(FileSource(own), BarStore(tmp_path), name="foo")
    cases = {
        "file: a.csv → b.csv": own.model_copy(update={"path": files / "b.csv"}),
        "calendar: XNYS → XNAS": own.model_copy(update={"calendar": "XNAS"}),
        "rows: ": own.model_copy(update={"symbols": ("AAA",)}),
    }
    for words, other in cases.items():
        with pytest.raises(ConfigError, match="must come from the file that is asked for") as it:
            walk_campaign(asked_of(other), tmp_path, until="data")
        assert words in str(it.value)
        assert "leave out --file" in str(it.value)
    assert not (tmp_path / "campaigns" / "foo" / "status.json").exists()

    for _ in range(2):  # the same file again, and the same campaign after its data are stored
        found = walk_campaign(asked_of(own), tmp_path, until="data")
        assert found.status.phase("data").state == "passed"
    assert walk_campaign(asked_of(None, "bar"), tmp_path, until="data").status.label


def test_command_with_another_file_is_a_mistake_of_the_user(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here = ["--workspace", str(tmp_path)]
    stored = [*here, "data", "import", str(files / "a.csv"), "--name", "foo", "--stamps", "close"]
    assert run(stored) == 0
    more = ("--preset", "quick", "--set", "symbols=[]", "--until", "data")
    assert run([*here, "run", "foo", "--name", "foo6", *more, "--file", str(files / "b.csv")]) == 2
    assert "data import b.csv --name foo; then run foo without --file" in capsys.readouterr().err


def test_market_of_other_settings_is_not_taken_for_the_one_that_is_asked_for(
    tmp_path: Path,
) -> None:
    asked = tiny_campaign()
    other = override_config(asked.config, {"market.seed": 99, "dataset": None})
    ingest(synthetic_source(other.market), BarStore(tmp_path), name="tiny-market")

    with pytest.raises(ConfigError, match=r"come from the market .*seed: 99 → "):
        walk_campaign(asked, tmp_path, until="data")


def test_refused_file_that_was_then_imported_is_gone_on_with(files: Path, tmp_path: Path) -> None:
    """Options of imports that `run` does not have: import, and run what was imported."""
    with pytest.raises(DataError, match="say --stamps close") as refusal:
        walk_campaign(asked_of(FileImport(path=files / "a.csv")), tmp_path, until="data")
    assert str(refusal.value).endswith(
        "Options that run does not have are those of: tradingbot data import a.csv --name foo; "
        "then run foo without --file."
    )
    own = FileImport(path=files / "a.csv", stamps="close")
    ingest(FileSource(own), BarStore(tmp_path), name="foo")

    found = walk_campaign(asked_of(None), tmp_path, until="data")

    assert found.status.phase("data").state == "passed"
    learned = tmp_path / "tuning" / "foo-tuning"  # from here on it is bound to what it began with
    learned.mkdir(parents=True)
    with pytest.raises(ConfigError, match="must go on with the data"):
        walk_campaign(replace(asked_of(None), evaluation="quick"), tmp_path, until="data")


def test_grid_of_the_file_is_part_of_where_bars_come_from(files: Path, tmp_path: Path) -> None:
    own = FileImport(path=files / "a.csv", stamps="close")
    ingest(FileSource(own), BarStore(tmp_path), name="foo")
    on_clock = own.model_copy(update={"grid": BarGrid.CLOCK})

    with pytest.raises((ConfigError, DataError), match="grid"):
        walk_campaign(asked_of(on_clock), tmp_path, until="data")


def test_campaign_goes_on_without_the_file_that_it_was_begun_with(files: Path) -> None:
    own = FileImport(path=files / "a.csv", stamps="close")

    assert asked_of(own).identity == asked_of(None).identity
