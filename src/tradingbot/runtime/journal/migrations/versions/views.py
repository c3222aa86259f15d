"""Views: unified actions, trades with decision and profit, orders as they stand, positions."""

from __future__ import annotations

from alembic import op

from tradingbot.domain.action import Action

revision, down_revision = "0002", "0001"

_UNIFIED = {
    Action.HOLD: "HOLD",
    Action.BUY_SMALL: "BUY_1",
    Action.BUY_MEDIUM: "BUY_2",
    Action.BUY_LARGE: "BUY_3",
    Action.ADD_POSITION: "BUY_4",
    Action.SELL_PARTIAL: "SELL_1",
    Action.SELL_ALL: "SELL_2",
}
_WHENS = " ".join(f"WHEN {int(code)} THEN '{word}'" for code, word in _UNIFIED.items())
_ACTIONS = """
CREATE VIEW actions AS SELECT seq, session, symbol, decided_at, model, is_shadow, action_space,
raw_action, smoothed_action, confidence, option, intrinsic_reward, client_order_id,
CASE action WHENS END AS action FROM decisions
"""
_VIEWS = (
    _ACTIONS.replace("WHENS", _WHENS),
    "CREATE VIEW trades AS SELECT p.seq, p.session, p.symbol, p.at, p.cause, f.side, "
    "f.quantity_units, f.price, f.fee_ccy, p.units AS position_units, p.realised_pnl_ccy, "
    "p.fill_id, f.client_order_id, o.order_type, o.model, o.decided_at, a.action, "
    "a.action_space, a.raw_action, a.smoothed_action, a.confidence, a.option, a.intrinsic_reward "
    "FROM position_changes p "
    "LEFT JOIN fills f ON f.session = p.session AND f.fill_id = p.fill_id LEFT JOIN orders o "
    "ON o.session = f.session AND o.client_order_id = f.client_order_id "
    "LEFT JOIN actions a ON a.session = o.session AND a.symbol = o.symbol "
    "AND a.decided_at = o.decided_at AND a.model = o.model AND NOT a.is_shadow",
    "CREATE VIEW order_states AS SELECT o.session, o.client_order_id, o.symbol, o.side, "
    "o.quantity_units, o.decided_at, e.status, e.at, e.reason FROM orders o JOIN order_events e "
    "ON e.seq = (SELECT max(l.seq) FROM order_events l "
    "WHERE l.session = o.session AND l.client_order_id = o.client_order_id)",
    "CREATE VIEW positions AS SELECT p.session, p.symbol, p.units, p.cost_ccy, p.at "
    "FROM position_changes p WHERE p.seq = (SELECT max(l.seq) FROM position_changes l "
    "WHERE l.session = p.session AND l.symbol = p.symbol)",
)


def upgrade() -> None:
    """Make the views."""
    for statement in _VIEWS:
        op.execute(statement)
