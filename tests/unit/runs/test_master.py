"""A portfolio run as one policy from its folder: bits of training, agents that must stay."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from fixtures.tiny_portfolio import begin_agents, begin_master
from tradingbot.domain.errors import ConfigError, StorageError
from tradingbot.envs.portfolio.task import PortfolioTask
from tradingbot.runs import RunDirectory
from tradingbot.runs.master import load_chain
from tradingbot.training.config_files import config_of_mapping
from tradingbot.training.data import open_data
from tradingbot.training.setup import build_training_setup

PPO = {
    "learner.name": "ppo",
    "learner.ppo.rollout_steps": 8,
    "learner.ppo.minibatch": 8,
    "learner.ppo.actor.hidden": [8],
    "learner.ppo.critic.hidden": [8],
}


@pytest.fixture(scope="module")
def workspace(portfolio_workspace: Path) -> Path:
    begin_master(
        portfolio_workspace, "by_ppo", **PPO, **{"environment.portfolio.sleeves": "buy_and_hold"}
    )
    return portfolio_workspace


@pytest.mark.parametrize("name", ["master", "by_ppo"])
def test_chain_wants_the_weights_of_training_bit_for_bit(workspace: Path, name: str) -> None:
    run = RunDirectory.open(workspace / "runs" / name)
    chain = load_chain(run)
    config = config_of_mapping(run.record.config)
    data = open_data(config, workspace)
    setup = build_training_setup(config, data, seed=run.record.seeds["root"], begins=False)
    task, learner = setup.learner.task, setup.learner
    assert isinstance(task, PortfolioTask)
    for part, module in learner.networks().items():
        prefix, stored = f"{part}.", chain.loaded.checkpoint.agent
        own = {k.removeprefix(prefix): v for k, v in stored.items() if k.startswith(prefix)}
        module.load_state_dict(own)
    over = task.backtest(data.split.test.start, data.split.test.stop - 1)
    state, seen = over.begin()
    for _ in range(over.episode_bars):
        market = task.table.view(-1, task.table.shape[-1])[seen.row]
        wanted = learner.act(seen)
        assert torch.equal(chain.master(market, seen.private), wanted)
        made = over.step(state, wanted)
        state, seen = made.state, made.observation

    assert chain.record.symbols == task.book.symbols
    assert chain.record.shared == task.book.shared_names
    assert chain.master.member_width == len(task.book.member_names)
    if chain.projection is not None:
        assert task.book.projection is not None
        assert torch.equal(chain.projection.directions, task.book.projection.directions)
    assert (chain.agents is None) == (name == "by_ppo")


def test_chain_is_read_without_what_learns(workspace: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from tradingbot.runs.master import load_chain; "
        f"load_chain(Path({str(workspace / 'runs' / 'master')!r})); "
        "print([m for m in sys.modules if m.startswith(('tradingbot.learning', 'tradingbot.envs', "
        "'tradingbot.training'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_agents_that_became_others_are_refused(workspace: Path, tmp_path: Path) -> None:
    begin_agents(tmp_path, seed=6)
    other = tmp_path / "runs" / "master"
    other.symlink_to(workspace / "runs" / "master")
    with pytest.raises(StorageError, match="must be those that the master was trained over"):
        load_chain(other)


def test_run_of_single_accounts_is_no_chain(workspace: Path) -> None:
    with pytest.raises(ConfigError, match="was no portfolio"):
        load_chain(workspace / "runs" / "agents")
