"""Small runs, open, for tests of evaluation: direct and SAC; PPO is in `tests/conftest.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.tiny_training import tiny_config
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun, open_evaluated_run
from tradingbot.training.session import begin_run

_SAC: dict[str, object] = {
    "learner__name": "sac",
    "learner__sac__warm_up": 8,
    "learner__sac__steps_per_update": 4,
    "learner__sac__batch_size": 4,
    "learner__sac__buffer_size": 32,
    "learner__sac__actor__hidden": [8],
    "learner__sac__critic__hidden": [8],
    "budget__steps_per_agent": 24,
    "validation__every_updates": 3,
    "validation__shrink": False,
}


@pytest.fixture(scope="package")
def subject(evaluated_workspace: Path) -> EvaluatedRun:
    """That run, open."""
    return open_evaluated_run("tiny", evaluated_workspace)


@pytest.fixture(scope="package")
def sac_subject(tmp_path_factory: pytest.TempPathFactory) -> EvaluatedRun:
    """A run of SAC, whose critics are in the checkpoint that training would resume from."""
    workspace = tmp_path_factory.mktemp("sac")
    begin_run(tiny_config(**_SAC), workspace, name="sac")
    return open_evaluated_run("sac", workspace)
