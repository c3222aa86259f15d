"""Names of the analyses of an evaluation, told without torch: an unknown one is refused at once."""

from __future__ import annotations

from collections.abc import Iterable

from tradingbot.domain.errors import require_known

REQUIRED = ("performance", "statistics", "health", "leak_check")
"""Analyses without which there is no dossier."""
OPTIONAL = (
    *("walk_forward", "regimes", "stress", "sensitivity", "seeds"),
    *("ensemble", "ablation", "policy", "rewards", "placebos"),
)


def require_analyses(names: Iterable[str], *, where: str) -> None:
    """Refuse unknown analyses.

    Args:
        names: Of analyses.
        where: Key or option that names them.

    Raises:
        ConfigError: Naming the first that is unknown, and the nearest known.
    """
    for name in names:
        require_known(name, (*REQUIRED, *OPTIONAL), "analysis must be a known one", where=where)
