"""A rollout in words: table for the terminal, sections of a page, page of its own."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from tradingbot import __version__
from tradingbot.evaluation.backtest import Trades
from tradingbot.evaluation.market_rollouts import RolloutReport
from tradingbot.evaluation.performance.table import write_interval
from tradingbot.evaluation.report.backtest_page import (
    days_of,
    equity_charts,
    policy_words,
    trade_rows,
    trade_table,
)
from tradingbot.evaluation.report.blocks import Section
from tradingbot.evaluation.report.chart import full_chart
from tradingbot.evaluation.report.page import Page, render_page
from tradingbot.evaluation.report.svg.drawing import Drawing
from tradingbot.evaluation.report.svg.heat_map import HeatMap, heat_map
from tradingbot.evaluation.report.svg.lines import LineSeries, time_chart
from tradingbot.evaluation.report.svg.scale import Axis
from tradingbot.evaluation.report.svg.spells import Spell, spell_chart
from tradingbot.evaluation.report.table import table_of
from tradingbot.evaluation.rollout import PolicyRollout

STATISTICS_COLUMNS = (
    *("policy", "return", "Sharpe/yr [95 %]", "drawdown", "bp/bar [95 %]"),
    *("invested", "trades", "win rate", "costs"),
)
_TRADES_SHOWN, _BARS_SHOWN = 4, 350
_PREFERRED = ("AAPL", "SPY")


def statistics_rows(report: RolloutReport) -> list[list[str]]:
    """Lay the figures out under `STATISTICS_COLUMNS`."""
    return [
        [
            policy_words(each.policy),
            f"{each.total_return_frac:+.1%}",
            write_interval(each.sharpe_annual, 1),
            f"{each.max_drawdown_frac:.1%}",
            write_interval(each.net_bps_per_bar),
            f"{each.exposure_frac:.0%}",
            f"{each.n_trades:,}" if each.n_trades else f"{account.n_open_trades} open",
            "–" if math.isnan(each.win_rate_frac) else f"{each.win_rate_frac:.0%}",
            "–" if math.isnan(each.cost_share_frac) else f"{each.cost_share_frac:.0%}",
        ]
        for each, account in zip(report.performance, report.accounts, strict=True)
    ]


def reward_rows(report: RolloutReport) -> tuple[list[str], list[list[str]]]:
    """Lay out the reward of a sleeve per 1,000 bars: columns, and a row per policy."""
    rollout, terms = report.rollout, _reward_terms(report.rollout)
    rows = [
        [policy_words(policy), *(f"{value:+.2f}" for value in (each.sum(), *each))]
        for policy, each in zip(rollout.policies, terms.T, strict=True)
    ]
    return ["policy", "reward", *map(policy_words, rollout.reward_names)], rows


def describe(report: RolloutReport) -> str:
    """Say in one line what the figures hold for: data, period, costs, seed."""
    rollout, costs = report.rollout, report.rollout.config.costs
    one_way = 1e4 * costs.one_way_frac
    kind = "SYNTHETIC" if rollout.synthetic else "observed"
    return (
        f"{kind}: {rollout.label}; {rollout.n_bars:,} bars × {len(rollout.symbols)} symbols; "
        f"costs {report.costs} ({one_way:.1f} bp of each fill); seed {report.seed}; "
        f"{report.bars_per_year:,.0f} bars a year"
    )


def render_rollout(report: RolloutReport) -> str:
    """Render a page about one rollout."""
    rollout = report.rollout
    first, last = rollout.backtests[0].first_day, rollout.backtests[0].last_day
    warning = (
        "Everything on this page is synthetic: it says nothing about money earned on a real market."
        if rollout.synthetic
        else "Observed bars, simulated trading. Past prices; a list of symbols drawn up later than "
        "the data flatters every long-only policy."
    )
    sections = [_performance_section(report), _trades_section(rollout), _reward_section(report)]
    return render_page(
        Page(
            title="Policies side by side",
            top="Overview",
            kicker=("Rollout on", rollout.label, f" · {len(rollout.symbols)} symbols"),
            headline=f"Policies side by side, {first} … {last}",
            is_synthetic=rollout.synthetic,
            scope=f"{warning} {describe(report)}.",
            sections=sections,
            footer=f"tradingbot {__version__} · reward {report.reward} · costs {report.costs} · "
            f"seed of random {report.seed}",
        )
    )


def _performance_section(report: RolloutReport) -> Section:
    rollout = report.rollout
    finding = (
        f"Every policy has one long-only account of {rollout.initial_cash_ccy:,.0f} per symbol, "
        "fully invested at most; decisions at the close are filled at the next open."
    )
    caption = (
        "Return, Sharpe and drawdown are those of all accounts together, net of costs; bp/bar is "
        "the mean of the accounts; trades are closed round trips; costs are those of fills ÷ the "
        "result before costs."
    )
    table = table_of(STATISTICS_COLUMNS, statistics_rows(report), caption, words=("policy",))
    charts = equity_charts(rollout.backtests, "expert")
    return Section("performance", "Performance", finding, [table, *charts])


def _trades_section(rollout: PolicyRollout) -> Section:
    symbol = _shown_symbol(rollout)
    name, trades = rollout.symbols[symbol], rollout.trades
    rows = [row for each in rollout.backtests for row in trade_rows(each, symbol, _TRADES_SHOWN)]
    table = trade_table(rows, f"The last trades in {name}, of {len(trades):,} in all")
    price = full_chart(f"{name}, last bars", partial(_price, rollout, symbol))
    caption = "Blue: profitable trades, orange: losing ones."
    held = full_chart(f"When each policy held {name}", partial(_held, rollout, symbol), caption)
    finding = f"{len(trades):,} round trips in all, rebuilt from fills; {name} as an example."
    return Section("trades", "Trades", finding, [price, held, table])


def _reward_section(report: RolloutReport) -> Section:
    rollout, terms = report.rollout, _reward_terms(report.rollout)
    columns, rows = reward_rows(report)
    names, policies = map(policy_words, rollout.reward_names), map(policy_words, rollout.policies)
    cells = HeatMap(terms.T.tolist(), tuple(policies), tuple(names), row_words="policy")
    caption = "Weighted reward per 1,000 bars, mean of the accounts."
    chart = full_chart(f"Reward {report.reward!r} by term", partial(heat_map, cells), caption)
    caption, line = "Per 1,000 bars, mean of the accounts.", "Term by term"
    table = table_of(columns, rows, caption, words=("policy",), folded_under=line)
    finding = "What a learner would be taught with: not a result."
    return Section("reward", "Reward", finding, [chart, table])


def _price(rollout: PolicyRollout, symbol: int, *, width: float) -> Drawing:
    closes = rollout.closes[-_BARS_SHOWN:, symbol]
    line = LineSeries("close", tuple(closes.tolist()), "held", is_named=False)
    return time_chart(
        days_of(rollout.backtests[0])[-_BARS_SHOWN:], [line], Axis("close"), width=width, height=220
    )


def _held(rollout: PolicyRollout, symbol: int, *, width: float) -> Drawing:
    days = days_of(rollout.backtests[0])[-_BARS_SHOWN:]
    first = len(rollout.closed_at) - len(days)
    rows = [
        (policy_words(each.policy), _spells(each.trades, rollout.closed_at, symbol, first))
        for each in rollout.backtests
    ]
    return spell_chart(days, rows, width=width)


def _spells(trades: Trades, closed_at: np.ndarray, symbol: int, first: int) -> list[Spell]:
    mine = trades.select(trades.symbol == symbol)
    begin = np.searchsorted(closed_at, mine.entered_at) - first
    end = np.searchsorted(closed_at, mine.exited_at) - first
    return [
        Spell(int(a), int(b), "pos" if pnl > 0.0 else "neg", f"P&L {pnl:+,.2f}")
        for a, b, pnl in zip(begin, end, mine.pnl_ccy, strict=True)
    ]


def _reward_terms(rollout: PolicyRollout) -> np.ndarray:
    """Return (K, P) rewards per 1,000 bars, mean of the sleeves."""
    terms: np.ndarray = 1_000.0 * rollout.reward_terms.mean(axis=2) / rollout.n_bars
    return terms


def _shown_symbol(rollout: PolicyRollout) -> int:
    known = [rollout.symbols.index(name) for name in _PREFERRED if name in rollout.symbols]
    return known[0] if known else 0
