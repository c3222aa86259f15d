"""The paper broker as a trader last knew it, who lives through the bars since then again."""

from __future__ import annotations

from collections.abc import Collection, Container
from datetime import UTC, datetime

from tradingbot.runtime.brokers.paper.split_books import list_splits, undo_split
from tradingbot.runtime.brokers.paper.store import PaperStore


def rewind_books(
    store: PaperStore,
    orders: Container[str],
    fills: Container[str],
    splits: Collection[tuple[str, datetime]],
    since: datetime | None,
) -> int:
    """Take back what the trader does not know, the newest first; see `PaperBroker.rewind`."""
    found = store.fills(since or datetime.min.replace(tzinfo=UTC))
    unknown = [each for each in found[::-1] if each.fill_id not in fills]
    for symbol, at in [each for each in list_splits(store) if each not in splits]:
        while unknown and unknown[0].filled_at >= at:
            store.undo_fill(unknown.pop(0))
        undo_split(store, symbol, at)
    for fill in unknown:
        store.undo_fill(fill)
    later = [each for each in store.order_ids() if each not in orders]
    for identity in later:
        store.forget_order(identity)
    return len(later)
