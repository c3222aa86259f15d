"""Options of a session on paper: what they may be, made sure of before anything heavy is loaded."""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from tradingbot.app.cli.invocation import Invocation
from tradingbot.app.cli.options import read_options
from tradingbot.app.console import print_note
from tradingbot.domain.errors import ConfigError, require_known

if TYPE_CHECKING:
    from tradingbot.serving.standing import ModelStanding

_SYMBOLS = "restricted_symbols"


def find_bundle(invocation: Invocation, reference: str) -> Path:
    """Find a bundle without opening it.

    Raises:
        ConfigError: If there is none.
    """
    from tradingbot.serving.registry import ModelRegistry

    path = Path(reference)
    if path.suffix == ".zip":
        if not path.is_file():
            rule = "a bundle must exist"
            raise ConfigError(rule, was="no file", where=reference, remedy="tradingbot export RUN")
        return path.resolve()
    registry = ModelRegistry(invocation.workspace)
    return registry.bundle_path(registry.version(reference)).resolve()


def judge_standing(
    invocation: Invocation, bundle: Path, broker: str, accept: str | None
) -> ModelStanding:
    """Tell where a model stands; at a venue outside it must have been promoted, or accepted.

    Raises:
        ConfigError: If it was not.
    """
    from tradingbot.serving.registry import ModelRegistry
    from tradingbot.serving.standing import find_standing, require_promoted

    standing = find_standing(ModelRegistry(invocation.workspace), bundle)
    if broker != "paper" or accept is not None:
        return require_promoted(standing, accept)
    if not standing.is_promoted:
        print_note(f"the model is {standing.words}: the built-in broker trades it all the same")
    return standing


def require_journal(text: str | None, name: str) -> str | None:
    """Make a journal ready in a database; return its address, without a password.

    Raises:
        ConfigError: If it is none, or holds a session of that name.
        JournalUnavailableError: If it cannot be reached.
    """
    if text is None:
        return None
    from tradingbot.app.cli.journal import require_no_password
    from tradingbot.runtime.journal.database import create_schema
    from tradingbot.runtime.journal.journal import TIMEOUT_S
    from tradingbot.runtime.journal.reading import JournalReader

    address = require_no_password(text, "leave it to the server's rules")
    if address.path is not None:
        rule = "--journal of a session must be postgresql://USER@HOST/DATABASE"
        raise ConfigError(rule, was=text, remedy="Leave it out for a file in the session's folder")
    create_schema(address, timeout_s=TIMEOUT_S)
    with JournalReader(address) as journal:
        if name in journal.sessions():
            rule = "a session's name must be new in its journal"
            raise ConfigError(rule, was=name, where=str(address), remedy="Choose another --name")
    return text


def require_source(broker: str, bars: str) -> str:
    """Refuse a venue or a source of bars that is none, and keys that are not a paper account's.

    Returns:
        The source; a folder by its whole path, for a session is resumed from anywhere.

    Raises:
        ConfigError: Naming what is offered.
    """
    require_known(broker, ["paper", "alpaca"], "--broker must be one that is offered")
    kind, colon, place = bars.partition(":")
    if kind == "folder" and place.strip():
        from tradingbot.data.sources.growing_folder import require_folder

        bars = f"{kind}{colon}{require_folder(Path(place).expanduser()).resolve()}"
    else:
        rule = "--bars must be replay, alpaca or folder:PATH"
        require_known(bars, ["replay", "alpaca"], rule)
    if "alpaca" in (broker, bars):
        from tradingbot.app.paper.access import require_access

        require_access(os.environ)
    return bars


def require_apt(
    broker: str,
    bars: str,
    of_replay: dict[str, object],
    of_paper: dict[str, object],
    adopt: str | None,
) -> None:
    """Refuse options that would not act.

    Args:
        broker: Of `--broker`.
        bars: Of `--bars`.
        of_replay: Option → value, of those that act on replayed bars alone.
        of_paper: Option → value, of those that act at the built-in broker alone.
        adopt: Of `--adopt`.

    Raises:
        ConfigError: Naming one.
    """
    if broker == "alpaca" and bars == "replay":
        rule, remedy = "Alpaca's account trades now: bars must be live", "Use --bars alpaca"
        raise ConfigError(rule, was="--bars replay", remedy=remedy)
    for name, value in of_replay.items():
        if value and bars != "replay":
            raise ConfigError(f"{name} must stand with --bars replay", was=f"--bars {bars}")
    for name, value in of_paper.items():
        if value and broker != "paper":
            raise ConfigError(f"{name} must stand with --broker paper", was=f"--broker {broker}")
    if adopt is not None:
        require_others(broker)


def require_splits(path: Path | None) -> Path | None:
    """Refuse a file that announces no splits; return its whole path.

    Raises:
        ConfigError: Naming the line.
    """
    if path is None:
        return None
    from tradingbot.runtime.brokers.paper.split_file import read_splits

    read_splits(path)
    return path.resolve()


def require_others(broker: str) -> None:
    """Refuse to adopt positions of a venue at which the session alone trades.

    Raises:
        ConfigError: Naming the venue.
    """
    if broker == "paper":
        rule = "--adopt must stand with a venue that others trade at"
        remedy = "Leave it out: the paper broker holds what the session bought"
        raise ConfigError(rule, was="--broker paper", remedy=remedy)


def ask_cash() -> Decimal:
    """Ask how much money the account has: the symbols share it alike."""
    from tradingbot.app.paper.access import open_alpaca

    with open_alpaca((), os.environ) as broker:
        return broker.account().cash_ccy


def read_limits(texts: list[str] | None) -> dict[str, object]:
    """Read LIMIT=VALUE, of one order or of the session; several symbols are split at commas.

    Raises:
        ConfigError: If one is none, naming the closest, or stands twice.
    """
    from tradingbot.domain.plain_values import read_record
    from tradingbot.risk.limits import RiskLimits, SessionLimits, split_limits

    given = read_options(texts, "--limit")
    if _SYMBOLS in given:
        parts = str(given[_SYMBOLS]).split(",")
        given[_SYMBOLS] = [each.strip() for each in parts if each.strip()]
    of_order, of_session = split_limits(given)
    read_record(RiskLimits, of_order, name="--limit")
    read_record(SessionLimits, of_session, name="--limit")
    return given


def require_names(names: list[str] | None) -> tuple[str, ...]:
    """Return who may arm breakers again.

    Raises:
        ConfigError: If a name is blank: an empty one is no one's.
    """
    for name in names or ():
        if not name.strip():
            rule, remedy = "--authorise must be a name", "Write e.g. --authorise ada"
            raise ConfigError(rule, was=repr(name), remedy=remedy)
    return tuple(names or ())
