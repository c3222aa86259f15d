"""Symbols: short, path-safe names of instruments."""

from __future__ import annotations

import re

from tradingbot.domain.errors import DataError

PORTFOLIO = "portfolio"
"""Stands in the place of a symbol where one agent trades all of them; no symbol is written so."""
# Letters, digits and the separators real venues use (BRK-B, BTC/USDT, ^VIX, ES=F). No leading
# "=" "+" "-" "@": spreadsheets run such text as a formula. No "..": it climbs out of a folder.
_SYMBOL = re.compile(r"[A-Z0-9^][A-Z0-9./^=_-]{0,19}")


def is_symbol(text: str) -> bool:
    """Tell whether `text` may name an instrument.

    Example:
        >>> [is_symbol(s) for s in ("BRK-B", "../etc", "=cmd()", "BTC/USDT")]
        [True, False, False, True]
    """
    return bool(_SYMBOL.fullmatch(text)) and ".." not in text and "//" not in text


def require_symbol(text: str, *, where: str | None = None) -> str:
    """Return `text` if it may name an instrument.

    Raises:
        DataError: If it could escape a folder, run as a formula, or is no symbol at all.
    """
    if not is_symbol(text):
        rule = "symbol must be 1-20 of A-Z 0-9 . / ^ = _ - and start with a letter, digit or ^"
        remedy = "Rename the symbol in the file or map it with --rename OLD=NEW"
        raise DataError(rule, was=repr(text[:40]), where=where, remedy=remedy)
    return text


def as_file_stem(symbol: str) -> str:
    """Encode a symbol as a file name without an extension, one to one.

    Example:
        >>> as_file_stem("BTC/USDT")
        'BTC%2FUSDT'
    """
    return require_symbol(symbol).replace("/", "%2F").replace("^", "%5E").replace("=", "%3D")
