"""Names that `tradingbot backtest` knows, told without torch: the unknown is refused at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tradingbot.domain.errors import ConfigError, suggest
from tradingbot.runs import list_runs

RULE_NAMES = (
    *("buy_and_hold", "expert", "flat", "macd"),
    *("momentum", "momentum_quarter", "random", "sma_cross"),
)
"""Those of `agents.RULES`, which takes seconds to import."""
ORACLE_NAMES = ("omniscient", "oracle")
"""Those of `evaluation.oracle_policy.ORACLES`."""


def runs_among(names: Sequence[str]) -> list[str]:
    """Return the names that are no rule's and no oracle's, and hence a run's."""
    return [name for name in names if name not in RULE_NAMES and name not in ORACLE_NAMES]


def require_known_policies(names: Sequence[str], root: Path, *, has_market: bool) -> None:
    """Refuse names that nobody answers to.

    Args:
        names: Runs (id, its beginning, or folder) and rules.
        root: Folder of the runs.
        has_market: A market to trade on is named beside them.

    Raises:
        ConfigError: If a name is neither, there is nothing to trade on, or a run is asked to trade
            another market than its own.
    """
    runs, known = runs_among(names), [folder.name for folder in list_runs(root)]
    for name in runs:
        if has_market:
            raise ConfigError(
                "a run must be backtested on its own data; rules alone trade another market",
                was=repr(name),
                remedy="Leave --dataset and --market out"
                if any(each.startswith(name) for each in known)
                else suggest(name, [*RULE_NAMES, *ORACLE_NAMES]),
            )
        if "/" not in name and not any(each.startswith(name) for each in known):
            raise ConfigError(
                "policy must be a run or a known rule",
                was=repr(name),
                where=f"runs of {root}",
                remedy=suggest(name, [*known, *RULE_NAMES, *ORACLE_NAMES]),
            )
    if not names or not (has_market or runs):
        raise ConfigError(
            "a backtest must have a run, or a rule and a market to trade on",
            was="neither" if not names else "rules alone",
            remedy="Add --dataset or --market, or name a run",
        )
