"""From a configuration and data to a learner and all it needs; nothing is learned here.

Whatever can be refused is refused here, before a run has a folder. What takes long (pre-training,
embedding, cloning) is in `tradingbot.training.preparation`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import nn

from tradingbot.domain.errors import ConfigError
from tradingbot.domain.events.event import Event
from tradingbot.envs.auxiliary import auxiliary_targets
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.population import PopulationTask
from tradingbot.envs.portfolio.task import PortfolioTask
from tradingbot.evaluation.backtest.baselines import baseline
from tradingbot.evaluation.demonstrations import demonstrator, expert_actions
from tradingbot.learning.cloning.learner import Cloner
from tradingbot.learning.device import within_memory
from tradingbot.learning.generators import make_generator
from tradingbot.learning.learner import Learner
from tradingbot.learning.pretraining.auxiliary_loss import AuxiliaryLoss
from tradingbot.learning.pretraining.learner import Pretrainer
from tradingbot.learning.pretraining.targets import Targets
from tradingbot.market.costs import cost_profile
from tradingbot.networks.actor_layout import ActorLayout
from tradingbot.networks.encoders.catalogue import build_encoder, encoder_preset
from tradingbot.networks.encoders.encoder import Encoder
from tradingbot.networks.heads import StackedHead
from tradingbot.networks.parameters import ParameterReport, report_parameters
from tradingbot.networks.view import EncoderView, TableView, View
from tradingbot.rewards import RewardConfig
from tradingbot.runs.acting import FROZEN_ENCODER, PROJECTION
from tradingbot.training.config import TrainConfig
from tradingbot.training.data import TrainingData, require_parts
from tradingbot.training.encoder_transfer import Transfer, take_over
from tradingbot.training.environment_task import TrainingTask, build_task
from tradingbot.training.joint_sleeves import JointSleeves, open_joint
from tradingbot.training.reward_tools import build_reward_transform

EXPERT = "expert"
"""The rule that pre-training asks about and that cloning imitates."""
_VIEW = "view"


@dataclass(frozen=True, eq=False)
class TrainingSetup:
    """A learner with everything around it; `preparing.prepare` makes it ready to train."""

    learner: Learner
    env: EnvConfig
    device: torch.device
    view: View
    """What agents see the market through."""
    encoder: Encoder | None
    """None where the table is seen as it is."""
    pretrainer: Pretrainer | None = None
    cloner: Cloner | None = None
    joint: JointSleeves | None = None
    """What teaches the agents of a portfolio's sleeves; None where they are frozen."""

    @property
    def frozen(self) -> Encoder | None:
        """An encoder that does not learn with the agents, and so is no network of the learner."""
        return None if isinstance(self.view, EncoderView) else self.encoder

    @property
    def acting_networks(self) -> dict[str, nn.Module]:
        """What checkpoints hold to act by: what learns, and what it sees through unlearned."""
        networks = dict(self.learner.networks())
        if self.frozen is not None:
            networks[FROZEN_ENCODER.removesuffix(".")] = self.frozen
        task = self.learner.task
        if isinstance(task, PortfolioTask) and task.book.projection is not None:
            networks[PROJECTION.removesuffix(".")] = task.book.projection
        return networks

    def teach_sleeves(self, emit: Callable[[Event], None]) -> Callable[[int], None]:
        """Return what lets agents of sleeves learn after an update of the master, and tells so."""

        def teach(updates: int) -> None:
            if self.joint and (compared := self.joint.teach(self.learner.act, updates)):
                emit(compared)

        return teach

    @property
    def parameters(self) -> ParameterReport:
        """Count what agents weigh, in the networks that checkpoints hold."""
        heads = {name: part for name, part in self.learner.networks().items() if name != _VIEW}
        n_agents = len(self.learner.task.agent_names)
        return report_parameters(self.encoder or nn.Identity(), heads, n_agents)


def choose_device(name: str) -> torch.device:
    """Return the device a configuration asks for.

    Raises:
        ConfigError: If CUDA is asked for and there is none.
    """
    has_cuda = torch.cuda.is_available()
    if name == "cuda" and not has_cuda:
        raise ConfigError(
            "device must be there",
            was="cuda, of which torch finds none",
            remedy="Use --device cpu, or install a torch build with CUDA; see: tradingbot doctor",
        )
    return torch.device("cuda" if name == "cuda" or (name == "auto" and has_cuda) else "cpu")


def env_config(config: TrainConfig) -> EnvConfig:
    """Return rules, costs and reward of a run.

    Raises:
        ConfigError: If there is no such cost profile or reward.
    """
    task = config.task
    reward: str | RewardConfig = task.reward
    if task.reward_weights or task.reward_options:
        reward = RewardConfig(task.reward, task.reward_weights, task.reward_options)
    costs = cost_profile(task.costs, task.cost_rates)
    return EnvConfig(rules=task.rules, costs=costs, reward=reward)


def build_training_setup(
    config: TrainConfig,
    data: TrainingData,
    *,
    seed: int,
    transfer: Transfer | None = None,
    begins: bool = True,
    interrupted: Callable[[], bool] = lambda: False,
) -> TrainingSetup:
    """Build everything; what is seen through a frozen encoder is blank until it is prepared.

    Args:
        config: Of the run.
        data: What it learns from.
        seed: Root of every random stream.
        transfer: Encoder of another run, to begin with.
        begins: Whether the encoder is to be pre-trained and the actor to clone, where the
            configuration says so; not where weights come from a checkpoint.
        interrupted: Asked after every market that is generated for a curriculum.

    Raises:
        InterruptionError: If the answer was yes.
        ConfigError: If the device is absent, or a name is unknown.
        DataError: If no episode fits into the training part, or a part has too few bars.
        UserError: If the device's memory does not suffice.
    """
    env, device = env_config(config), choose_device(config.device)
    require_parts(data, decides=config.validation.shrink)
    with within_memory(device):
        task = build_task(config, data, env, seed, device, interrupted)
        encoder = _encoder(config, task, seed)
        if encoder is not None and transfer is not None:
            take_over(transfer, encoder)
        joint = open_joint(config, data, env, task)
        view = _view(config, encoder, task) if joint is None else joint.view
        pretrained = encoder if begins and transfer is None and config.encoder.pretrain else None
        asks = pretrained is not None or config.auxiliary.weight > 0.0
        targets = _targets(data, task, seed) if asks else {}
        learner = _learner(config, task, view, targets, seed)
        setup = TrainingSetup(learner, env, device, view, encoder, joint=joint)
        if not begins:
            return setup
        pretrainer = None
        if pretrained is not None:
            assert isinstance(task, PopulationTask)  # a portfolio has no encoder
            table = task.own_bars.table
            pretrainer = Pretrainer(pretrained, table, targets, config.pretraining, seed=seed)
        return replace(setup, pretrainer=pretrainer, cloner=_cloner(config, setup, seed))


def _encoder(config: TrainConfig, task: TrainingTask, seed: int) -> Encoder | None:
    settings = encoder_preset(config.encoder.preset)
    if settings.kind == "row":
        return None
    weights = make_generator(seed, "encoder", "weights")
    return build_encoder(settings, task.table.shape[-1], weights).to(task.table.device)


def _view(config: TrainConfig, encoder: Encoder | None, task: TrainingTask) -> View:
    if encoder is None:
        return TableView(task.table)
    if config.encoder.trainable:
        return EncoderView(encoder, task.table)
    n_series, n_bars, _ = task.table.shape
    return TableView(task.table.new_zeros(n_series, n_bars, encoder.width))


def _targets(data: TrainingData, task: TrainingTask, seed: int) -> Targets:
    """Return the answers of auxiliary tasks, of the training part alone."""
    world = data.world
    expert = expert_actions(world, baseline(EXPERT, world, seed=seed))
    device = task.table.device
    return auxiliary_targets(world, train=data.split.train, expert=expert, device=device)


def _learner(
    config: TrainConfig, task: TrainingTask, view: View, targets: Targets, seed: int
) -> Learner:
    beside: dict[str, object] = {}
    if config.auxiliary.weight and isinstance(view, EncoderView):
        assert isinstance(task, PopulationTask)
        # An ablation without the encoder is without its tasks; asked for, that is refused before.
        beside["auxiliary"] = AuxiliaryLoss(
            view.encoder, task.own_bars.table, targets, config.auxiliary, seed=seed
        )
    transform = build_reward_transform(config, task, seed)
    if transform is not None:
        beside["reward_transform"] = transform
    return config.learner.spec.build(task, view, config.learner.settings, seed=seed, **beside)


def _own_bars(setup: TrainingSetup) -> PopulationTask:
    """Return the task on the run's own bars alone: what is taught before comes from those."""
    task = setup.learner.task
    assert isinstance(task, PopulationTask)
    return task.own_bars


def _cloner(config: TrainConfig, setup: TrainingSetup, seed: int) -> Cloner | None:
    settings, learner = config.cloning, setup.learner
    if not settings.enabled:
        return None
    task, section = _own_bars(setup), config.learner
    layout = section.spec.actor_layout(section.settings, task.action, task.private_names)
    if layout.squash is not None and layout.squash.kind == "sigmoid":
        # What is imitated must be what will act.
        settings = replace(settings, squash_gain=layout.squash.gain)
    expert = demonstrator(task, baseline(EXPERT, task.world, seed=seed))
    return Cloner(task, setup.view, stored_actor(learner, layout), expert, settings, seed=seed)


def stored_actor(learner: Learner, layout: ActorLayout) -> StackedHead:
    """Return the head of a learner that its checkpoints call the actor."""
    network, _, path = layout.prefix.removesuffix(".").partition(".")
    actor = learner.networks()[network].get_submodule(path)
    assert isinstance(actor, StackedHead)
    return actor
