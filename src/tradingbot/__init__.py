"""Multi-agent reinforcement-learning trading: `import tradingbot as tb`.

From bars to a verdict: `tb.load_bars` → `tb.backtest`, or `tb.train` → `tb.evaluate`. Everything is
imported when it is first used, so that importing the package takes milliseconds.
"""

from __future__ import annotations

import importlib
import typing

if typing.TYPE_CHECKING:
    from tradingbot.agents.strategies.view import MarketView
    from tradingbot.facade.backtest import BacktestResult, backtest
    from tradingbot.facade.bars import Bars, generate_bars, load_bars
    from tradingbot.facade.checking import check_strategy
    from tradingbot.facade.comparison import ComparisonReport, compare
    from tradingbot.facade.data import build_panel
    from tradingbot.facade.environments import make_env
    from tradingbot.facade.evaluation import evaluate
    from tradingbot.facade.policy import LoadedPolicy, load_policy
    from tradingbot.facade.report import Report, ReportFigure, report
    from tradingbot.facade.session import session_report
    from tradingbot.facade.training import Run, train
    from tradingbot.plugins.declaring import baseline, feature, reward_term, strategy
    from tradingbot.plugins.loading import load_plugin

__version__ = "0.1.0"

__all__ = [
    "BacktestResult",
    "Bars",
    "ComparisonReport",
    "LoadedPolicy",
    "MarketView",
    "Report",
    "ReportFigure",
    "Run",
    "__version__",
    "backtest",
    "baseline",
    "build_panel",
    "check_strategy",
    "compare",
    "evaluate",
    "feature",
    "generate_bars",
    "load_bars",
    "load_plugin",
    "load_policy",
    "make_env",
    "report",
    "reward_term",
    "session_report",
    "strategy",
    "train",
]

_PLACES = {
    "BacktestResult": "facade.backtest",
    "Bars": "facade.bars",
    "LoadedPolicy": "facade.policy",
    "MarketView": "agents.strategies.view",
    "ComparisonReport": "facade.comparison",
    "Report": "facade.report",
    "ReportFigure": "facade.report",
    "Run": "facade.training",
    "backtest": "facade.backtest",
    "baseline": "plugins.declaring",
    "build_panel": "facade.data",
    "check_strategy": "facade.checking",
    "compare": "facade.comparison",
    "evaluate": "facade.evaluation",
    "feature": "plugins.declaring",
    "generate_bars": "facade.bars",
    "load_bars": "facade.bars",
    "load_plugin": "plugins.loading",
    "load_policy": "facade.policy",
    "make_env": "facade.environments",
    "report": "facade.report",
    "reward_term": "plugins.declaring",
    "session_report": "facade.session",
    "strategy": "plugins.declaring",
    "train": "facade.training",
}
"""Name → module below the package that has it."""


def __getattr__(name: str) -> object:
    """Import a name of the façade when it is first used."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """List the façade, for completion."""
    return sorted({*globals(), *__all__})
