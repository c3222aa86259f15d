"""The picture of a backtest: equity above, drawdown below; or a page, in one file."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

from tradingbot.data.atomic import atomic_file
from tradingbot.domain.errors import ConfigError
from tradingbot.evaluation.backtest import Backtest
from tradingbot.evaluation.figures import style
from tradingbot.evaluation.metrics.returns import drawdown_of
from tradingbot.evaluation.performance.record import PolicyPerformance
from tradingbot.evaluation.report.backtest_page import render_backtests

ENDINGS = (".png", ".svg", ".html")
_COLOURS = (style.BLUE, style.GREY, style.ORANGE, style.GREEN, style.PURPLE, style.RED)


def require_ending(path: Path, *endings: str) -> Path:
    """Refuse a path that ends otherwise.

    Raises:
        ConfigError: Naming the endings.
    """
    if path.suffix.lower() not in endings:
        raise ConfigError(
            f"the file must end in {', '.join(endings)}",
            was=repr(path.name),
            where=str(path),
            remedy=f"Write e.g. {path.stem or 'report'}{endings[0]}",
        )
    return path


def draw_backtests(
    played: Sequence[Backtest], performance: Sequence[PolicyPerformance], path: Path, terms: str
) -> Path:
    """Draw backtests of the same bars, the first one on top; return the path.

    Args:
        played: Of the same bars.
        performance: Figures of each, for a page.
        path: Ends in .png, .svg (a picture) or .html (a page with figures and trades).
        terms: Data, costs and delay in words, for a page.

    Raises:
        ConfigError: If the path has another ending.
        MissingExtraError: If what draws is not installed.
    """
    ending = require_ending(path, *ENDINGS).suffix.lower()
    if ending == ".html":
        content = render_backtests(played, performance, terms).encode()
    else:
        content = _draw(played, ending[1:])
    with atomic_file(path) as temporary:
        temporary.write_bytes(content)
    return path


def _draw(played: Sequence[Backtest], kind: str) -> bytes:
    word = "synthetic, " if any(each.synthetic for each in played) else ""
    figure = style.new_figure(10, 5.2, rows=2)
    upper, lower = figure.axes
    for place, each in reversed(list(enumerate(played))):
        colour = _COLOURS[place % len(_COLOURS)]
        stamps, worth = each.closed_at.astype("datetime64[us]"), each.portfolio
        width = 1.6 if place == 0 else 1.0
        upper.plot(stamps, 100.0 * worth, color=colour, linewidth=width, label=each.policy)
        falls = -100.0 * drawdown_of(worth)
        lower.plot(stamps, falls, color=colour, linewidth=0.9)
        if place == 0:
            lower.fill_between(stamps, falls, color=colour, alpha=0.15, lw=0)
    upper.axhline(100.0, color="black", linewidth=0.6)
    upper.set_ylabel("equity, start = 100", fontsize=8)
    lower.set_ylabel("drawdown, %", fontsize=8)
    lower.sharex(upper)
    upper.tick_params(labelbottom=False)
    upper.set_title(f"{played[0].policy}, {word}net of costs")
    handles, labels = upper.get_legend_handles_labels()
    upper.legend(handles[::-1], labels[::-1], fontsize=8, loc="upper left", framealpha=0.85)
    content = io.BytesIO()
    figure.savefig(content, format=kind, dpi=110)
    return content.getvalue()
