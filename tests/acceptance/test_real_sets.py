"""The real sets beside the checkout: imported, judged, built, proved, opened through the gate."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import polars as pl
import pytest

from tradingbot.app.cli.application import run
from tradingbot.data.store import BarStore
from tradingbot.domain.errors import UncertifiedPanelError
from tradingbot.features.panel import Panel

SMALL_PROOF = "extends: us143\nproof:\n  common_rounds: 1\n  staggered_rounds: 1\n"


@dataclass(frozen=True)
class RealSet:
    """A file, how it must be read, and what is known about it."""

    file: str
    options: tuple[str, ...]
    symbols: tuple[str, ...]
    bars: int
    """In the whole file."""
    count: int
    """Symbols in the whole file."""
    part: tuple[date, date] = (date(2025, 3, 1), date(2025, 11, 1))
    """Days, the last left out, that are enough to prove on."""
    sentiment: bool = False


SETS = {
    "us_2023": RealSet(
        "us_hourly_2023_2025.parquet",
        ("--universe", "us143"),
        ("ADBE", "AAPL", "SPY"),
        539_854,
        143,
        sentiment=True,
    ),
    "us_2018": RealSet(
        "us_hourly_2018_2023.parquet",
        ("--grid", "clock"),
        ("AAPL", "MSFT"),
        1_949_364,
        190,
        (date(2020, 2, 1), date(2020, 9, 1)),  # the crash
    ),
    "crypto": RealSet(
        "crypto_hourly_2023_2025.parquet",
        ("--universe", "crypto12", "--grid", "clock"),
        ("BTCUSDT", "ETHUSDT"),
        298_080,
        12,
        (date(2025, 8, 1), date(2025, 11, 1)),
    ),
}
Run = Callable[[Sequence[str]], dict[str, object]]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """An empty workspace."""
    return tmp_path / "workspace"


@pytest.fixture
def run_json(workspace: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command line on the workspace; it may have findings, but no error."""

    def call(arguments: Sequence[str]) -> dict[str, object]:
        capsys.readouterr()
        code = run(["--workspace", str(workspace), *arguments, "--json"])
        captured = capsys.readouterr()
        assert code in (0, 1), captured.err
        assert "error" not in captured.err
        document = json.loads(captured.out)
        assert isinstance(document, dict)
        return document

    return call


def import_arguments(file: Path, chosen: RealSet, scores: Path) -> list[str]:
    arguments = ["data", "import", str(file), "--name", "real", *chosen.options]
    return [*arguments, "--sentiment", str(scores)] if chosen.sentiment else arguments


def assert_no_error(report: dict[str, object]) -> None:
    """Warnings are truthful and welcome; what is of severity error would have to be explained."""
    findings = report["findings"]
    assert isinstance(findings, list)
    assert [finding for finding in findings if finding["severity"] == "error"] == []
    assert report["ready"] is True


def prove_set(run_json: Run, folder: Path) -> Panel:
    """Build, prove and open the dataset `real`; each step through the command line."""
    config = folder / "small.yaml"
    config.write_text(SMALL_PROOF)
    built = run_json(["features", "build", "real", "--config", str(config)])
    panel_folder = Path(str(built["folder"]))
    with pytest.raises(UncertifiedPanelError):
        Panel.open(panel_folder)
    proof = run_json(["features", "prove-causal", "real", "--config", str(config)])
    assert proof["causal"] is True
    panel = Panel.open(panel_folder, verify=True)
    assert panel.manifest.synthetic is False
    return panel


@pytest.mark.parametrize("name", SETS)
def test_real_set_of_a_few_symbols_has_no_finding_of_severity_error(
    name: str, real_data: Path, workspace: Path, run_json: Run
) -> None:
    chosen = SETS[name]
    scores = real_data / "sentiment_daily_finbert.parquet"
    arguments = import_arguments(real_data / chosen.file, chosen, scores)

    run_json([*arguments, "--symbols", ",".join(chosen.symbols)])
    assert_no_error(run_json(["data", "validate", "real"]))

    manifest = BarStore(workspace).open("real").manifest
    assert set(manifest.symbols) == set(chosen.symbols)
    assert not manifest.provenance.synthetic
    assert manifest.provenance.calendar == ("24/7" if name == "crypto" else "XNYS")
    assert manifest.covariates == (("sentiment",) if chosen.sentiment else ())
    expected = chosen.bars * len(chosen.symbols) / chosen.count
    assert manifest.rows == pytest.approx(expected, rel=0.08)


@pytest.mark.parametrize("name", SETS)
def test_real_set_of_a_few_months_is_proved_and_opens_through_the_gate(
    name: str, real_data: Path, run_json: Run, tmp_path: Path
) -> None:
    chosen = SETS[name]
    first, last = chosen.part
    file = tmp_path / chosen.file
    pl.scan_parquet(real_data / chosen.file).filter(
        pl.col("symbol").is_in(chosen.symbols),
        pl.col("timestamp").dt.date().is_between(first, last, closed="left"),
    ).collect().write_parquet(file)

    run_json(import_arguments(file, chosen, real_data / "sentiment_daily_finbert.parquet"))
    panel = prove_set(run_json, tmp_path)

    assert set(panel.symbols) == set(chosen.symbols)
    assert panel.numpy("valid").mean() > 0.7


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_real_set_whole_goes_from_file_to_certified_panel(
    name: str, real_data: Path, workspace: Path, run_json: Run, tmp_path: Path
) -> None:
    chosen = SETS[name]
    scores = real_data / "sentiment_daily_finbert.parquet"

    run_json(import_arguments(real_data / chosen.file, chosen, scores))
    assert_no_error(run_json(["data", "validate", "real"]))
    panel = prove_set(run_json, tmp_path)

    manifest = BarStore(workspace).open("real").manifest
    assert len(panel.symbols) == chosen.count
    assert manifest.rows + manifest.quarantined_rows == chosen.bars
