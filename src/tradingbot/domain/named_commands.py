"""Commands that a text names, with the options by which the next one finds the same workspace.

Remedies are written where it is not known how the product was called; who shows them knows.
"""

from __future__ import annotations

import re

_OF_A_WORKSPACE = re.compile(
    r"\btradingbot (?=(?:demo|data|features|market rollout|train|tune|run|supervised|runs|backtest"
    r"|evaluate|power|gates|export|models|serve|keys|journal|cluster|paper|alerts|dashboard|compare)"
    r"\b)"
)
"""Where a text names a command that reads or writes the workspace."""


def name_options(text: str, options: str) -> str:
    """Write options behind the name of the product wherever a text names such a command.

    Example:
        >>> name_options("Go on with: tradingbot paper resume first", "--workspace w")
        'Go on with: tradingbot --workspace w paper resume first'
    """
    if not options:
        return text
    return _OF_A_WORKSPACE.sub(lambda _: f"tradingbot {options} ", text)
