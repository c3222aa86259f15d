"""The picture of a backtest: equity above, drawdown below, in one file."""

from __future__ import annotations

import html
import io
from collections.abc import Sequence
from pathlib import Path

from tradingbot.data.atomic import atomic_file
from tradingbot.domain.errors import ConfigError
from tradingbot.evaluation.backtest import Backtest
from tradingbot.evaluation.figures import style
from tradingbot.evaluation.metrics.returns import drawdown_of

ENDINGS = (".png", ".svg", ".html")
_COLOURS = (style.BLUE, style.GREY, style.ORANGE, style.GREEN, style.PURPLE, style.RED)
_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>
<meta name="color-scheme" content="light dark">
<style>body{{font:15px system-ui;margin:2rem auto;max-width:60rem}}img{{width:100%}}
pre{{overflow-x:auto}}</style><h1>{title}</h1><img alt="{title}" src="{picture}"><pre>{table}</pre>
"""


def draw_backtests(played: Sequence[Backtest], path: Path, title: str, table: str) -> Path:
    """Draw backtests of the same bars, the first one on top; return the path.

    Args:
        played: Of the same bars.
        path: Ends in .png, .svg or .html.
        title: Says so if the bars are synthetic.
        table: Figures in words, below the picture of a page.

    Raises:
        ConfigError: If the path has another ending.
        MissingExtraError: If Matplotlib is not installed.
    """
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise ConfigError(
            f"a picture must end in {', '.join(ENDINGS)}", was=repr(path.name), where=str(path)
        )
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
    upper.set_title(title)
    handles, labels = upper.get_legend_handles_labels()
    upper.legend(handles[::-1], labels[::-1], fontsize=8, loc="upper left", framealpha=0.85)
    content = io.BytesIO()
    if ending == ".html":
        picture = style.as_data_uri(figure)
        page = _PAGE.format(title=html.escape(title), picture=picture, table=html.escape(table))
        content.write(page.encode())
    else:
        figure.savefig(content, format=ending[1:], dpi=110)
    with atomic_file(path) as temporary:
        temporary.write_bytes(content.getvalue())
    return path
