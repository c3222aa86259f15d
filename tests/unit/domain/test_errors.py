"""Messages are one line: rule, value, place, remedy."""

from __future__ import annotations

import inspect

import pytest

from tradingbot.domain import errors
from tradingbot.domain.errors import MissingExtraError, TradingBotError, UserError, suggest


def test_user_error_joins_its_parts_in_order():
    error = UserError("x must be y", was=3, where="f.csv:2", remedy="Mend it")
    assert str(error) == "x must be y, was 3 (f.csv:2). Mend it."
    assert (error.rule, error.was, error.where, error.remedy) == (
        "x must be y", 3, "f.csv:2", "Mend it",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({}, "rule."),
        ({"was": 0}, "rule, was 0."),
        ({"remedy": "Do this."}, "rule. Do this."),
        ({"remedy": "Did you mean 'a'?"}, "rule. Did you mean 'a'?"),
        ({"was": "two\nlines\t here"}, "rule, was two lines here."),
    ],
)
def test_user_error_is_always_one_line(parts, message):
    assert str(UserError("rule", **parts)) == message


def test_every_error_descends_from_the_base():
    classes = [c for _, c in inspect.getmembers(errors, inspect.isclass)]
    ours = [c for c in classes if issubclass(c, Exception)]
    assert len(ours) >= 9
    assert all(issubclass(c, TradingBotError) for c in ours)
    # Being asked to stop is no mistake of the user's.
    assert {c.__name__ for c in ours} - {"TradingBotError", "InterruptionError"} <= {
        c.__name__ for c in ours if issubclass(c, UserError)
    }


def test_tree_in_the_docstring_names_every_error():
    for name, kind in inspect.getmembers(errors, inspect.isclass):
        if issubclass(kind, TradingBotError):
            assert name in (errors.__doc__ or "")


def test_missing_extra_says_what_to_install():
    error = MissingExtraError("plot", package="matplotlib")
    assert error.extra == "plot"
    assert "'matplotlib' must be installed" in str(error)
    assert "make install EXTRA=plot" in str(error)


def test_suggest_names_the_near_one_or_all():
    assert suggest("noize", ["planted", "noise"]) == "Did you mean 'noise'?"
    assert suggest("zzz", ["planted", "noise"]) == "Known: noise, planted"
