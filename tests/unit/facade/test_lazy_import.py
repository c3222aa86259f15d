"""`import tradingbot` is light, and still shows everything it offers."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tradingbot as tb

HEAVY = ("torch", "polars", "pydantic", "numpy", "gymnasium", "typer")
PROMISED = (
    *("load_bars", "build_panel", "make_env", "train", "evaluate", "backtest", "load_policy"),
    *("strategy", "baseline", "reward_term", "feature"),
)


def test_import_and_declaring_load_nothing_heavy() -> None:
    code = (
        "import sys, tradingbot as tb\n"
        "tb.strategy(lambda view: 0.0) if False else None\n"
        "@tb.strategy\n"
        "def mine(view): return 0.0\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_everything_that_is_offered_exists_and_is_listed() -> None:
    assert set(PROMISED) <= set(tb.__all__)
    assert set(tb.__all__) <= set(dir(tb))
    for name in tb.__all__:
        assert getattr(tb, name) is not None
        if name != "__version__":
            assert getattr(tb, name).__doc__, name


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'lode_bars'"):
        tb.lode_bars  # noqa: B018 - looking is the test
