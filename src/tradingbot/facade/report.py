"""`tb.report`: what a policy did, as a page, as figures one by one, and as data frames."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import polars as pl

from tradingbot.data.atomic import write_text
from tradingbot.domain.errors import DataError, require_known
from tradingbot.evaluation.backtest import Backtest
from tradingbot.evaluation.performance.tear_sheet.measure import tear_sheet_of
from tradingbot.evaluation.performance.tear_sheet.price_course import has_prices, price_course
from tradingbot.evaluation.performance.tear_sheet.record import TearSheet
from tradingbot.evaluation.performance.tear_sheet.trade_record import PriceCourse
from tradingbot.evaluation.pipeline.session import Evaluation
from tradingbot.evaluation.pipeline.stored_dossier import (
    EVALUATION_FOLDER,
    REPORT_FILE,
    judge_run,
    read_dossier,
)
from tradingbot.evaluation.report.backtest_page import holding_among, render_backtests
from tradingbot.evaluation.report.chart import Chart
from tradingbot.evaluation.report.dossier_page import render_dossier
from tradingbot.evaluation.report.standalone import standalone_svg
from tradingbot.evaluation.report.tear_sheet.charts import CHARTS
from tradingbot.evaluation.report.tear_sheet.frames import FRAMES
from tradingbot.evaluation.report.tear_sheet.sections import tear_sheet_sections
from tradingbot.evaluation.report.tear_sheet.symbol_charts import price_course_chart, symbols_chart
from tradingbot.facade.backtest import BacktestResult
from tradingbot.facade.picture import require_ending
from tradingbot.facade.policy import load_policy
from tradingbot.facade.training import Run


@dataclass(frozen=True)
class ReportFigure:
    """One chart: an SVG that notebooks show and any browser opens, light and dark."""

    title: str
    caption: str
    svg: str
    """A whole SVG document that needs nothing else."""

    def save(self, path: str | Path) -> Path:
        """Write the SVG.

        Raises:
            ConfigError: If the path does not end in .svg.
            StorageError: If the disk refuses.
        """
        target = require_ending(Path(path), ".svg")
        write_text(target, self.svg)
        return target

    def _repr_html_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<Figure {self.title}>"


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """What a policy did: `to_html` writes the page, `figure` and `frame` give its parts."""

    sheet: TearSheet
    """Every number that is drawn, as plain records with units."""
    synthetic: bool
    """Generated bars; every figure says so."""
    _render: Callable[[], str] = field(repr=False)
    _played: Backtest | None = field(default=None, repr=False)

    def to_html(self, path: str | Path) -> Path:
        """Write one page that needs no other file and no network; prints, light and dark.

        Raises:
            ConfigError: If the path does not end in .html.
            MissingExtraError: If what draws pages is not installed.
            StorageError: If the disk refuses.
        """
        target = require_ending(Path(path), ".html")
        write_text(target, self._render())
        return target

    @property
    def figures(self) -> dict[str, ReportFigure]:
        """Every figure that there is something to draw for, by name; prices by `price`."""
        drawn = {name: draw(self.sheet) for name, draw in CHARTS.items()}
        drawn["symbols"] = symbols_chart(self.sheet)
        return {name: self._figure(chart) for name, chart in drawn.items() if chart is not None}

    def figure(self, name: str) -> ReportFigure:
        """Return one figure: months, drawdowns, rolling_sharpe, exposure; `figures` has all.

        Raises:
            ConfigError: If there is none of this name; says which was probably meant.
            DataError: If there is nothing to draw, e.g. no windows in a short period.
        """
        known = {**CHARTS, "symbols": symbols_chart}
        chart = known[require_known(name, known, "figure must be a known one")](self.sheet)
        if chart is None:
            rule = f"figure {name} must have something to draw"
            raise DataError(rule, was="nothing", where=f"{self.sheet.bars:,} bars")
        return self._figure(chart)

    def price(self, symbol: str) -> ReportFigure:
        """Return the price of a symbol with entries and exits.

        Raises:
            ConfigError: If the symbol was not traded. Of a stored dossier only the symbols that
                earned and lost most are known; of a backtest all.
        """
        return self._figure(price_course_chart(self._course(symbol)))

    def frame(self, name: str) -> pl.DataFrame:
        """Return one table: months, drawdowns, rolling, exposure, trades; `frames` has all.

        Units are in the names of columns (`_frac`, `_bps`, `_ccy`, `_bars`); an interval is three.

        Raises:
            ConfigError: If there is none of this name; says which was probably meant.
        """
        return FRAMES[require_known(name, FRAMES, "frame must be a known one")](self.sheet)

    @property
    def frames(self) -> dict[str, pl.DataFrame]:
        """All tables by name."""
        return {name: make(self.sheet) for name, make in FRAMES.items()}

    def summary(self) -> str:
        """Say in a few lines what became of it: months, drawdowns, days, trades."""
        kind = "synthetic bars" if self.synthetic else "observed bars"
        sections = tear_sheet_sections(self.sheet, kind)
        head = f"{self.sheet.policy}, {self.sheet.first_day} … {self.sheet.last_day}, {kind}"
        return "\n".join([head, *(f"{each.title}: {each.finding}" for each in sections)])

    def __repr__(self) -> str:
        sheet, word = self.sheet, ", synthetic" if self.synthetic else ""
        return (
            f"<Report of {sheet.policy}: {sheet.bars:,} bars, {sheet.first_day} … "
            f"{sheet.last_day}{word}>"
        )

    def _figure(self, chart: Chart) -> ReportFigure:
        svg = standalone_svg(chart.drawing, title=chart.title, synthetic=self.synthetic)
        return ReportFigure(chart.title, chart.caption, svg)

    def _course(self, symbol: str) -> PriceCourse:
        kept: Mapping[str, PriceCourse] = {each.symbol: each for each in self.sheet.prices}
        if self._played is None or not has_prices(self._played):
            return kept[require_known(symbol, kept, "symbol must be one whose price is kept")]
        traded = [each.symbol for each in self.sheet.symbols if each.n_trades]
        require_known(symbol, traded, "symbol must be one that was traded")
        return price_course(self._played, self._played.symbols.index(symbol))


def report(
    source: BacktestResult | Evaluation | Run | str | Path, *, workspace: str | Path | None = None
) -> Report:
    """Return the report of a backtest, an evaluation or an evaluated run: page, figures, frames.

    Args:
        source: What `tb.backtest` or `tb.evaluate` returned; or a run (also its id, the beginning
            of it, or its folder) that was evaluated.
        workspace: Where the run is; told from the folder by default.

    Raises:
        ConfigError: If there is no such run, or it was not evaluated.
        DataError: If its dossier was made by a version without such reports, or there are fewer
            than eight bars.

    Example:
        >>> import tradingbot as tb
        >>> bars = tb.generate_bars("regimes", symbols=["SPY"], timeframe="1d")  # synthetic
        >>> found = tb.report(tb.backtest("sma_cross:fast=10,slow=40", bars))
        >>> found.frame("months").columns
        ['month', 'return_frac', 'reference_frac', 'bars']
        >>> found.figure("drawdowns")
        <Figure Deepest drawdowns over time>
    """
    if isinstance(source, BacktestResult):
        return _of_backtest(source)
    if isinstance(source, Evaluation):
        return _of_dossier(source)
    found = load_policy(source, workspace=workspace)
    dossier = read_dossier(found.run.path)
    memo = judge_run(found.run, found.workspace, "product")
    folder = found.run.path / EVALUATION_FOLDER
    return _of_dossier(Evaluation(dossier, memo, folder, folder / REPORT_FILE))


def report_of_played(played: Backtest, render: Callable[[], str]) -> Report:
    """Return the report of what one policy did, with a page of its own."""
    return Report(tear_sheet_of(played), played.synthetic, render, played)


def _of_backtest(result: BacktestResult) -> Report:
    each = (result, *result.against)
    played = [one.played for one in each]
    performance = [one.figures.performance for one in each]
    render = partial(render_backtests, played, performance, result.figures.terms)
    sheet = tear_sheet_of(result.played, holding_among(played))
    return Report(sheet, result.played.synthetic, render, result.played)


def _of_dossier(found: Evaluation) -> Report:
    dossier = found.dossier
    if dossier.tear_sheet is None:
        raise DataError(
            "a report must be of a dossier with a tear sheet",
            was=f"one of an earlier version, {dossier.header.version}",
            where=dossier.header.run,
            remedy=f"Evaluate it again: tradingbot evaluate {dossier.header.run}",
        )
    render = partial(render_dossier, dossier, found.memo)
    return Report(dossier.tear_sheet, dossier.header.synthetic, render)
