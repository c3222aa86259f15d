"""A master over a run takes that run's data, unless settings say others."""

from __future__ import annotations

from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace

import pytest

from fixtures.tiny_training import TINY, tiny_arguments, tiny_config
from tradingbot.app.cli.application import run
from tradingbot.domain.errors import ConfigError
from tradingbot.runs import find_run
from tradingbot.training import sleeve_settings
from tradingbot.training.data import open_data
from tradingbot.training.sleeve_settings import load_over_sleeves

OVER = {"environment.portfolio.sleeves": "run:first"}
SHORT = {
    "budget.steps_per_agent": 96,
    "budget.n_envs": 2,
    "validation.every_updates": 4,
    "task.rules.episode.episode_bars": 8,
    "guards.probe_every": 0,
}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run `first` of preset `quick`: two symbols, a market and splits of its own."""
    folder = tmp_path_factory.mktemp("sleeves")
    shares = ("splits.by=ratio", "splits.train=0.5", "splits.validation=0.25", "splits.test=0.25")
    settings = [word for each in shares for word in ("--set", each)]
    assert run(tiny_arguments(folder, "--name", "first", *settings)) == 0
    return folder


def test_master_of_the_documented_command_trains_on_the_data_of_its_run(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--preset", "master", "--set", "environment.portfolio.sleeves=run:first"]
    short = [word for key, value in SHORT.items() for word in ("--set", f"{key}={value}")]

    code = run(["--workspace", str(workspace), "train", *words, *short, "--name", "master"])

    assert code == 0, capsys.readouterr().err
    own, over = (find_run(workspace / "runs", name).record for name in ("first", "master"))
    assert over.periods == own.periods
    assert over.data.dataset_sha256 == own.data.dataset_sha256
    for key in ("market", "symbols", "splits", "dataset"):
        assert over.config.get(key) == own.config.get(key)


def test_settings_that_are_said_go_before_those_of_the_run(workspace: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("extends: master\nsplits: {purge_bars: 9}\n", encoding="utf-8")

    own = load_over_sleeves(mine, {**OVER, "market.seed": 11}, workspace=workspace)

    assert own.splits.purge_bars == 9
    assert own.splits.train == 0.5
    assert own.market.seed == 11
    assert str(own.market.start) == TINY["market.start"]
    generated = load_over_sleeves("master", {**OVER, "market.name": "noise"}, workspace=workspace)
    assert generated.market.name == "noise"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("features", "relative"),
        ("scaling.kind", "minmax"),
        ("scaling.pooling", "per_symbol"),
        ("task.probabilities", "forest"),
    ],
)
def test_master_sees_what_the_agents_of_its_run_saw(
    key: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = SimpleNamespace(
        config=tiny_config(**{"dataset": "bars", key: value}).as_mapping(), data=SimpleNamespace()
    )  # type: ignore[arg-type]
    record.data.dataset_sha256 = None
    own = SimpleNamespace(id="first", record=record)
    monkeypatch.setattr(sleeve_settings, "find_run", lambda *_: own)

    assert attrgetter(key)(load_over_sleeves("master", OVER, workspace=tmp_path)) == value


def test_master_without_a_run_is_that_of_its_preset(workspace: Path) -> None:
    assert load_over_sleeves("master", {}, workspace=workspace).splits.train == 0.6


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"symbols": ["SPY"]}, r"symbols=\[SPY\], there \[SPY,AAPL\]"),
        (
            {"splits.validation": 0.2, "splits.test": 0.3},
            r"splits.test=0.3, there 0.25; splits.validation=0.2, there 0.25",
        ),
        ({"splits.train": 0.4, "splits.test": 0.35}, r"splits.train=0.4, there 0.5"),
    ],
)
def test_refusal_names_the_settings_that_differ_and_what_mends_them(
    workspace: Path, options: dict[str, object], told: str
) -> None:
    config = load_over_sleeves("master", {**OVER, **options}, workspace=workspace)

    with pytest.raises(ConfigError, match=told) as refused:
        open_data(config, workspace)
    assert "Settings that are not those of run first" in str(refused.value)
    assert "--set " in str(refused.value)
