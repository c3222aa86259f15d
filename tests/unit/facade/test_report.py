"""`tb.report` and `tb.compare`: a page, figures one by one, data frames; refusals in one line."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest

import tradingbot as tb
from fixtures.example_dossier import example_dossier, example_memo
from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.evaluation.pipeline.session import Evaluation


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> tb.BacktestResult:
    folder = tmp_path_factory.mktemp("bars")
    bars = tb.generate_bars(
        "planted", symbols=["AAA", "BBB"], timeframe="1h", start="2024-01-02", end="2024-06-28",
        workspace=folder,
    )  # fmt: skip
    rule = "sma_cross:fast=5,slow=20"
    return tb.backtest(rule, bars, costs=5.0, against=["buy_and_hold"])


@pytest.fixture(scope="module")
def report(result: tb.BacktestResult) -> tb.Report:
    return tb.report(result)


def test_report_of_a_backtest_has_frames_with_units_and_intervals(
    report: tb.Report, result: tb.BacktestResult
) -> None:
    months, hours = report.frame("months"), report.frame("hours")

    growth = (months["return_frac"] + 1.0).product()
    assert growth == pytest.approx(result.equity[-1])
    assert hours.columns == ["name", "bars", "net_bps", "net_bps_low", "net_bps_high", "total_frac"]
    assert hours["bars"].sum() == result.played.n_bars
    assert report.sheet.clock.time_zone == "America/New_York"
    assert report.sheet.reference == "buy and hold"
    assert len(report.frame("trades")) == len(result.trades)
    assert set(report.frames) >= {"rolling", "exposure", "symbols", "holding", "drawdowns"}
    assert all(isinstance(each, pl.DataFrame) for each in report.frames.values())


def test_every_figure_is_an_svg_that_stands_alone_and_says_synthetic(report: tb.Report) -> None:
    figures = report.figures

    assert set(figures) >= {"months", "drawdowns", "rolling_sharpe", "rolling_beta", "symbols"}
    for each in (*figures.values(), report.price("AAA")):
        root = ElementTree.fromstring(each.svg)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert "synthetic" in "".join(root.itertext())
        assert not re.search(r"url\(|@import|<script", each.svg)
        assert each._repr_html_() == each.svg


def test_figure_is_saved_and_page_is_written(report: tb.Report, tmp_path: Path) -> None:
    picture = report.figure("exposure").save(tmp_path / "exposure.svg")
    page = report.to_html(tmp_path / "page.html")

    assert picture.read_text(encoding="utf-8").startswith("<svg xmlns")
    assert "Hours and weekdays" in page.read_text(encoding="utf-8")
    assert repr(report).startswith("<Report of sma_cross:fast=5,slow=20: ")


def test_report_of_an_evaluation_is_the_page_of_its_dossier(tmp_path: Path) -> None:
    found = Evaluation(example_dossier(), example_memo(), tmp_path, tmp_path / "report.html")

    report = tb.report(found)

    page = report.to_html(tmp_path / "again.html").read_text(encoding="utf-8")
    assert 'class="word">GO' in page
    kept = report.sheet.prices[0].symbol
    assert report.price(kept).title == kept
    with pytest.raises(ConfigError, match="symbol must be one whose price is kept"):
        report.price("NONE")


def test_names_and_endings_are_refused_with_a_remedy(report: tb.Report, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="figure must be a known one, was 'drawdown'"):
        report.figure("drawdown")
    with pytest.raises(ConfigError, match="frame must be a known one"):
        report.frame("month")
    with pytest.raises(ConfigError, match=r"the file must end in \.html"):
        report.to_html(tmp_path / "page.pdf")
    with pytest.raises(ConfigError, match=r"the file must end in \.svg"):
        report.figure("months").save(tmp_path / "months.png")
    with pytest.raises(ConfigError, match="symbol must be one that was traded"):
        report.price("ZZZ")


def test_dossier_of_an_earlier_version_is_refused_with_the_command_to_make_it_anew(
    tmp_path: Path,
) -> None:
    old = replace(example_dossier(), tear_sheet=None)

    with pytest.raises(DataError, match="tradingbot evaluate example-run"):
        tb.report(Evaluation(old, example_memo(), tmp_path, tmp_path / "report.html"))


def test_figure_without_anything_to_draw_is_refused(report: tb.Report) -> None:
    short = replace(report, sheet=replace(report.sheet, rolling=None))

    assert "rolling_sharpe" not in short.figures
    assert short.frame("rolling").is_empty()
    with pytest.raises(DataError, match="figure rolling_sharpe must have something to draw"):
        short.figure("rolling_sharpe")


def test_runs_are_compared_from_python(tmp_path: Path) -> None:
    from fixtures.tiny_evaluation import make_run
    from fixtures.tiny_training import tiny_config
    from tradingbot.training.session import begin_run

    make_run(tmp_path, "base")
    begin_run(tiny_config(6, validation__shrink=False), tmp_path, name="other")

    found = tb.compare(["base", "other"], workspace=tmp_path)

    assert found.results["run"].to_list() == ["base", "other"]
    assert found.differences["run"].to_list() == ["other"]
    row = found.differences.row(0, named=True)
    assert row["net_bps_per_bar_low"] <= row["net_bps_per_bar"] <= row["net_bps_per_bar_high"]
    assert "budget.steps_per_agent" in found.config["name"].to_list()
    assert "seed" in found.facts["name"].to_list()
    assert "budget.steps_per_agent: 192 | 96" in found.summary()
    page = found.to_html(tmp_path / "compared.html")
    assert "What became of 1" in page.read_text(encoding="utf-8")
    with pytest.raises(ConfigError, match="two runs or more"):
        tb.compare([], workspace=tmp_path)
