"""`tradingbot tune`: what options ask for, the command that does it again, how it stops."""

from __future__ import annotations

import shlex
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer

from fixtures.tiny_tuning import tune_arguments
from tradingbot.app.cli import tune as tune_module
from tradingbot.app.cli.application import run
from tradingbot.domain.errors import InterruptionError
from tradingbot.tuning import session
from tradingbot.tuning.request import TuneRequest
from tradingbot.tuning.session import TuneCallbacks

OWN = """
parameters:
  learner.direct.actor.hidden: {choices: [[8], [16]]}
"""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[TuneRequest]:
    """Studies that would be made."""
    seen: list[TuneRequest] = []

    def make(request: TuneRequest, *_: object, **__: object) -> None:
        seen.append(request)
        raise typer.Exit(0)

    monkeypatch.setattr(tune_module, "_tune", make)
    return seen


EVERY = "--sampler random --pruner hyperband --steps-share 0.123456789 --seeds 3 --seed 4"


@pytest.mark.parametrize(
    "more",
    [
        ["--symbols", "SPY,AAPL"],
        [*EVERY.split(), "--together", "2"],
        ["--market", "noise", "--set", "task.cost_rates.commission_frac=0.0002"],
    ],
)
def test_command_that_a_study_notes_asks_for_the_same_study(
    more: list[str], tmp_path: Path, asked: list[TuneRequest]
) -> None:
    space = tmp_path / "my space.yaml"
    space.write_text(OWN)
    arguments = tune_arguments(tmp_path, "first", "--space", f"direct,{space}", *more)

    assert run(arguments) == 0
    program, *words = shlex.split(asked[0].command)
    assert run(["--workspace", str(tmp_path), *words]) == 0

    assert program == "tradingbot"
    same = replace(asked[1], options=asked[0].options)
    assert same == asked[0]
    assert asked[0].symbols == (("SPY", "AAPL") if "--symbols" in more else ())
    assert asked[0].settings.steps_share_frac == (0.123456789 if "--seeds" in more else 0.5)


def test_interruption_reaches_trials_and_trainings_of_the_best(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[bool, bool]] = []

    def tune(*_: object, callbacks: TuneCallbacks, **__: Any) -> None:
        for _press in range(2):
            training = callbacks.training
            assert training is not None
            seen.append((callbacks.interrupted(), training.interrupted()))
            if len(seen) == 1:
                signal.raise_signal(signal.SIGINT)
        raise InterruptionError("tuning")

    monkeypatch.setattr(session, "tune", tune)

    assert run(tune_arguments(tmp_path, "first")) == 128 + signal.SIGINT
    assert seen == [(False, False), (True, True)]
