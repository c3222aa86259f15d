"""A portfolio over the agents of a run, trained again: its agents first, then the master over them.

Both learn from the same bars, with the same seed and share of their budgets. The agents of the run
itself take no part: in an earlier period they would have seen the days that are traded.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch

from tradingbot import __version__
from tradingbot.agents.network_policy import TRADES
from tradingbot.evaluation.analyses.retraining.assembled import AssembledTraining
from tradingbot.learning.trainer_tensors import copied_tensors
from tradingbot.plugins.reference import RUN_PREFIX
from tradingbot.runs import find_run
from tradingbot.runs.loading import Checkpoint
from tradingbot.runs.manifest import CheckpointManifest
from tradingbot.runs.policy import load_policy
from tradingbot.runs.tensors import final_hash
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import config_of_mapping
from tradingbot.training.data import TrainingData, traded_by
from tradingbot.training.results import SelectedPolicy
from tradingbot.training.run_policy import describe_acting
from tradingbot.training.session import RUNS_FOLDER
from tradingbot.training.setup import build_training_setup
from tradingbot.training.sleeve_agents import sleeve_agents_of

DATA_KEYS = ("dataset", "market", "symbols", "splits", "scaling")
"""Sections of a configuration that say what is learned from, besides `features` and
`task.probabilities`."""


def agents_config(config: TrainConfig, workspace: Path) -> TrainConfig | None:
    """Return how the agents of a portfolio's sleeves are trained on its own data and device.

    Args:
        config: Of any run.
        workspace: Where the run of the agents is.

    Returns:
        None where no portfolio over a run's agents is trained.

    Raises:
        ConfigError: If there is no such run.
    """
    sleeves = config.environment.portfolio.sleeves
    if config.environment.kind != "portfolio" or not sleeves.startswith(RUN_PREFIX):
        return None
    run = find_run(workspace / RUNS_FOLDER, sleeves.removeprefix(RUN_PREFIX))
    own, master = dict(run.record.config), config.as_mapping()
    for key in (*DATA_KEYS, "features", "device"):
        own.pop(key, None)
        own |= {key: master[key]} if key in master else {}
    own["task"] = {**own["task"], "probabilities": config.task.probabilities}
    return config_of_mapping(own)


def bars_of_agents(config: TrainConfig, data: TrainingData) -> TrainingData:
    """Return what the agents of a portfolio's sleeves learn from: its bars, without other agents.

    Args:
        config: Of the agents.
        data: Of the portfolio.
    """
    identity = data.identity.model_copy(update={"agents": data.world.symbols})
    factor = config.validation.factor
    return replace(data, identity=identity, sleeve_agents=None, factor_name=factor)


def over_trained(
    config: TrainConfig, agents: AssembledTraining, kept: SelectedPolicy, seed: int
) -> AssembledTraining:
    """Assemble the training of a master over agents that were trained just now.

    Args:
        config: Of the master.
        agents: After their training.
        kept: Of their policy.
        seed: Root of every random stream.
    """
    bars = agents.data
    loaded = load_policy(_checkpoint(agents, kept))
    sleeves = sleeve_agents_of(loaded, agents.config.task.rules, bars.world)
    data = replace(traded_by(sleeves, bars), factor_name=config.validation.factor)
    return AssembledTraining(config, data, build_training_setup(config, data, seed=seed))


def _checkpoint(agents: AssembledTraining, kept: SelectedPolicy) -> Checkpoint:
    """Return what `tradingbot train` would store of agents as their selected checkpoint."""
    config, identity = agents.config, agents.data.identity
    tensors = {
        name: tensor.cpu() for name, tensor in copied_tensors(agents.setup.acting_networks).items()
    }
    tensors[TRADES] = torch.tensor(kept.trades)
    manifest = CheckpointManifest(
        run_id="trained again",
        kind="selected",
        labels=("selected",),
        update=0,
        steps=config.budget.steps_per_agent,
        learner=config.learner.name,
        config_sha256=config.config_hash,
        data_sha256=identity.data_sha256,
        code_version=__version__,
        code_sha256="",
        feature_ids=identity.feature_ids,
        agents=identity.agents,
        normaliser_sha256=identity.normaliser_sha256,
        weights_sha256=final_hash(tensors),
        files={},
        metrics={},
        journals={},
        parent=None,
        acting=describe_acting(config, agents.data),
    )
    return Checkpoint(Path(manifest.name), manifest, tensors, agents.data.normaliser, {})
