"""docs/reference/denials.md is written from the rules: code, limit, default, unit, how to trip it.

Regenerate it with: .venv/bin/python tests/docs/test_denials_page.py
"""

from __future__ import annotations

from pathlib import Path

from tradingbot.domain.denial import Denial, SessionDenial
from tradingbot.risk.limits import SESSION_RISK, SessionLimits
from tradingbot.risk.order_rules import RULES
from tradingbot.risk.rule import RiskRule, SessionRule
from tradingbot.risk.session_rules import SESSION_RULES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "denials.md"
BEGIN, END = "<!-- table: denials -->", "<!-- end -->"
# Code → (unit of limit and observed, how to trip it).
_FLAG, _CCY, _UNITS, _OF_EQUITY = "flag", "account currency", "units", "fraction of equity"
HOW: dict[Denial | SessionDenial, tuple[str, str]] = {
    SessionDenial.LIMIT_MISSING: ("limits", "Start a gate without limits, or with one that is NaN"),
    SessionDenial.KILL_SWITCH: (_FLAG, "Press the kill switch; armed again by name"),
    SessionDenial.SESSION_HALTED: ("state", "`paper restrict NAME halted`"),
    SessionDenial.ACCOUNT_BLOCKED: (_FLAG, "Have the venue block the account"),
    SessionDenial.SYMBOL_RESTRICTED: (_FLAG, "Put the symbol on the list"),
    SessionDenial.ASSET_NOT_TRADABLE: (_FLAG, "Order a symbol that the venue does not trade"),
    SessionDenial.ASSET_HALTED: (_FLAG, "Order a symbol while its trading is paused"),
    SessionDenial.MARKET_CLOSED: (
        _FLAG,
        "Order outside trading hours, with `queue_when_closed` false",
    ),
    SessionDenial.DUPLICATE_ORDER: (
        _FLAG,
        "Send a decision again, or the same content within the window (seconds)",
    ),
    SessionDenial.UNANSWERED_ORDER: ("orders", "Order again while an answer is lost"),
    SessionDenial.SELF_CROSS: (_UNITS, "Order while one on the other side works"),
    SessionDenial.MAX_QUANTITY: (_UNITS, "Type three zeros too many"),
    SessionDenial.MIN_QUANTITY: (_UNITS, "Order less than the venue takes"),
    SessionDenial.QUANTITY_PRECISION: (
        _UNITS,
        "Order half a share of a symbol that trades in whole ones",
    ),
    SessionDenial.PRICE_TICK: (_CCY, "Set a limit of 290.123: a cent from 1 on, 0.0001 below"),
    SessionDenial.ORDER_NOTIONAL: (_CCY, "Order more than the limit is worth"),
    SessionDenial.MESSAGE_RATE: (
        "messages",
        "Send a burst; `messages_per_s` refills, `max_throttled` in a row disable",
    ),
    SessionDenial.STALE_PRICE: ("seconds", "Order on a price that old, or from the future"),
    SessionDenial.PRICE_COLLAR: (
        "fraction",
        "Set a limit that far from the last price; let the venue trade that far from the close",
    ),
    SessionDenial.QUOTE_CROSSED: (
        _FLAG,
        "Send a market order while the bid reaches the ask, or one side has no quote",
    ),
    SessionDenial.QUOTE_OLD: ("seconds", "Send a market order on a quote that old"),
    SessionDenial.QUOTE_WIDE: ("fraction", "Send a market order into a spread that wide"),
    SessionDenial.PRICE_JUMP: ("fraction", "Let one price differ that much from the one before"),
    SessionDenial.CRITICAL_DRAWDOWN: (
        "fraction of the peak",
        "Lose that much from the peak; only whole positions may be closed",
    ),
    SessionDenial.REDUCING_ONLY: ("state", "`paper restrict NAME reducing`"),
    SessionDenial.DRAWDOWN: ("fraction of the peak", "Lose that much from the peak"),
    SessionDenial.DAILY_LOSS: (
        "fraction of the day's first equity",
        "Lose that much since the day before ended",
    ),
    SessionDenial.TRADE_COUNT: ("trades", "Fill as many orders in a day, those that work counted"),
    SessionDenial.REPEATED_EXECUTION: (
        _FLAG,
        "Execute one more of one symbol and side within `window_s`; armed again by name",
    ),
    SessionDenial.CONSECUTIVE_REJECTS: (
        "rejections",
        "Be rejected so often without a fill, at once or later",
    ),
    SessionDenial.OVERFILL: ("orders", "Let the venue fill more than was asked for"),
    SessionDenial.JOURNAL_UNAVAILABLE: (_FLAG, "Make the journal read-only"),
    SessionDenial.BROKER_DISCONNECTED: ("seconds", "Cut the venue's stream"),
    SessionDenial.CLOCK_SKEW: ("seconds", "Set the clock wrong"),
    SessionDenial.POSITION_DRIFT: (_UNITS, "Trade by hand at the venue"),
    SessionDenial.MODEL_UNHEALTHY: (
        _FLAG,
        "Let answers differ from the golden vectors: compared daily, and after NaN",
    ),
    SessionDenial.LOW_CONFIDENCE: ("probability", "Decide with less confidence, or with none"),
    SessionDenial.AUCTION_CUTOFF: (
        "seconds",
        "Open shortly before the close, or the early close of a half day",
    ),
    SessionDenial.NOT_SHORTABLE: ("units after", "Sell short what the venue does not lend"),
    SessionDenial.STOP_LOSS: (
        "fraction of the entry",
        "Add to a position that lost that much; a session closes it at the next open",
    ),
    SessionDenial.VOLUME_SHARE: (_UNITS, "Order a large part of a day's mean volume"),
    SessionDenial.NOTIONAL_WINDOW: (
        _CCY,
        "Cut a large order into small ones within `window_s`; the limit is of equity",
    ),
    SessionDenial.CORRELATED_EXPOSURE: (_OF_EQUITY, "Buy symbols that move together"),
    SessionDenial.GROSS_EXPOSURE: (
        _CCY,
        "Hold and order more than the day's first equity times the limit",
    ),
    SessionDenial.NET_EXPOSURE: (_CCY, "Hold and order more one way than equity times the limit"),
    SessionDenial.LEVERAGE: ("multiples of equity", "Hold and order so many times equity"),
    SessionDenial.BUYING_POWER: (
        _CCY,
        "Open more than the venue's buying power, less what the bar approved",
    ),
    SessionDenial.OPEN_ORDERS: (_CCY, "Let orders wait; the limit is of equity"),
    Denial.UNKNOWN_VALUE: (_CCY, "Let a price, cash or equity be unknown, 0 or below"),
    Denial.TRADING_HALTED: (_FLAG, "Lose `portfolio_loss_frac` in a simulation"),
    Denial.STALE_DATA: ("bars", "Leave the symbol without a bar"),
    Denial.SHORT_NOT_ALLOWED: ("units after", "Sell more than is held and on its way out"),
    Denial.MAX_ORDER_VALUE: (_CCY, "Open more in one order; the limit is of equity"),
    Denial.MAX_POSITION: (_CCY, "Grow one position, open orders included; the limit is of equity"),
    Denial.CASH_RESERVE: (_CCY, "Buy with the reserve; the limit is of equity"),
    Denial.MARGIN: (_CCY, "Sell short without the cash for it; the limit is of the short"),
    Denial.MIN_TRADE_VALUE: (_CCY, "Order less than it is worth, without closing"),
}


def render_table() -> str:
    """Write the table of all denials, in the order in which rules are asked."""
    lines = [
        "| code | limit | default | unit | judges what reduces | how to trip it |",
        "|---|---|---|---|---|---|",
    ]
    return "\n".join([*lines, *(_row(rule) for rule in (*SESSION_RULES, *RULES))])


def _row(rule: RiskRule | SessionRule) -> str:
    limits = SessionLimits() if isinstance(rule, SessionRule) else SESSION_RISK
    unit, how = HOW[rule.code]
    limit = f"`{rule.limit}`" if rule.limit else "–"
    value = getattr(limits, rule.limit) if rule.limit else "–"
    shown = "none" if value == () else f"{value:g}" if isinstance(value, float) else str(value)
    reducing = "yes" if rule.judges_reducing else "no"
    return (
        f"| `{rule.code.name}` {int(rule.code)} | {limit} | {shown.lower()} | {unit} "
        f"| {reducing} | {how} |"
    )


def replaced(page: str) -> str:
    """Put the table into a page."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{render_table()}\n{END}{after}"


def test_page_of_denials_has_the_table_that_the_code_has() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert page == replaced(page), "run: .venv/bin/python tests/docs/test_denials_page.py"
    assert page.count("| `") >= len(HOW) == len(SESSION_RULES) + len(RULES)


def test_limits_of_the_table_are_settings() -> None:
    for rule in SESSION_RULES:
        assert not rule.limit or hasattr(SessionLimits(), rule.limit)
    for each in RULES:
        assert not each.limit or hasattr(SESSION_RISK, each.limit)


if __name__ == "__main__":
    PAGE.write_text(replaced(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
