"""Two small runs, open, for tests of evaluation: direct, and PPO behind an encoder. Synthetic."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.tiny_training import tiny_config
from tradingbot.app.evaluation.subject import Subject, open_subject
from tradingbot.app.training.session import begin_run
from tradingbot.app.training.wiring import torch_threads

_PPO: dict[str, object] = {
    "learner__name": "ppo",
    "learner__ppo__rollout_steps": 8,
    "learner__ppo__minibatch": 8,
    "encoder__preset": "tiny",
    "encoder__pretrain": False,
    "validation__shrink": False,
}


@pytest.fixture(scope="package", autouse=True)
def _one_thread() -> Iterator[None]:
    """Workers have one thread as well; several wait for each other where cores are few."""
    with torch_threads(1):
        yield


@pytest.fixture(scope="package")
def subject(evaluated_workspace: Path) -> Subject:
    """That run, open."""
    return open_subject("tiny", evaluated_workspace)


@pytest.fixture(scope="package")
def ppo_subject(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    """A run of PPO with critic, attention and deviations, whose agents all trade."""
    workspace = tmp_path_factory.mktemp("ppo")
    begin_run(tiny_config(**_PPO), workspace, name="ppo")
    return open_subject("ppo", workspace)
