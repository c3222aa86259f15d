"""Tables of the journal: one chain of entries, and what each entry says in columns for SQL.

`entries` is the truth: the plain values of every event as canonical JSON, chained by hashes. The
other tables repeat an entry in columns under the same number; verification derives them again and
compares. No row of any of them is ever changed or deleted: triggers refuse it.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from tradingbot.runtime.journal.columns import ExactNumber, ExactText, Number, UtcMoment

METADATA = MetaData()
_NUMBER = BigInteger().with_variant(Integer(), "sqlite")

ENTRIES = Table(
    "entries",
    METADATA,
    Column("seq", _NUMBER, primary_key=True, autoincrement=False),
    Column("session", ExactText, nullable=False),
    Column("kind", String(80), nullable=False),
    Column("key", ExactText),
    Column("content", Text, nullable=False),
    Column("previous_sha256", String(64), nullable=False, unique=True),
    Column("sha256", String(64), nullable=False, unique=True),
    Column("batch", String(32), nullable=False),
    Column("place", Integer, nullable=False),
    UniqueConstraint("batch", "place", name="entries_batch_place"),
    UniqueConstraint("session", "kind", "key", name="entries_session_kind_key"),
)


def _described(name: str, *columns: Column[object] | UniqueConstraint) -> Table:
    """Declare a table of one kind of entry, with the entry's number and session."""
    table = Table(
        name,
        METADATA,
        Column("seq", _NUMBER, ForeignKey("entries.seq"), primary_key=True, autoincrement=False),
        Column("session", ExactText, nullable=False),
        *columns,
    )
    Index(f"{name}_session", table.c.session, table.c.seq)
    return table


def _required(name: str, kind: type | object) -> Column[object]:
    return Column(name, kind, nullable=False)  # type: ignore[arg-type]


SESSIONS = _described(
    "sessions",
    _required("started_at", UtcMoment),
    _required("broker", ExactText),
    _required("model", ExactText),
    _required("code_version", ExactText),
    _required("settings_sha256", ExactText),
)
MODELS = _described(
    "models",
    _required("loaded_at", UtcMoment),
    _required("model", ExactText),
    Column("run", ExactText),
    Column("verdict", ExactText),
)
DECISIONS = _described(
    "decisions",
    _required("symbol", ExactText),
    _required("decided_at", UtcMoment),
    _required("model", ExactText),
    _required("action_space", ExactText),
    _required("action", Integer),
    _required("raw_action", Number),
    _required("smoothed_action", Number),
    Column("confidence", Number),
    Column("option", ExactText),
    Column("intrinsic_reward", Number),
    Column("client_order_id", ExactText),
    _required("is_shadow", Boolean),
)
Index("decisions_bar", DECISIONS.c.session, DECISIONS.c.symbol, DECISIONS.c.decided_at)
ORDERS = _described(
    "orders",
    _required("client_order_id", ExactText),
    _required("symbol", ExactText),
    _required("side", ExactText),
    _required("quantity_units", ExactNumber),
    _required("order_type", ExactText),
    Column("limit_price", ExactNumber),
    _required("time_in_force", ExactText),
    _required("decided_at", UtcMoment),
    _required("model", ExactText),
    _required("sequence", Integer),
    Column("confidence", Number),
    UniqueConstraint("session", "client_order_id", name="orders_session_client_order_id"),
)
ORDER_EVENTS = _described(
    "order_events",
    _required("client_order_id", ExactText),
    _required("status", ExactText),
    _required("at", UtcMoment),
    Column("reason", ExactText),
    Column("venue_order_id", ExactText),
    Column("filled_units", ExactNumber),
)
Index(
    "order_events_order",
    *(ORDER_EVENTS.c.session, ORDER_EVENTS.c.client_order_id, ORDER_EVENTS.c.seq),
)
FILLS = _described(
    "fills",
    _required("fill_id", ExactText),
    _required("client_order_id", ExactText),
    _required("symbol", ExactText),
    _required("side", ExactText),
    _required("quantity_units", ExactNumber),
    _required("price", ExactNumber),
    _required("fee_ccy", ExactNumber),
    _required("filled_at", UtcMoment),
    UniqueConstraint("session", "fill_id", name="fills_session_fill_id"),
)
POSITION_CHANGES = _described(
    "position_changes",
    _required("symbol", ExactText),
    _required("at", UtcMoment),
    _required("cause", ExactText),
    Column("fill_id", ExactText),
    _required("units", ExactNumber),
    _required("cost_ccy", ExactNumber),
    _required("realised_pnl_ccy", ExactNumber),
)
"""What is held after each fill, bust and split, and the profit that it realised, net of fees."""
Index(
    "position_changes_symbol",
    *(POSITION_CHANGES.c.session, POSITION_CHANGES.c.symbol, POSITION_CHANGES.c.seq),
)
STATES = _described(
    "states",
    _required("at", UtcMoment),
    _required("trading_state", ExactText),
    _required("cash_ccy", ExactNumber),
    _required("equity_ccy", ExactNumber),
)
ALERTS = _described(
    "alerts",
    _required("at", UtcMoment),
    _required("level", ExactText),
    _required("code", ExactText),
    _required("text", ExactText),
    Column("symbol", ExactText),
)
AUDIT = _described(
    "audit",
    _required("at", UtcMoment),
    _required("act", ExactText),
    Column("actor", ExactText),
    _required("reason", ExactText),
)

TABLES = tuple(METADATA.tables.values())
"""Every table of the journal, `entries` first."""
