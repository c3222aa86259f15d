"""Own reward terms, features, learners and names join the package's catalogues."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tradingbot as tb
from tradingbot.domain.errors import ConfigError
from tradingbot.facade.checking import check_parts
from tradingbot.features.graph.nodes import Input, rolling
from tradingbot.features.panel import panel_specs
from tradingbot.features.spec import FeatureSpec, spec_hash
from tradingbot.networks.encoders.catalogue import EncoderConfig, encoder_preset, register_encoder
from tradingbot.plugins.reference import find_strategy, read_reference
from tradingbot.rewards import RewardConfig, registered_terms, reward_preset
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import config_of_mapping, load_train_config
from tradingbot.training.plugins import with_plugins
from tradingbot.training.setup import env_config

CLOSE = Input(name="close")


def fall(name: str = "fall_20", **changes: Any) -> FeatureSpec:
    highest = rolling("highest", CLOSE, 20)
    fields: dict[str, Any] = {
        "name": name,
        "unit": "quote currency",
        "family": "technical",
        "raw": CLOSE - highest,
        "network": CLOSE / highest - 1.0,
        "formula": "close − highest close of 20 bars",
        "network_formula": "close / highest close of 20 bars − 1",
        "network_range": (-1.0, 0.0),
        "nan_policy": "NaN for the first 19 bars",
        "description": "Fall from the high of 20 bars",
    }
    return FeatureSpec(**{**fields, **changes})


def test_own_reward_is_what_environments_pay() -> None:
    @tb.reward_term(low=-1.0, high=1.0)
    def plain_return(step: Any, xp: Any, *, scale: float = 10.0) -> Any:
        return scale * step.equity_return

    env = tb.make_env(actions="target", reward="plain_return", episode_bars=16)
    env.reset(seed=1)
    before = env.unwrapped.reset(seed=1)[1]["equity"]
    _, reward, _, _, info = env.step(np.array([1.0], dtype=np.float32))
    _, reward, _, _, later = env.step(np.array([1.0], dtype=np.float32))

    assert before > 0.0
    assert reward == pytest.approx(10.0 * (later["equity"] / info["equity"] - 1.0), rel=1e-6)
    stack = RewardConfig("log_growth", {"plain_return": 0.5}, {"plain_return": {"scale": 2.0}})
    assert stack.stack().weights == {"log_growth": 1.0, "plain_return": 0.5}
    assert reward_preset("plain_return").bounds == (-1.0, 1.0)
    assert "plain_return" not in TrainConfig().as_mapping()["task"]


def test_reward_of_training_is_set_by_name_weight_and_option() -> None:
    tb.reward_term(name="own_term")(lambda step, xp, *, scale=1.0: scale * step.equity_return)
    learns = {"learner.direct.objective": "reward"}
    overrides = {
        "task.reward_weights.own_term": 0.25,
        "task.reward_options.own_term.scale": 3.0,
    }

    alone = load_train_config("quick", {"task.reward": "own_term", **learns})
    mixed = load_train_config("quick", overrides | learns)

    assert env_config(alone).reward_stack.names == ("own_term",)
    stack = env_config(mixed).reward_stack
    assert stack.weights == {"log_growth": 1.0, "own_term": 0.25}  # type: ignore[union-attr]
    assert config_of_mapping(mixed.as_mapping()).as_mapping() == mixed.as_mapping()
    assert with_plugins(mixed).plugins == {}  # a program's own part has no file to name
    with pytest.raises(ConfigError, match="reward"):
        env_config(load_train_config("quick", {"task.reward": "no_term", **learns}))


def test_mistakes_in_a_reward_term_are_told() -> None:
    with pytest.raises(ConfigError, match=r"bounds of a reward term must lie in \[-1, 1\]"):
        tb.reward_term(low=0.0, high=2.0)
    tb.reward_term(name="odd", objective="glory")(lambda step, xp: step.equity_return)
    with pytest.raises(ConfigError, match="objective must be one of profit"):
        registered_terms()


def test_name_of_the_package_is_refused() -> None:
    tb.reward_term(name="pnl")(lambda step, xp: step.equity_return)
    with pytest.raises(ConfigError, match="name of a reward_term must be free, was pnl"):
        registered_terms()
    tb.strategy(name="macd")(lambda view: 1.0)
    with pytest.raises(ConfigError, match="name of a strategy must be free, was macd"):
        find_strategy("buy_and_hold")
    with pytest.raises(ConfigError, match="must be letters, digits and underscores"):
        tb.strategy(name="my strategy")(lambda view: 0.0)


def test_own_feature_is_a_column_behind_the_others_and_changes_the_hash(short_work: None) -> None:
    before = panel_specs(())
    tb.feature(fall())

    after = panel_specs(())

    assert [spec.name for spec in after][:23] == [spec.name for spec in before][:23]
    assert after[23].name == "fall_20"
    assert spec_hash(after) != spec_hash(before)
    bars = tb.generate_bars("noise", symbols=["SPY"], timeframe="1d", start="2022-01-03")
    panel = tb.build_panel(bars)
    assert panel.manifest.features[-1] == "fall_20"
    close = bars.inputs.bars["close"][:, 0]
    expected = close[100] / close[81:101].max() - 1.0
    place = panel.numpy("features")[0, 100, 23]
    assert place == pytest.approx(expected, rel=1e-6)
    raw = tb.backtest(lambda view: float(np.isfinite(view.features["fall_20"][0, -1])), bars)
    assert np.flatnonzero(raw.played.action[:, 0])[0] == 19


def test_conformance_of_parts_is_checked() -> None:
    tb.feature(fall())
    tb.feature(fall("too_narrow", network_range=(-1e-9, 0.0)))
    tb.reward_term(name="fine")(lambda step, xp: step.equity_return)
    tb.reward_term(name="not_finite", low=0.0)(lambda step, xp: step.equity_return / 0.0 * 0.0)
    tb.strategy(name="fine_too")(lambda view: 0.5)
    tb.strategy(name="ahead", vectorised=True)(lambda view: np.sign(view.close[:, ::-1] - 100.0))

    problems = {part.name: part.problem for part in check_parts()}

    assert {name for name, problem in problems.items() if not problem} == {
        *("fall_20", "fine", "fine_too"),
    }
    assert "network_range" in problems["too_narrow"]
    assert "must not look ahead" in problems["ahead"]
    assert "not_finite must be" in problems["not_finite"]


def test_own_encoder_preset_is_known_by_name() -> None:
    register_encoder("wee", EncoderConfig(kind="mlp", n_layers=1, width=8))

    assert encoder_preset("wee").width == 8
    with pytest.raises(ConfigError, match="encoder must be one of"):
        encoder_preset("weee")


def test_references_are_read() -> None:
    assert read_reference("a:x=1,y=true,z=1.5,w=up").parameters == {
        "x": 1,
        "y": True,
        "z": 1.5,
        "w": "up",
    }
    assert read_reference("mod:obj:x=2").name == "mod:obj"
    assert find_strategy("sma_cross") is None
    with pytest.raises(ConfigError, match="NAME=VALUE with commas"):
        read_reference("a:x=,y=2")
