"""A discrete run becomes a continuous one: weights kept, proof written, the old run untouched."""

from __future__ import annotations

import copy
import json
import math
import shutil
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import torch
from torch import Tensor

from tradingbot.agents import migration
from tradingbot.data.atomic import atomic_directory, write_text
from tradingbot.data.json_files import as_json
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import ConfigError
from tradingbot.domain.plain_values import as_plain_values
from tradingbot.learning.catalogue import learner_spec
from tradingbot.learning.guards import FlightRecorder
from tradingbot.learning.learner_state import tensors_below
from tradingbot.learning.trainer import Trainer
from tradingbot.learning.trainer_hooks import Hooks, Snapshot
from tradingbot.networks.heads import StackedHead
from tradingbot.networks.threads import torch_threads
from tradingbot.runs import Checkpoint, RunDirectory, find_run, require_fit
from tradingbot.runs.acting import FROZEN_ENCODER
from tradingbot.runs.loading import hold_checkpoint, require_checkpoint, verify_checkpoint
from tradingbot.training.checkpoint_writer import CheckpointWriter
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import config_of_mapping, override_config
from tradingbot.training.data import TrainingData, open_data
from tradingbot.training.migration_cost import (
    MeanFactor,
    MigrationCost,
    Returns,
    choose_factor,
    measure_cost,
)
from tradingbot.training.own_dataset_names import require_own_dataset
from tradingbot.training.preparation import prepare_training_setup
from tradingbot.training.results import backtest_agents
from tradingbot.training.run_plan import plan_run
from tradingbot.training.run_policy import actor_layout, describe_acting
from tradingbot.training.setup import TrainingSetup, stored_actor

MIGRATION_FILE = "migration.json"
BACKUP_FOLDER = "backup"
PROBE_ENVS = 16
"""Environments of each agent that are played for states."""
PROBE_STATES = 65_536
"""Of all agents together, half to fit on, half to prove on; of one agent 512 to 2,048."""


@dataclass(frozen=True)
class Migrated:
    """Result of a migration."""

    source: str
    checkpoint: str
    """Of the source."""
    run: RunDirectory
    proof: migration.MigrationProof
    factor: MeanFactor
    cost: MigrationCost


def migrate_run(
    reference: str,
    workspace: Path,
    *,
    at: datetime,
    name: str | None = None,
    learner: str | None = None,
) -> Migrated:
    """Make a continuous run of a discrete one, to go on with by `train --resume`.

    The old run is only read. The new one holds a copy of the checkpoint it was made of.

    Args:
        reference: Id of the discrete run.
        workspace: Where runs and data are.
        at: Now, UTC.
        name: Id of the new run; by default the old one's with `-continuous`.
        learner: That goes on with it; by default the old run's own. Another one takes over encoder
            and actor; its critics are new.

    Raises:
        ConfigError: If the run is not discrete, or the name is taken.
        DataError: If the proof fails; nothing is written then.
        StorageError: If no checkpoint is whole, or the disk refuses.
    """
    source = find_run(workspace / "runs", reference)
    config = config_of_mapping(source.record.config, source.record.tracking)
    changed = _continuous(source, config, learner)
    rule = "run must have a whole checkpoint to be migrated"
    checkpoint = require_checkpoint(source, "best", None, rule=rule, remedy="Train it first")
    with torch_threads(config.threads):
        data = open_data(require_own_dataset(config, source, workspace), workspace)
        require_fit(
            checkpoint.manifest,
            feature_ids=data.identity.feature_ids,
            agents=data.identity.agents,
            normaliser_sha256=data.identity.normaliser_sha256,
        )
        seed = source.record.seeds["root"]
        many = override_config(config, {"budget.n_envs": PROBE_ENVS})
        before = _wire(many, data, checkpoint.agent, seed)
        head, proof = _migrate_actor(config, before)
        migration.require_proof(proof)
        plan = replace(plan_run(changed, data), seed=seed, parent=source.id)
        continuous = config_of_mapping(plan.config)
        merged = _merge(checkpoint.agent, head, actor_layout(continuous).prefix)
        after = _wire(continuous, data, merged, seed)
        factor = _scale(before, after, stored_actor(after.learner, actor_layout(continuous)), data)
        parts = (_earned(setup, data, data.split.validation) for setup in (before, after))
        cost = measure_cost("validation", *parts)
        run = RunDirectory.create(
            workspace / "runs", plan, created_at=at, name=name or f"{source.id}-continuous"
        )
        with run.hold():
            _back_up(checkpoint.folder, run)
            _keep(run, continuous, data, after)
            _write_record(run, source, checkpoint, proof, factor, cost)
            reason = f"made of {source.id}, not trained yet"
            run.write_status("interrupted", at=at, update=0, steps=0, reason=reason)
    return Migrated(source.id, checkpoint.manifest.name, run, proof, factor, cost)


def _continuous(run: RunDirectory, config: TrainConfig, learner: str | None) -> TrainConfig:
    """Return the configuration of the new run.

    Raises:
        ConfigError: If the run is not discrete, or the learner cannot go on with it.
    """
    space = config.task.rules.action.space
    if space != "discrete":
        rule = "run must have discrete actions to be migrated"
        remedy = "Its agents act with numbers already"
        raise ConfigError(rule, was=space, where=run.id, remedy=remedy)
    options: dict[str, object] = {"task.rules.action.space": "continuous"}
    if learner is not None and learner != config.learner.name:
        actor = as_plain_values(config.learner.settings.actor)
        options |= {"learner.name": learner, f"learner.{learner}.actor": actor}
    spec = learner_spec(learner or config.learner.name)
    changed = override_config(config, options) if "box" in spec.action_kinds else None
    squash = None if changed is None else actor_layout(changed).squash
    if changed is None or squash is None or squash.kind != "tanh":
        rule = "learner must draw numbers from a squashed Gaussian to go on with a migrated run"
        remedy = "Migrate with --learner ppo, or train anew with task.rules.action.space=continuous"
        raise ConfigError(rule, was=spec.name, where=run.id, remedy=remedy)
    return changed


def _migrate_actor(
    config: TrainConfig, setup: TrainingSetup
) -> tuple[StackedHead, migration.MigrationProof]:
    """Return the new head and its proof."""
    actor = stored_actor(setup.learner, actor_layout(config))
    rules = config.task.rules.action
    seen, held_out = _probe(setup)
    made = migration.continuous_head(actor, seen, migration.signed_sizes(rules).to(setup.device))
    return made, migration.prove_migration(actor, made, held_out, rules)


def _scale(
    before: TrainingSetup, after: TrainingSetup, actor: StackedHead, data: TrainingData
) -> MeanFactor:
    """Multiply the new actor's mean in place, by what keeps the result on training bars."""
    bars, fitted = data.split.train, copy.deepcopy(actor)

    def play(factor: float) -> Returns:
        actor.load_state_dict(migration.scale_mean(fitted, factor).state_dict())
        return _earned(after, data, bars)

    found = choose_factor(_earned(before, data, bars), play)
    actor.load_state_dict(migration.scale_mean(fitted, found.factor).state_dict())
    return found


def _earned(setup: TrainingSetup, data: TrainingData, bars: IndexRange) -> Returns:
    """Return what the deterministic policy earns at some bars, (S, N)."""
    return backtest_agents(setup, data, bars, setup.learner.act).returns


def _wire(
    config: TrainConfig, data: TrainingData, agent: dict[str, Tensor], seed: int
) -> TrainingSetup:
    """Build a learner with the weights of a checkpoint."""
    encoder = tensors_below(agent, FROZEN_ENCODER)
    setup = prepare_training_setup(config, data, seed=seed, encoder_weights=encoder)
    for name, network in setup.learner.networks().items():
        network.load_state_dict({key: agent[f"{name}.{key}"] for key in network.state_dict()})
    setup.view.refresh()  # an encoder that learns came with them
    return setup


@torch.no_grad()
def _probe(setup: TrainingSetup) -> tuple[migration.MigrationProbe, migration.MigrationProbe]:
    """Play the discrete policy in the training part; return every other state each."""
    learner, task = setup.learner, setup.learner.task
    state, seen = task.begin()
    inputs, allowed = [], []
    states = min(max(PROBE_STATES // len(task.agent_names), 512), 2048)
    for _ in range(math.ceil(states / task.n_envs)):
        inputs.append(torch.cat([setup.view.look(seen.row), seen.private], dim=-1))
        allowed.append(seen.allowed)
        step = task.step(state, learner.sample(seen))
        state, seen = step.state, step.observation
    whole = migration.MigrationProbe(torch.cat(inputs, dim=1), torch.cat(allowed, dim=1))
    return (
        migration.MigrationProbe(whole.inputs[:, ::2], whole.allowed[:, ::2]),
        migration.MigrationProbe(whole.inputs[:, 1::2], whole.allowed[:, 1::2]),
    )


def _merge(agent: dict[str, Tensor], head: StackedHead, prefix: str) -> dict[str, Tensor]:
    """Put a head in the place of the actor, whose tensors' names begin with the prefix."""
    selected = {name: tensor for name, tensor in agent.items() if not name.startswith(prefix)}
    return selected | {prefix + name: tensor for name, tensor in head.state_dict().items()}


def _back_up(checkpoint: Path, run: RunDirectory) -> None:
    target = run.path / BACKUP_FOLDER / checkpoint.name
    with hold_checkpoint(checkpoint), atomic_directory(target) as temporary:
        for file in sorted(checkpoint.iterdir()):
            shutil.copyfile(file, temporary / file.name)
    verify_checkpoint(target)


def _keep(run: RunDirectory, config: TrainConfig, data: TrainingData, setup: TrainingSetup) -> None:
    """Write the checkpoint that training begins with: new weights, nothing else learned yet."""
    learner, writer = setup.learner, CheckpointWriter(run, None)
    try:
        acting = describe_acting(config, data)
        writer.save_networks_of(setup.acting_networks, data.normaliser, acting)
        recorder = FlightRecorder(learner.task, config.guards, write=writer.record)
        hooks = Hooks(dict, writer.save, dict, lambda event: None)
        trainer = Trainer(learner, config.plan, hooks, recorder)
        writer.save(Snapshot(0, 0, 0, trainer.state(), ("start", "last", "healthy"), math.nan))
    finally:
        writer.close()


def _write_record(
    run: RunDirectory,
    source: RunDirectory,
    checkpoint: Checkpoint,
    proof: migration.MigrationProof,
    factor: MeanFactor,
    cost: MigrationCost,
) -> None:
    record = {
        "source": source.id,
        "checkpoint": checkpoint.manifest.name,
        "source_weights_sha256": checkpoint.manifest.weights_sha256,
        "backup": f"{BACKUP_FOLDER}/{checkpoint.folder.name}",
        "from": "discrete",
        "to": "continuous",
        "formula": "see tradingbot.agents.migration",
        "required_rank_correlation": migration.REQUIRED_RANK_CORRELATION,
        "proof": proof,
        "factor": factor,
        "cost": cost,
    }
    write_text(run.path / MIGRATION_FILE, json.dumps(as_json(record), indent=1) + "\n")
