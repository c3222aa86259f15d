"""Every exception the product raises on purpose.

TradingBotError
├── InterruptionError         the process was asked to stop before there was anything to save
└── UserError                 a mistake the user can mend: one line, exit code 2
    ├── ConfigError           a configuration file or option breaks a rule
    ├── SchemaError           a file does not have the columns, types or order a bar file must have
    ├── DataError             a file is readable but its content cannot be used
    ├── SourceError           a data vendor refused, failed or answered nonsense
    ├── MissingExtraError     an optional package is not installed
    ├── UncertifiedPanelError a panel has no valid causality certificate
    ├── TradingError          an order, fill or trading state breaks a rule
    │   └── ModelAnswerError  a model answered what is no number: nothing may be done by it
    ├── BrokerUnavailableError a broker could not be asked: what it holds is not known
    ├── ChannelError          an alert could not be sent
    ├── TrainingError         training collapsed or diverged, and its remedies did not help
    └── StorageError          the disk refused: full, read-only, or a stored file is damaged
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches

_LONGEST = 400  # characters of a value or a place in a message
_LISTED = 40  # names in a suggestion: more would bury the message


class TradingBotError(Exception):
    """Base of everything raised on purpose; the command line prints it as one line."""


class InterruptionError(TradingBotError):
    """The process was asked to stop before there was anything to save."""


class UserError(TradingBotError):
    """A mistake the user can mend. Build it from rule, value, place and remedy.

    Example:
        >>> str(UserError("kappa must be below 1", was=1.7, where="demo.yaml:3", remedy="Use 0.1"))
        'kappa must be below 1, was 1.7 (demo.yaml:3). Use 0.1.'
    """

    def __init__(
        self, rule: str, *, was: object = None, where: str | None = None, remedy: str | None = None
    ) -> None:
        self.rule, self.was, self.where, self.remedy = rule, was, where, remedy
        message = rule
        if was is not None:
            message += f", was {_cut(str(was))}"
        if where:
            message += f" ({_cut(where)})"
        message += "."
        if remedy:
            message += f" {remedy}" if remedy.endswith(("?", ".")) else f" {remedy}."
        super().__init__(" ".join(message.split()))


def _cut(text: str) -> str:
    """Shorten what someone wrote, so that it does not bury rule and remedy."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]} … {text[-_LONGEST // 2 :]}"


class ConfigError(UserError):
    """A configuration file or option breaks a rule."""


class SchemaError(UserError):
    """A file does not have the columns, types or order a bar file must have."""


class DataError(UserError):
    """A file is readable but its content cannot be used."""


class SourceError(UserError):
    """A data vendor refused, failed or answered something that is not data."""


class UncertifiedPanelError(UserError):
    """A panel has no causality certificate, or one for other content."""


class TradingError(UserError):
    """An order, a fill, a position or a trading state breaks a rule."""


class ModelAnswerError(TradingError):
    """A model answered what is no number: nothing may be done by it."""


class BrokerUnavailableError(UserError):
    """A broker could not be asked, or gave no readable answer: what it holds is not known."""


class ChannelError(UserError):
    """An alert could not be sent; the message holds no secret."""


class TrainingError(UserError):
    """Training collapsed or diverged, and the remedies that were tried did not help."""


class MissingExtraError(UserError):
    """An optional package is not installed.

    Example:
        >>> str(MissingExtraError("plot", package="jinja2"))
        "package 'jinja2' must be installed for this. Run: pip install 'tradingbot[plot]' (in the \
checkout: make install EXTRA=plot)."
    """

    def __init__(self, extra: str, *, package: str) -> None:
        self.extra = extra
        super().__init__(
            f"package {package!r} must be installed for this",
            remedy=f"Run: pip install 'tradingbot[{extra}]' "
            f"(in the checkout: make install EXTRA={extra})",
        )


class StorageError(UserError):
    """The disk refused: full, read-only, or a stored file is damaged."""


def suggest(unknown: str, known: Iterable[str]) -> str:
    """Say which known name was probably meant, or list all of them.

    Example:
        >>> suggest("noize", ["noise", "planted"])
        "Did you mean 'noise'?"
    """
    names = sorted(known)
    close = get_close_matches(unknown, names, n=1)
    if close:
        return f"Did you mean {close[0]!r}?"
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"Known: {', '.join(names[:_LISTED])}{more}"


def require_known(
    name: str,
    known: Collection[str],
    rule: str,
    *,
    where: str | None = None,
    error: type[UserError] = ConfigError,
) -> str:
    """Return `name` if it is among the known ones; else refuse it and name the closest.

    Example:
        >>> require_known("noise", ["noise", "planted"], "market must be a known one")
        'noise'
    """
    if name not in known:
        raise error(rule, was=repr(name), where=where, remedy=suggest(str(name), known))
    return name


def join_choices(words: Iterable[str]) -> str:
    """Write choices as a sentence has them.

    Example:
        >>> join_choices(["ppo"]), join_choices(["ppo", "sac", "direct"])
        ('ppo', 'ppo, sac or direct')
    """
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last
