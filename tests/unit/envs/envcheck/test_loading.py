"""Import paths: what they may name, and what is said when they do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tradingbot.domain.errors import UserError
from tradingbot.envs.envcheck import load_subject

REFERENCE = "tradingbot.envs.envcheck.reference"

MODULE = """
import gymnasium
from tradingbot.envs.envcheck.bars import dictate, flat
from tradingbot.envs.envcheck.reference import ReferenceEnv, reference_probe

PROBE = reference_probe()
INSTANCE = ReferenceEnv(dictate(flat()))
NUMBER = 3

class Env(ReferenceEnv):
    def __init__(self):
        super().__init__(dictate(flat()))

class NotAnEnv:
    inner = PROBE

def make():
    return Env()

def make_nothing():
    return 3

def needs_more(bars):
    return Env()

gymnasium.register("Planted/Reference-v0", entry_point="planted_module:Env")
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a module in it that nothing has on its path."""
    import sys

    import gymnasium

    (tmp_path / "planted_module.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    sys.modules.pop("planted_module", None)
    gymnasium.registry.pop("Planted/Reference-v0", None)


@pytest.mark.parametrize(
    ("path", "dictates"),
    [
        ("planted_module:PROBE", True),
        ("planted_module:NotAnEnv.inner", True),
        ("planted_module:Env", False),
        ("planted_module:make", False),
        ("planted_module:Planted/Reference-v0", False),
        (f"{REFERENCE}:reference_probe", True),
        ("TradingBot/Continuous-v1", True),
        ("tradingbot.envs.single:TradingEnv", True),
        ("CartPole-v1", False),
    ],
)
def test_lawful_path_is_found(here: Path, path: str, dictates: bool) -> None:
    assert load_subject(path).dictates is dictates


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("", "an environment must be named, was ''"),
        ("planted_module:", "an environment must be named"),
        (":Env", "an environment must be named"),
        ("planted_module:Enw", r"must have 'Enw' .* Did you mean 'Env'\?"),
        ("planted_module:INSTANCE", "must be given as its class or a factory"),
        ("planted_module:NUMBER", "must be an environment, was int"),
        ("planted_module:NotAnEnv", r"must be a gymnasium\.Env"),
        ("planted_module:make_nothing", "must return an environment or a Probe, was int"),
        ("planted_module:needs_more", "must be callable without arguments, was TypeError"),
        ("no_such_module:Env", "must be importable, was ModuleNotFoundError"),
        ("TradingBot/Continous-v1", r"Did you mean 'TradingBot/Continuous-v1'\?"),
        ("zzz", "Give module:object"),
    ],
)
def test_path_that_means_nothing_is_refused(here: Path, path: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        load_subject(path)

    assert "\n" not in str(caught.value)


def test_search_path_is_left_as_it_was(here: Path) -> None:
    import sys

    before = list(sys.path)

    load_subject("planted_module:PROBE")

    assert sys.path == before
