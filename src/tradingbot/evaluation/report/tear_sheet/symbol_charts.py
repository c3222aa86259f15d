"""Charts of single symbols: the price with entries and exits, and all accounts as small charts."""

from __future__ import annotations

from functools import partial

from tradingbot.evaluation.performance.tear_sheet.record import TearSheet
from tradingbot.evaluation.performance.tear_sheet.trade_record import PriceCourse, SymbolCourse
from tradingbot.evaluation.report.chart import FULL_PX, NARROW_PX, Chart
from tradingbot.evaluation.report.numbers import count, format_count, percent, plain, typeset
from tradingbot.evaluation.report.svg.price import PriceMark, price_chart
from tradingbot.evaluation.report.svg.small_multiples import SmallChart, small_multiples

PRICE_WORDS = (
    "Prices with every entry and exit: blue triangles buy, orange ones sell, each at the price and "
    "in the bar of its fill. Filled ones open or add, hollow ones close, smaller ones are neither "
    "the first nor the last fill of their trade. The ground is tinted while a position is held, "
    "blue where its trade earned and orange where it lost. Money in account currency, net of the "
    "costs of fills."
)


def price_course_chart(found: PriceCourse) -> Chart:
    """Draw the price of a symbol with the fills of its trades."""
    marks = [
        PriceMark(
            *(each.place, each.price, each.buys, typeset(each.hint)),
            closes="exit" in each.part,
            is_between=each.part in ("add", "partial exit"),
        )
        for each in found.marks
    ]
    draw = partial(
        price_chart, found.places, found.days, found.price, marks, found.held, height=230
    )
    some = f"The latest {found.n_trades} of {format_count(found.of_trades, 'trades')}"
    which = format_count(found.n_trades, "trades") if found.n_trades == found.of_trades else some
    made = plain(found.pnl_ccy, 0, signed=True)
    whose = "all of them" if found.n_trades == found.of_trades else "all trades of the symbol"
    caption = f"{which}, {_fills_words(found)}; {whose} made {made}."
    return Chart(found.symbol, draw(width=FULL_PX), caption, draw(width=NARROW_PX))


def _fills_words(found: PriceCourse) -> str:
    """Say how many fills are drawn."""
    drawn = len(found.marks)
    if not found.n_fills:  # as files before format 13 keep them
        return "one mark at the mean price of each end of a trade"
    if drawn == found.n_fills:
        return f"with all {format_count(drawn, 'fills')}"
    return (
        f"{count(drawn)} of their {format_count(found.n_fills, 'fills')} drawn: every entry and "
        f"exit, and the largest of the others"
    )


def symbols_chart(sheet: TearSheet) -> Chart | None:
    """Draw the equity of every account beside its symbol's price, the best first."""
    ranked = sorted(sheet.symbols, key=lambda each: (-each.total_return_frac, each.symbol))
    charts = [_small(each) for each in ranked]
    draw = partial(small_multiples, charts, words="equity (bold) and price, 1 at the start")
    caption = (
        "One account per symbol, after costs, the highest return first; all on one scale. Beside "
        "the name stands the return of the account."
    )
    narrow = draw(width=NARROW_PX)
    return Chart("Every symbol", draw(width=FULL_PX), caption, narrow) if charts else None


def _small(found: SymbolCourse) -> SmallChart:
    made, held = found.total_return_frac, found.hold_return_frac
    hint = (
        f"{found.symbol}: account {percent(made, signed=True)}, price "
        f"{percent(held, signed=True)}, {format_count(found.n_trades, 'trades')}"
    )
    style = "unsure" if not found.n_trades else "loss" if made < 0 else "agents"
    words = percent(made, signed=True) if found.n_trades else "out"
    return SmallChart(found.symbol, words, found.equity, found.price, hint, style)
