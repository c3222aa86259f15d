"""Tables of the paper broker's file, and how they are asked."""

from __future__ import annotations

FORMAT = 1
SCHEMA = """
CREATE TABLE IF NOT EXISTS orders (
    client_order_id TEXT PRIMARY KEY, number INTEGER NOT NULL, symbol TEXT NOT NULL,
    side TEXT NOT NULL, units TEXT NOT NULL, filled TEXT NOT NULL, spent TEXT NOT NULL,
    limit_price TEXT, time_in_force TEXT NOT NULL, status TEXT NOT NULL, submitted_at TEXT NOT NULL,
    eligible_at TEXT NOT NULL, content TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS fills (
    fill_id TEXT PRIMARY KEY, number INTEGER NOT NULL, client_order_id TEXT NOT NULL,
    symbol TEXT NOT NULL, side TEXT NOT NULL, units TEXT NOT NULL, price TEXT NOT NULL,
    filled_at TEXT NOT NULL, fee TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS updates (
    number INTEGER PRIMARY KEY, kind TEXT NOT NULL, client_order_id TEXT NOT NULL, at TEXT NOT NULL,
    deliver_at TEXT NOT NULL, fill_id TEXT, reason TEXT, filled TEXT,
    delivered INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS positions (symbol TEXT PRIMARY KEY, units TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS splits (
    symbol TEXT NOT NULL, at TEXT NOT NULL, units TEXT NOT NULL, cash TEXT NOT NULL,
    orders TEXT NOT NULL, PRIMARY KEY (symbol, at));
CREATE TABLE IF NOT EXISTS venue (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""
ORDER_COLUMNS = (
    "SELECT client_order_id, symbol, side, units, filled, spent, status, submitted_at FROM orders "
)
ORDER_BY_ID = ORDER_COLUMNS + "WHERE client_order_id = ?"
OPEN_ORDERS = ORDER_COLUMNS + "WHERE status IN (?, ?) ORDER BY number"
FILL_COLUMNS = (
    "SELECT fill_id, client_order_id, symbol, side, units, price, filled_at, fee FROM fills "
)
FILL_BY_ID = FILL_COLUMNS + "WHERE fill_id = ?"
FILLS_OF_ORDER = FILL_COLUMNS + "WHERE client_order_id = ? ORDER BY number"
FORGET_FILL = ("DELETE FROM updates WHERE fill_id = ?", "DELETE FROM fills WHERE fill_id = ?")
FORGET_ORDER = (
    "DELETE FROM updates WHERE client_order_id = ?",
    "DELETE FROM orders WHERE client_order_id = ?",
)
NEXT_FILL = "SELECT COALESCE(MAX(number), -1) + 1 FROM fills"
FILLS_SINCE = FILL_COLUMNS + "WHERE filled_at >= ? ORDER BY number"
