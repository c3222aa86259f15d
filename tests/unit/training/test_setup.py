"""What is put together around a learner."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from fixtures.tiny_training import tiny_config
from tradingbot.envs.population import PopulationTask
from tradingbot.training.data import open_data
from tradingbot.training.setup import build_training_setup, part_task


@pytest.mark.parametrize("part", ["choosing", "validation", "test"])
def test_backtests_on_a_cpu_keep_accounts_in_float64(tmp_path: Path, part: str) -> None:
    config = tiny_config(device="cpu")
    data = open_data(config, tmp_path)
    setup = build_training_setup(config, data, seed=5)

    played = (
        setup.choosing if part == "choosing" else part_task(setup, data, getattr(data.split, part))
    )

    state, _ = played.begin()
    action = torch.ones(len(played.agent_names), played.n_envs)
    assert played.wealth(state).dtype == torch.float64
    assert played.wealth(played.step(state, action).state).dtype == torch.float64
    trained_on = setup.learner.task
    assert isinstance(trained_on, PopulationTask)
    assert trained_on.wealth(trained_on.begin()[0]).dtype == torch.float32
