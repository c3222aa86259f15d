"""A discrete run becomes a continuous one: weights kept, proof written, the old run untouched."""

from __future__ import annotations

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
from tradingbot.domain.errors import ConfigError
from tradingbot.learning.guards import FlightRecorder
from tradingbot.learning.learner_state import tensors_below
from tradingbot.learning.trainer import Trainer
from tradingbot.learning.trainer_hooks import Hooks, Snapshot
from tradingbot.networks.heads import StackedHead
from tradingbot.networks.threads import torch_threads
from tradingbot.runs import Checkpoint, RunDirectory, find_run, require_fit
from tradingbot.runs.acting import FROZEN_ENCODER
from tradingbot.runs.loading import hold_checkpoint, require_checkpoint, verify_checkpoint
from tradingbot.training.agent_scores import choosing_bars, scores_on
from tradingbot.training.checkpoint_writer import CheckpointWriter
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import config_of_mapping, override_config
from tradingbot.training.data import TrainingData, open_data
from tradingbot.training.preparation import prepare_training_setup
from tradingbot.training.run_plan import plan_run
from tradingbot.training.run_policy import actor_layout, describe_acting
from tradingbot.training.setup import TrainingSetup, stored_actor

MIGRATION_FILE = "migration.json"
BACKUP_FOLDER = "backup"
PROBE_ENVS = 16
"""Environments of each agent that are played for states."""
PROBE_STATES = 65_536
"""Of all agents together, half to fit on, half to prove on; of one agent 512 to 2,048."""
_CONTINUOUS = {"task.rules.action.space": "continuous"}


@dataclass(frozen=True)
class MigrationCost:
    """What deterministic policies earn before and after, on bars that nothing was learned from."""

    part: str
    """Which bars."""
    bars: int
    discrete_bp: float
    """Mean net return per bar over agents, in basis points, of the old policy."""
    continuous_bp: float
    """The same of the new one, before it has learned anything."""
    degradation_frac: float | None
    """Share of the old return that is lost, below 0 where the new one earns more; None where the
    old one earned nothing."""
    goal_frac: float = 0.1
    """What the plan asks for at most; training on from here is how it is reached."""


@dataclass(frozen=True)
class Migrated:
    """Result of a migration."""

    source: str
    checkpoint: str
    """Of the source."""
    run: RunDirectory
    proof: migration.MigrationProof
    cost: MigrationCost


def migrate_run(
    reference: str, workspace: Path, *, at: datetime, name: str | None = None
) -> Migrated:
    """Make a continuous run of a discrete one, to go on with by `train --resume`.

    The old run is only read. The new one holds a copy of the checkpoint it was made of.

    Args:
        reference: Id of the discrete run.
        workspace: Where runs and data are.
        at: Now, UTC.
        name: Id of the new run; by default the old one's with `-continuous`.

    Raises:
        ConfigError: If the run is not discrete, or the name is taken.
        DataError: If the proof fails; nothing is written then.
        StorageError: If no checkpoint is whole, or the disk refuses.
    """
    source = find_run(workspace / "runs", reference)
    config = config_of_mapping(source.record.config, source.record.tracking)
    _require_discrete(source, config)
    rule = "run must have a whole checkpoint to be migrated"
    checkpoint = require_checkpoint(source, "best", None, rule=rule, remedy="Train it first")
    with torch_threads(config.threads):
        data = open_data(config, workspace)
        require_fit(
            checkpoint.manifest,
            feature_ids=data.identity.feature_ids,
            agents=data.identity.agents,
            normaliser_sha256=data.identity.normaliser_sha256,
        )
        seed = source.record.seeds["root"]
        head, proof, before_bp = _migrate_actor(config, data, checkpoint, seed)
        migration.require_proof(proof)
        plan = plan_run(override_config(config, _CONTINUOUS), data)
        plan = replace(plan, seed=seed, parent=source.id)
        run = RunDirectory.create(
            workspace / "runs", plan, created_at=at, name=name or f"{source.id}-continuous"
        )
        with run.hold():
            _back_up(checkpoint.folder, run)
            continuous = config_of_mapping(plan.config)
            merged = _merge(checkpoint.agent, head, actor_layout(continuous).prefix)
            cost = _compare(data, before_bp, _keep(run, continuous, data, merged))
            _write_record(run, source, checkpoint, proof, cost)
            reason = f"made of {source.id}, not trained yet"
            run.write_status("interrupted", at=at, update=0, steps=0, reason=reason)
    return Migrated(source.id, checkpoint.manifest.name, run, proof, cost)


def _require_discrete(run: RunDirectory, config: TrainConfig) -> None:
    space = config.task.rules.action.space
    if space != "discrete":
        rule = "run must have discrete actions to be migrated"
        remedy = "Its agents act with numbers already"
        raise ConfigError(rule, was=space, where=run.id, remedy=remedy)
    spec = config.learner.spec
    squash = None
    if "box" in spec.action_kinds:
        squash = actor_layout(override_config(config, _CONTINUOUS)).squash
    if squash is None or squash.kind != "tanh":
        rule = "learner must draw numbers from a squashed Gaussian to go on with a migrated run"
        remedy = "Train anew with task.rules.action.space=continuous"
        raise ConfigError(rule, was=spec.name, where=run.id, remedy=remedy)


def _migrate_actor(
    config: TrainConfig, data: TrainingData, checkpoint: Checkpoint, seed: int
) -> tuple[StackedHead, migration.MigrationProof, float]:
    """Return the new head, its proof, and what the old policy earns, in bp per bar."""
    many = override_config(config, {"budget.n_envs": PROBE_ENVS})
    setup = _wire(many, data, checkpoint.agent, seed)
    actor = stored_actor(setup.learner, actor_layout(config))
    rules = config.task.rules.action
    seen, held_out = _probe(setup)
    made = migration.continuous_head(actor, seen, migration.signed_sizes(rules).to(setup.device))
    return made, migration.prove_migration(actor, made, held_out, rules), _earned_bp(setup, data)


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


def _keep(
    run: RunDirectory, config: TrainConfig, data: TrainingData, agent: dict[str, Tensor]
) -> float:
    """Write the checkpoint that training begins with: new weights, nothing else learned yet.

    Returns:
        What the new policy earns, in bp per bar.
    """
    setup = _wire(config, data, agent, run.record.seeds["root"])
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
    return _earned_bp(setup, data)


def _earned_bp(setup: TrainingSetup, data: TrainingData) -> float:
    """Return the mean net return per bar over agents on the first half of validation."""
    return float(scores_on(choosing_bars(data), setup, data)["return_bp"].mean())


def _compare(data: TrainingData, before_bp: float, after_bp: float) -> MigrationCost:
    lost = (before_bp - after_bp) / before_bp if before_bp > 0.0 else None
    bars = len(choosing_bars(data))
    return MigrationCost("first half of validation", bars, before_bp, after_bp, lost)


def _write_record(
    run: RunDirectory,
    source: RunDirectory,
    checkpoint: Checkpoint,
    proof: migration.MigrationProof,
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
        "cost": cost,
    }
    write_text(run.path / MIGRATION_FILE, json.dumps(as_json(record), indent=1) + "\n")
