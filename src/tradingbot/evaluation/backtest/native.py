"""Compiled lanes: the C of `lane_source`, compiled once for each set of rules and kept on disk."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import torch

import tradingbot
from tradingbot.evaluation.backtest.lane_program import Unwritable
from tradingbot.evaluation.backtest.lane_source import lane_source
from tradingbot.market.rules import NEVER_BARS, Rules
from tradingbot.market.simulation import Reward
from tradingbot.rewards import RewardStack

Trade = Callable[..., None]
"""The C function `trade`; see `lane_source`."""
CACHE_VARIABLE = "TRADINGBOT_CACHE_DIR"
# No option that changes results: contractions would round once where tensors round twice.
_FLAGS = ("-O2", "-fPIC", "-shared", "-std=c11", "-ffp-contract=off", "-fno-math-errno")
_COMPILERS = (os.environ.get("CC"), "cc", "gcc", "clang")
_SOURCES = ("domain", "market", "rewards", "risk", "agents/policy.py", "evaluation/backtest")
"""What a program is made from, below the package."""
_LOADED: dict[tuple[Rules, Any], Trade | None] = {}


def is_loaded(rules: Rules, reward: Reward) -> bool:
    """Tell whether the program of these rules is ready in this process."""
    return _LOADED.get(_key(rules, reward)) is not None


def native_trade(rules: Rules, reward: Reward) -> Trade | None:
    """Return the compiled simulation of some rules and reward; None where it cannot be made.

    The first call takes some seconds, others nothing; another process finds the program on disk.
    Length of the period is no part of it. Without a C compiler there is none, and callers use the
    tensors themselves, which is slower and comes to the same.
    """
    key = _key(rules, reward)
    if key not in _LOADED:
        _LOADED[key] = _make(*key)
    return _LOADED[key]


def _key(rules: Rules, reward: Reward) -> tuple[Rules, Any]:
    return replace(rules, episode=replace(rules.episode, episode_bars=NEVER_BARS)), reward


def _make(rules: Rules, reward: Reward) -> Trade | None:
    compiler = next((found for name in _COMPILERS if name and (found := shutil.which(name))), None)
    if compiler is None:
        return None
    try:
        identity = _identity(rules, reward)
        source = None if identity else lane_source(rules, reward)
        text = repr((identity or source, torch.__version__, compiler, _FLAGS))
        name = hashlib.sha256(text.encode()).hexdigest()[:32]
        library = _cache_folder() / f"lanes-{name}.so"
        if not library.exists():
            _compile(compiler, source or lane_source(rules, reward), library)
        trade = ctypes.CDLL(str(library)).trade
    except (OSError, subprocess.SubprocessError, Unwritable):
        return None
    trade.restype = None
    trade.argtypes = [ctypes.c_int64] * 6 + [ctypes.c_void_p] * 13
    return trade


def _identity(rules: Rules, reward: Reward) -> str:
    """Say what a program is made from without writing it; nothing where that cannot be told.

    Terms from elsewhere may change behind their names: those are told apart by what is written.
    """
    layers = reward.layers if isinstance(reward, RewardStack) else ()
    ours = all(layer.term.formula.__module__.startswith("tradingbot.") for layer in layers)
    if not layers or not ours:
        return ""
    terms = [(layer.term.name, layer.weight, layer.options, layer.cut) for layer in layers]
    return repr((rules, terms, _code_sha256()))


def _compile(compiler: str, source: str, library: Path) -> None:
    with tempfile.TemporaryDirectory(dir=library.parent) as folder:
        code, made = Path(folder) / "lanes.c", Path(folder) / "lanes.so"
        code.write_text(source)
        subprocess.run(
            [compiler, *_FLAGS, str(code), "-o", str(made), "-lm"],
            check=True,
            capture_output=True,
            timeout=300,
        )
        made.replace(library)  # whole or not at all, whoever else compiles the same


def _cache_folder() -> Path:
    chosen = os.environ.get(CACHE_VARIABLE)
    usual = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tradingbot"
    folder = Path(chosen) if chosen else usual
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


@cache
def _code_sha256() -> str:
    """Hash everything that a program is made from: changed code is another program."""
    root, digest = Path(tradingbot.__file__).parent, hashlib.sha256()
    for part in _SOURCES:
        path = root / part
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(file.read_bytes())
    return digest.hexdigest()
