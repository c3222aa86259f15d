"""What is put together around a learner."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from fixtures.tiny_training import tiny_config
from tradingbot.app.training.assembly import assemble, part_task
from tradingbot.app.training.data import open_data
from tradingbot.envs.population import PopulationTask


@pytest.mark.parametrize("part", ["choosing", "validation", "test"])
def test_backtests_on_a_cpu_keep_accounts_in_float64(tmp_path: Path, part: str) -> None:
    config = tiny_config(device="cpu")
    data = open_data(config, tmp_path)
    wired = assemble(config, data, seed=5)

    played = (
        wired.choosing if part == "choosing" else part_task(wired, data, getattr(data.split, part))
    )

    state, _ = played.begin()
    action = torch.ones(len(played.agent_names), played.n_envs)
    assert played.wealth(state).dtype == torch.float64
    assert played.wealth(played.step(state, action).state).dtype == torch.float64
    trained_on = wired.learner.task
    assert isinstance(trained_on, PopulationTask)
    assert trained_on.wealth(trained_on.begin()[0]).dtype == torch.float32
