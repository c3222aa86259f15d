"""How a training run says what its checkpoints act by, and its policy on its own data."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor

from tradingbot.agents.options.rules import OPTION_NAMES
from tradingbot.agents.policy import Policy, PolicyInputs
from tradingbot.data.splits import IndexRange
from tradingbot.envs.population import PRIVATE_NAMES, PopulationTask
from tradingbot.envs.population.layout import action_spec, market_table
from tradingbot.envs.world import FEATURE_BOUND, World
from tradingbot.features.panel import formula_hashes
from tradingbot.features.scaler_files import ScalerRecord
from tradingbot.learning.shrinkage import Act
from tradingbot.learning.task import ActionSpec, Observation, Task
from tradingbot.market.goals import GOAL_INPUTS
from tradingbot.market.portfolio.inputs import portfolio_inputs
from tradingbot.networks.actor_layout import ActorLayout
from tradingbot.networks.encoders.catalogue import encoder_preset
from tradingbot.runs import RunDirectory, acting, require_fit
from tradingbot.runs.policy import load_policy
from tradingbot.runs.record import DataIdentity
from tradingbot.training.config import TrainConfig
from tradingbot.training.data import TrainingData

OPTION_INPUTS = (*(f"option_{name}" for name in OPTION_NAMES), "option_elapsed", "option_proposal")
"""What the low level sees of an option, in order."""


class ActingData(Protocol):
    """What a policy is opened on; `TrainingData` is such."""

    @property
    def world(self) -> World:
        """What is traded."""

    @property
    def identity(self) -> DataIdentity:
        """Columns, agents and scale, which must be the run's."""


def open_policy(
    run: RunDirectory,
    data: ActingData,
    bars: IndexRange | None = None,
    *,
    workspace: Path | None = None,
) -> Policy:
    """Return the policy of a run: its selected checkpoint; else its best; else its final one.

    Args:
        run: Of any learner and action space; the policy acts in the space of its rules.
        data: What is traded; `open_data` of the run's configuration, or other bars with the same
            columns, scale and agents.
        bars: Bars of the data's world that will be traded: cut the world to the same ones
            (`envs.world.between`). Encoders remember the bars before. All by default.
        workspace: Embeddings are kept there, so that they are computed once; nowhere by default.

    Raises:
        ConfigError: If features, scale or agents are not the run's.
        StorageError: If there is no such checkpoint, or it is damaged.
    """
    loaded, identity = load_policy(run), data.identity
    require_fit(
        loaded.checkpoint.manifest,
        feature_ids=identity.feature_ids,
        agents=identity.agents,
        normaliser_sha256=identity.normaliser_sha256,
        # Generated markets have scalers of their own, other seeds others: a matter of the data.
        scaler_sha256=_hashes(data.world) if identity.normaliser_sha256 else None,
    )
    return loaded.on_table(market_table(data.world), bars=bars, workspace=workspace)


def _hashes(world: World) -> list[str] | None:
    """Return the hash of each scaler of a world; None where the world does not say."""
    return [scaler.sha256 for scaler in world.scalers] or None


def actor_layout(config: TrainConfig, world: World | None = None) -> ActorLayout:
    """Say how a run's actor is stored, and what its outputs mean; a portfolio's needs the world."""
    section = config.learner
    if config.environment.kind == "portfolio":
        assert world is not None
        weights = ActionSpec.simplex(world.n_symbols + 1)
        names = portfolio_inputs(world.symbols)
        return section.spec.actor_layout(section.settings, weights, names)
    space = action_spec(config.task.rules)
    options = OPTION_INPUTS if section.spec.takes_options else ()
    return section.spec.actor_layout(section.settings, space, (*_private_names(config), *options))


def _private_names(config: TrainConfig) -> tuple[str, ...]:
    """Return what agents see of themselves, by name: of the account, and of their goal."""
    goal = GOAL_INPUTS if config.environment.kind == "goal" else ()
    return (*(config.task.private or PRIVATE_NAMES), *goal)


def describe_acting(config: TrainConfig, data: TrainingData) -> acting.ActingRecord:
    """Say what the checkpoints of a run act by: part of their manifests."""
    layout, rules = actor_layout(config, data.world), config.task.rules
    ids = data.identity.feature_ids
    return acting.ActingRecord(
        actor=acting.ActorRecord(
            prefix=layout.prefix,
            head=asdict(layout.head),
            n_outputs=layout.n_outputs,
            squash=None if layout.squash is None else asdict(layout.squash),
            private=layout.private,
            n_components=layout.n_components,
        ),
        action=acting.ActionRecord(rules=asdict(rules.action), limits=asdict(rules.limits)),
        encoder=_describe_encoder(config, len(ids)),
        features=tuple(
            acting.FeatureRecord(id=each, sha256=digest)
            for each, digest in zip(ids, formula_hashes(ids), strict=True)
        ),
        scalers=tuple(ScalerRecord.of(scaler) for scaler in data.world.scalers),
        feature_bound=FEATURE_BOUND,
        probability_model=config.task.probabilities,
        threads=config.threads,
        goal=_describe_goal(config),
        options=_describe_options(config),
        portfolio=_describe_portfolio(config, data),
    )


def _describe_portfolio(config: TrainConfig, data: TrainingData) -> acting.PortfolioRecord | None:
    if config.environment.kind != "portfolio":
        return None
    agents = data.sleeve_agents
    return acting.PortfolioRecord(
        symbols=data.world.symbols,
        rule=config.environment.portfolio.sleeves if agents is None else "",
        run="" if agents is None else agents.run,
        run_sha256="" if agents is None else agents.sha256,
        shared=data.world.regime_names,
        account=asdict(config.task.rules.account),
    )


def _describe_options(config: TrainConfig) -> acting.OptionsRecord | None:
    if not config.learner.spec.takes_options:
        return None
    settings = config.learner.settings
    return acting.OptionsRecord(
        prefix="controller.",
        head=asdict(settings.controller),
        private=_private_names(config),
        rules=asdict(config.options),
        reach=settings.reach,
    )


def _describe_goal(config: TrainConfig) -> acting.GoalRecord | None:
    if config.environment.kind != "goal":
        return None
    return acting.GoalRecord(**asdict(config.environment.goal.asked))


def _describe_encoder(config: TrainConfig, n_features: int) -> acting.EncoderRecord | None:
    section = config.encoder
    settings = encoder_preset(section.preset)
    if settings.kind == "row":
        return None
    return acting.EncoderRecord(
        preset=section.preset,
        config=asdict(settings),
        n_features=n_features,
        learned=section.trainable,
        prefix=acting.LEARNING_ENCODER if section.trainable else acting.FROZEN_ENCODER,
    )


class LearnerPolicy:
    """N agents that act by a learner's function; account i is agent i's."""

    def __init__(self, task: Task, act: Act) -> None:
        """Take what agents were shown in training, and what they act by."""
        assert isinstance(task, PopulationTask)
        self._act, self._task, self._device = act, task, task.table.device
        self._n_codes = len(task.code_names)

    @torch.no_grad()
    def __call__(self, seen: PolicyInputs) -> Tensor:
        """Return actions (N,) in the space of the rules."""
        private = self._task.show_private(seen.private.to(self._device))
        allowed = (
            torch.ones(len(seen.row), 1, self._n_codes, dtype=torch.bool)
            if seen.allowed is None
            else seen.allowed.T[:, None]
        )
        observation = Observation(
            seen.row[:, None].to(self._device), private, allowed.to(self._device)
        )
        return self._act(observation)[:, 0].to(seen.row.device)
