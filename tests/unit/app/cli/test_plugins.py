"""`--plugin`: own strategies, rewards and features from the command line; synthetic."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

STRATEGY = """
import numpy as np
import tradingbot as tb

@tb.strategy(warm_up_bars="slow")
def my_cross(view, *, fast: int = 20, slow: int = 50):
    return np.sign(view.close[:, -fast:].mean(axis=1) - view.close[:, -slow:].mean(axis=1))
"""
REWARD = """
import tradingbot as tb

@tb.reward_term()
def my_growth(step, xp, *, scale: float = 60.0):
    return scale * step.equity_return
"""
FEATURE = """
import tradingbot as tb
from tradingbot.features.graph.nodes import Input, rolling
from tradingbot.features.spec import FeatureSpec

CLOSE = Input(name="close")
MEAN = rolling("highest", CLOSE, 5)
tb.feature(
    FeatureSpec("fall_5", "ccy", "technical", CLOSE - MEAN, CLOSE / MEAN - 1.0, "close − highest_5",
                "close / highest_5 − 1", (-1.0, 0.0), "NaN for the first 4 bars", "Fall")
)
"""
PLANTED = ("--market", "planted", "--from", "2025-07-01", "--seed", "5")


@pytest.fixture(autouse=True)
def _forget(clean_plugins: None) -> None:
    """Let no test see what another declared."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in (("mine", STRATEGY), ("reward", REWARD), ("column", FEATURE)):
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [
        ("--plugin", "mine.py", "backtest", "my_cross", "sma_cross"),
        ("backtest", "my_cross", "--plugin=mine.py", "sma_cross"),
        ("backtest", "mine.py:my_cross", "sma_cross"),
        ("backtest", "mine:my_cross:fast=20", "sma_cross:slow=50"),
    ],
)
def test_own_strategy_is_backtested_beside_rules(
    call, folder: Path, arguments: tuple[str, ...]
) -> None:
    answer = call(*arguments, *PLANTED, "--json")

    own, rule = answer.document
    assert own["sharpe_annual"] == rule["sharpe_annual"]
    assert own["plugin"].startswith("mine@")
    assert rule["plugin"] is None


def test_rollout_takes_strategies_and_parameters(call, folder: Path) -> None:
    names = "my_cross,sma_cross:fast=20,slow=50,flat"

    answer = call(
        *("market", "rollout", "--market", "planted", "--start", "2025-05-01", "--json"),
        *("--policies", names, "--plugin", "mine.py", "--set", "kappa=0.1"),
    )

    found = {row["policy"]: row for row in answer.document["statistics"]}
    assert list(found) == ["my_cross", "sma_cross:fast=20,slow=50", "flat"]
    numbers = [
        [value for key, value in found[name].items() if key != "policy"] for name in list(found)[:2]
    ]
    assert numbers[0] == numbers[1]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("backtest", "my_cros", "--plugin", "mine.py"), "Did you mean 'my_cross'"),
        (("backtest", "my_cross:fst=1", "--plugin", "mine.py"), "Did you mean 'fast'"),
        (("backtest", "my_cross", "--plugin"), "--plugin must name a Python file"),
        (("backtest", "my_cross", "--plugin", "no.py"), "must be a Python file that exists"),
        (("backtest", "mine.py:no"), "'mine.py' must have 'no'"),
        (("backtest", "json:dumps"), "a strategy must take one argument|must decide at bar"),
    ],
)
def test_mistakes_are_one_line(
    call, folder: Path, arguments: tuple[str, ...], complaint: str
) -> None:
    answer = call(*arguments, *(() if arguments[-1] == "--plugin" else PLANTED))

    assert answer.code == 2
    assert len(answer.err.strip().splitlines()) == 1
    assert re.search(complaint, answer.err), answer.err


def test_run_is_bound_to_the_plugin_it_was_trained_with(
    call, folder: Path, workspace: Path
) -> None:
    train = ("train", "--preset", "quick", "--seed", "1", "--name", "own", "--json")
    settings = ("--set", "task.reward=my_growth", "--set", "validation.shrink=false")
    settings += ("--set", "learner.direct.objective=reward", "--set", "budget.steps_per_agent=128")
    call(*train, *settings, "--plugin", "reward.py")
    record = json.loads((workspace / "runs" / "own" / "run.json").read_text())

    assert list(record["config"]["plugins"]) == ["reward"]
    assert record["config"]["task"]["reward"] == "my_growth"
    with_it = call("backtest", "own", "--plugin", "reward.py", "--json")
    assert with_it.document[0]["bars"] > 100


def test_run_is_refused_without_its_plugin_and_with_another(
    call, folder: Path, clean_plugins: None
) -> None:
    from tradingbot.domain.errors import ConfigError
    from tradingbot.plugins import loading
    from tradingbot.training.config_files import load_train_config
    from tradingbot.training.plugins import require_plugins, with_plugins

    loading.load_plugin("reward.py")
    chosen = {"task.reward": "my_growth", "learner.direct.objective": "reward"}
    config = with_plugins(load_train_config("quick", chosen))
    require_plugins(config)
    assert list(config.plugins) == ["reward"]

    origin = loading._LOADED.pop("reward")
    with pytest.raises(ConfigError, match=r"plugin it was trained with, reward@.*was not loaded"):
        require_plugins(config)
    origin.sha256 = "0" * 64
    loading._LOADED["reward"] = origin
    with pytest.raises(ConfigError, match=r"was reward@000000000000.*Bring the file back"):
        require_plugins(config)


def test_own_feature_is_built_and_proved(call, folder: Path, short_work: None) -> None:
    call(*("data", "generate", "--name", "mine", "--universe", "prototype10"),
         *("--start", "2025-07-01", "--end", "2025-09-30"))  # fmt: skip
    call("features", "build", "mine", "--plugin", "column.py")
    answer = call("features", "prove-causal", "mine", "--plugin", "column.py", "--json")
    shown = call("features", "show", "mine", "--json", "--plugin", "column.py")

    assert answer.document["causal"]
    assert shown.document["manifest"]["features"][-1] == "fall_5"


def test_parts_are_listed_and_checked(call, folder: Path) -> None:
    listed = call("plugins", "list", "--json", "--plugin", "mine.py", "--plugin", "reward.py")
    checked = call("plugins", "check", "--json")

    assert [row["name"] for row in listed.document] == ["my_cross", "my_growth"]
    assert [row["problem"] for row in checked.document] == ["", ""]
