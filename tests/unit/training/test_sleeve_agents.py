"""Sleeves that the agents of a trained run trade: as the run backtests, and seen with its eyes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from fixtures.tiny_portfolio import begin_agents, master_config
from fixtures.tiny_training import tiny_config
from tradingbot.agents.confidence import read_confidence
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import ConfigError
from tradingbot.envs.portfolio.task import PortfolioTask
from tradingbot.envs.starting import first_ready_bar
from tradingbot.evaluation.backtest import backtest
from tradingbot.networks.actor_layout import Squash
from tradingbot.runs.policy import load_policy
from tradingbot.training.data import open_data
from tradingbot.training.early_refusals import refuse_early
from tradingbot.training.run_policy import open_policy
from tradingbot.training.session import begin_run
from tradingbot.training.setup import build_training_setup, env_config
from tradingbot.training.sleeve_agents import portfolio_identity, sleeve_agents_of


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("workspace")
    begin_agents(folder)
    return folder


def test_sleeves_are_traded_as_the_run_backtests(workspace: Path) -> None:
    config = master_config()
    data = open_data(config, workspace)
    task = build_training_setup(config, data, seed=1).learner.task
    assert isinstance(task, PortfolioTask)
    book, own = task.book, tiny_config()
    agents = open_data(own, workspace)
    run = workspace / "runs" / "agents"
    from tradingbot.runs import RunDirectory

    policy = open_policy(RunDirectory.open(run), agents)
    bars = IndexRange(first_ready_bar(agents.world), agents.world.n_bars)
    played = backtest(
        agents.world, env_config(own), policy, name="agents", bars_per_year=1.0, bars=bars
    )

    np.testing.assert_allclose(book.value[bars.start : bars.stop], played.equity, rtol=1e-9)
    decided = slice(bars.start, bars.stop - 1)
    np.testing.assert_allclose(book.column("proposal")[decided], played.action, rtol=1e-6)
    sure = book.column("confidence")[decided]
    assert bool(((sure >= 0.5) & (sure <= 1.0)).all())
    assert book.member_names[-3:] == ("embedding_0", "embedding_1", "embedding_2")
    assert data.identity.data_sha256 != agents.identity.data_sha256


def test_other_weights_under_the_same_name_are_other_data(workspace: Path) -> None:
    own = open_data(tiny_config(), workspace)
    loaded = load_policy(workspace / "runs" / "agents")
    moved = {name: each + 1.0 for name, each in loaded.checkpoint.agent.items()}
    other = replace(loaded, checkpoint=replace(loaded.checkpoint, agent=moved))
    rules = env_config(tiny_config()).rules

    one, same, two = (
        portfolio_identity(own.identity, sleeve_agents_of(each, rules, own.world)).data_sha256
        for each in (loaded, loaded, other)
    )

    assert one == same == open_data(master_config(), workspace).identity.data_sha256
    assert two != one


def test_master_over_trained_agents_trains_and_is_judged(workspace: Path) -> None:
    done = begin_run(master_config(), workspace, name="master")

    assert done.result is not None
    names = {each.policy for each in done.result.part("test").policies}
    assert {"equal weight", "minimum variance", "best single agent"} <= names


@pytest.mark.parametrize(
    ("sleeves", "words"),
    [("run:nope", "run must be the id of one run"), ("run:", "run must be the id of one run")],
)
def test_run_that_is_not_there_is_refused_early(workspace: Path, sleeves: str, words: str) -> None:
    config = master_config(**{"environment.portfolio.sleeves": sleeves})
    with pytest.raises(ConfigError, match=words):
        refuse_early(config, workspace)


def test_confidence_is_the_share_of_the_range_or_of_draws() -> None:
    output = torch.tensor([[[2.0, 0.0]], [[-2.0, 0.0]], [[0.0, 0.0]]])
    direct = read_confidence(output[..., :1], Squash("sigmoid"), None)
    drawn = read_confidence(output, Squash("tanh"), None)
    codes = read_confidence(output, None, torch.ones(3, 1, 2, dtype=torch.bool))

    assert direct[:, 0].tolist() == pytest.approx([0.8808, 0.8808, 0.5], abs=1e-4)
    assert drawn[0, 0] == drawn[1, 0] > 0.9
    assert drawn[2, 0].item() == pytest.approx(0.5)
    assert codes[:, 0].tolist() == pytest.approx([0.8808, 0.8808, 0.5], abs=1e-4)
