"""Kinds of environments from a configuration to a finished run: train, resume, act, be shown."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from fixtures.run_bits import fingerprint
from fixtures.tiny_training import tiny_config
from tradingbot.app.cli.application import run as run_command
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import config_of_mapping, load_train_config
from tradingbot.training.session import SessionCallbacks, begin_run, resume_session

_EASY = {"min_sharpe": -100.0, "min_win_rate_frac": 0.0, "min_trades": 0}
_STAGE = {"name": "easy", "trend_strength": 0.6, "vol_frac": 0.003, "cost_bps": 1.0, **_EASY}
KINDS: dict[str, dict[str, Any]] = {
    "curriculum": {
        "environment.curriculum.stages": [_STAGE, _STAGE | {"name": "next", "cost_bps": 5.0}],
        "environment.curriculum.rule.min_episodes": 2,
        "environment.curriculum.rule.recent_episodes": 2,
        "environment.curriculum.markets_per_stage": 1,
        "task.rules.episode.episode_bars": 8,
    },
}
FIGURES = {"curriculum": "curriculum/stage"}


def config_of(kind: str, **more: object) -> TrainConfig:
    small = {"budget.steps_per_agent": 96, "guards.probe_every": 0}
    return tiny_config(**{"environment.kind": kind, **small, **KINDS[kind], **more})


@pytest.mark.parametrize("kind", KINDS)
def test_run_trains_resumes_to_the_same_bits_and_is_shown_and_backtested(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = config_of(kind)
    whole = begin_run(config, tmp_path / "whole", name="run")
    stops = iter([*[False] * 3, True, *[False] * 99])
    callbacks = SessionCallbacks(interrupted=lambda: next(stops))

    assert begin_run(config, tmp_path, callbacks, name="run").result is None
    resumed = resume_session("run", tmp_path).run
    assert fingerprint(resumed) == fingerprint(whole.run)
    told = [row["metrics"][FIGURES[kind]] for row in resumed.read_journal("metrics")]
    assert len(told) == 6
    assert told[0] != told[-1]

    capsys.readouterr()
    assert run_command(["--workspace", str(tmp_path), "runs", "show", "run"]) == 0
    shown = capsys.readouterr().out
    assert re.search(rf"environment\W+{kind}", shown)
    assert FIGURES[kind] in shown
    assert run_command(["--workspace", str(tmp_path), "backtest", "run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("kind", KINDS)
def test_configuration_reads_back_and_moves_the_hash(kind: str) -> None:
    config = config_of(kind)

    assert config_of_mapping(config.as_mapping()).as_mapping() == config.as_mapping()
    assert set(config.as_mapping()["environment"]) == {"kind", kind}
    assert config.config_hash != tiny_config().config_hash
    assert "environment" not in load_train_config("quick").as_mapping()
