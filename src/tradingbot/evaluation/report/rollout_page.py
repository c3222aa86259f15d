"""A rollout in words: table for the terminal, section of a page, page of its own."""

from __future__ import annotations

import math

import numpy as np

from tradingbot import __version__
from tradingbot.domain.denial import ExitReason
from tradingbot.evaluation.figures.rollout import draw_equity, draw_reward_terms, draw_trades
from tradingbot.evaluation.market_rollouts import RolloutReport
from tradingbot.evaluation.report.page import Cell, Picture, Section, Table, render_page
from tradingbot.evaluation.rollout import PolicyRollout
from tradingbot.evaluation.statistics.interval import Interval

STATISTICS_COLUMNS = (
    *("policy", "return", "Sharpe/yr [95 %]", "drawdown", "bp/bar [95 %]"),
    *("invested", "trades", "won", "costs"),
)
_TRADES_SHOWN = 4
_TRADE_COLUMNS = (
    *("policy", "symbol", "entered, UTC", "left, UTC", "bars", "units"),
    *("entry", "exit", "fees", "P&L", "ended by"),
)
_PREFERRED = ("AAPL", "SPY")


def statistics_rows(report: RolloutReport) -> list[list[str]]:
    """Lay the figures out under `STATISTICS_COLUMNS`."""
    return [
        [
            each.policy.replace("_", " "),
            f"{each.total_return_frac:+.1%}",
            _interval(each.sharpe_annual, digits=1),
            f"{each.max_drawdown_frac:.1%}",
            _interval(each.net_bps_per_bar, digits=2),
            f"{each.exposure_frac:.0%}",
            f"{each.n_trades:,}" if each.n_trades else f"{account.n_open_trades} open",
            "–" if math.isnan(each.win_rate_frac) else f"{each.win_rate_frac:.0%}",
            f"{account.costs_frac:.2%}",
        ]
        for each, account in zip(report.performance, report.accounts, strict=True)
    ]


def reward_rows(report: RolloutReport) -> tuple[list[str], list[list[str]]]:
    """Lay out the reward of a sleeve per 1,000 bars: columns, and a row per policy."""
    rollout = report.rollout
    terms = 1_000.0 * rollout.reward_terms.mean(axis=2) / rollout.n_bars
    names = [name.replace("_", " ") for name in rollout.reward_names]
    rows = [
        [
            policy.replace("_", " "),
            f"{terms[:, index].sum():+.2f}",
            *(f"{value:+.2f}" for value in terms[:, index]),
        ]
        for index, policy in enumerate(rollout.policies)
    ]
    return ["policy", "reward", *names], rows


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


def rollout_section(report: RolloutReport, *, title: str) -> Section:
    """Show a rollout as a section of a page."""
    rollout = report.rollout
    word = "synthetic" if rollout.synthetic else "observed"
    shown = _shown_symbol(rollout)
    reward_columns, rewards = reward_rows(report)
    return Section(
        title=title,
        verdict=word,
        text=f"{describe(report)}. Every policy has one long-only account of "
        f"{rollout.initial_cash_ccy:,.0f} per symbol, fully invested at most; decisions at the "
        "close are filled at the next open. Return, Sharpe and drawdown are those of all accounts "
        "together, net of costs; costs are commission and slippage ÷ initial cash; closed trades "
        "are counted. The reward is what a learner would be taught with, not a result.",
        tables=[
            Table(
                STATISTICS_COLUMNS, statistics_rows(report), numeric_columns=STATISTICS_COLUMNS[1:]
            ),
            Table(
                reward_columns,
                rewards,
                numeric_columns=reward_columns[1:],
                folded_under=f"Reward {report.reward!r} per 1,000 bars, term by term",
            ),
            Table(
                _TRADE_COLUMNS,
                _trade_rows(rollout, shown),
                numeric_columns=_TRADE_COLUMNS[4:10],
                folded_under=f"The last trades in {rollout.symbols[shown]}, "
                f"of {len(rollout.trades):,} in all",
            ),
        ],
        pictures=[
            Picture(
                draw_equity(rollout, title=f"Policies side by side ({word}, net of costs)"),
                "All accounts of a policy together, and how far below their highest worth.",
            ),
            Picture(
                draw_trades(
                    rollout, shown, title=f"Trades in {rollout.symbols[shown]} ({word}), last bars"
                ),
                "When each policy held the symbol; green: the trade won, orange: it lost.",
            ),
            Picture(
                draw_reward_terms(rollout, title=f"Reward {report.reward!r} by term ({word})"),
                "What each policy would have been paid in reward, by term.",
            ),
        ],
    )


def render_rollout(report: RolloutReport) -> str:
    """Render a page about one rollout."""
    rollout = report.rollout
    first, last = (str(t)[:10] for t in rollout.closed_at[[0, -1]].astype("datetime64[us]"))
    return render_page(
        title="Policies side by side",
        subtitle="Everything on this page is synthetic: it says nothing about money earned on a "
        "real market."
        if rollout.synthetic
        else "Observed bars, simulated trading. Past prices; a list of symbols drawn up later than "
        "the data flatters every long-only policy.",
        facts={
            "data": rollout.label,
            "period": f"{first} … {last}",
            "symbols": f"{len(rollout.symbols)}",
            "costs": report.costs,
            "reward": report.reward,
            "seed of random": f"{report.seed}",
            "version": __version__,
        },
        sections=[rollout_section(report, title="PolicyRollout")],
    )


def _interval(interval: Interval, *, digits: int) -> str:
    middle, low, high = (f"{number:.{digits}f}" for number in interval)
    return f"{middle} [{low}, {high}]"


def _shown_symbol(rollout: PolicyRollout) -> int:
    known = [rollout.symbols.index(name) for name in _PREFERRED if name in rollout.symbols]
    return known[0] if known else 0


def _trade_rows(rollout: PolicyRollout, symbol: int) -> list[list[Cell]]:
    trades = rollout.trades
    rows: list[list[Cell]] = []
    for index in range(len(rollout.policies)):
        mine = np.flatnonzero((trades.policy == index) & (trades.symbol == symbol))
        rows += [_trade_row(rollout, int(at)) for at in mine[-_TRADES_SHOWN:]]
    return rows


def _trade_row(rollout: PolicyRollout, at: int) -> list[Cell]:
    trades = rollout.trades
    return [
        rollout.policies[trades.policy[at]].replace("_", " "),
        rollout.symbols[trades.symbol[at]],
        _minute(trades.entered_at[at]),
        _minute(trades.left_at[at]),
        f"{trades.bars[at]:,}",
        f"{trades.units[at]:,.2f}",
        f"{trades.entry_price[at]:,.2f}",
        f"{trades.exit_price[at]:,.2f}",
        f"{trades.commission_ccy[at]:,.2f}",
        f"{trades.pnl_ccy[at]:+,.2f}",
        _ending(bool(trades.is_open[at]), int(trades.reason[at])),
    ]


def _minute(stamp: np.int64) -> str:
    return str(stamp.astype("datetime64[us]"))[:16].replace("T", " ")


def _ending(is_open: bool, reason: int) -> str:
    if is_open:
        return "still open"
    return ExitReason(reason).name.lower().replace("_", " ") if reason else "policy"
