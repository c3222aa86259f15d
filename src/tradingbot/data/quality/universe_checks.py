"""Rules about which symbols a set has: names, members, delisted ones."""

from __future__ import annotations

import numpy as np
import polars as pl

from tradingbot.data.quality import check
from tradingbot.data.quality.check import HIT_COLUMNS, SYMBOL_UNSAFE, FindingAction, hit, no_hits
from tradingbot.data.quality.view import QualityView
from tradingbot.data.universes import membership_mask
from tradingbot.domain.symbol import is_symbol


@check.error(
    SYMBOL_UNSAFE,
    "D31",
    "symbol must not run as a formula or leave its folder",
    FindingAction.REFUSED,
)
def find_unsafe_symbols(view: QualityView) -> pl.DataFrame:
    """Names that a spreadsheet would run or that climb out of a folder."""
    names = {*view.symbols, *view.covariates["symbol"].unique()}
    return _names(sorted(name for name in names if not is_symbol(name)), "unsafe name")


@check.warning("UNKNOWN_SYMBOL", "", "the universe does not name this symbol")
def find_unknown_symbols(view: QualityView) -> pl.DataFrame:
    """Symbols with bars that the universe does not name."""
    if view.universe is None:
        return no_hits()
    known = set(view.universe.symbols)
    return _names([name for name in view.symbols if name not in known], view.universe.name)


@check.warning("MEMBER_WITHOUT_BARS", "D21", "a member of the universe has no bar")
def find_members_without_bars(view: QualityView) -> pl.DataFrame:
    """Members that should have bars in the set's range and have none at all."""
    if view.universe is None or not view.grid.height:
        return no_hits()
    absent = [name for name in view.universe.symbols if name not in view.symbols]
    closes = view.grid["closed_at"].to_numpy().astype("datetime64[us]")
    is_due = membership_mask(view.universe, absent, closes).any(axis=0)
    return _names([absent[i] for i in np.flatnonzero(is_due)], view.universe.name)


@check.info("OUTSIDE_MEMBERSHIP", "D21", "bars before joining or after leaving the universe")
def find_bars_outside_membership(view: QualityView) -> pl.DataFrame:
    """Bars of known symbols before they joined or after they left."""
    outside = view.present & ~view.expected
    columns, slots = np.nonzero(outside.T)
    hits = pl.DataFrame({"symbol": view.names(columns), "at": view.at(slots)})
    return hits.with_columns(example=pl.lit("not a member then"))


@check.info(
    "SURVIVORSHIP_BIAS", "D21", "no symbol was ever delisted: long-only results are flattered"
)
def find_survivorship(view: QualityView) -> pl.DataFrame:
    """Say that nothing in the set ever ceased to trade, so results flatter the long side."""
    if view.provenance.synthetic or not view.grid.height:
        return no_hits()
    last_session = view.session_index[-1]
    has_delisted = (view.session_index[view.last_slot] < last_session - 1).any()
    return no_hits() if has_delisted else hit(f"all {len(view.symbols)} symbols reach the end")


def _names(names: list[str], example: str) -> pl.DataFrame:
    return pl.DataFrame([(name, None, example) for name in names], HIT_COLUMNS, orient="row")
