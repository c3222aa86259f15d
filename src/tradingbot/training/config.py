"""The configuration of a training run: frozen models; presets in `configuration/presets/training`.

Sections that configure the library (learners, pre-training, guards, rules) are the library's own
dataclasses. Reading and merging of files is in `tradingbot.training.config_files`.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, InstanceOf, Strict, model_validator

from tradingbot.configuration.conflicts import KeyConflict
from tradingbot.configuration.pipeline import (
    ConfigSection,
    MarketConfig,
    Name,
    ScalingConfig,
    Seed,
    SplitsConfig,
)
from tradingbot.domain.errors import join_choices
from tradingbot.domain.feature_set import FeatureSet
from tradingbot.domain.redaction import split_credentials
from tradingbot.learning.catalogue import known_learners, learner_spec
from tradingbot.learning.cloning.config import CloningConfig
from tradingbot.learning.guards.config import GuardConfig
from tradingbot.learning.pretraining.config import AuxiliaryLossConfig, PretrainingConfig
from tradingbot.learning.train_plan import StoppingConfig, TrainPlan
from tradingbot.market.params import DEFAULT_RECENCY, SimulatorParams
from tradingbot.training import tool_sections as tools
from tradingbot.training.environment import EnvironmentSection
from tradingbot.training.environment_rules import environment_rules
from tradingbot.training.later_settings import LATER_SETTINGS
from tradingbot.training.learner_section import LearnerSection
from tradingbot.training.library_section import library_section

Names = Annotated[tuple[Name, ...], Strict(False)]
"""A list in YAML."""


class TaskSection(ConfigSection):
    """What agents trade by: rules, costs, reward, and what they see of themselves."""

    rules: Annotated[
        InstanceOf[SimulatorParams], *library_section(SimulatorParams, "task.rules")
    ] = SimulatorParams()
    """Capital, limits, action space and episodes; the fields of `market.params.SimulatorParams`."""
    costs: Name = "alpaca"
    """Cost profile: free, alpaca, retail or impact."""
    cost_rates: dict[Name, Annotated[float, Field(ge=0.0, le=10.0)]] = Field(default={})
    """Rates that replace those of the profile: commission_frac, slippage_frac, spread_frac,
    impact_coef, borrow_frac_per_bar; 1 bp is 0.0001."""
    reward: Name = "log_growth"
    """Reward preset (v31, prototype, sharpe, objectives, log_growth or differential_sharpe), or one
    term by name, such as a plugin's."""
    reward_weights: dict[Name, Annotated[float, Field(ge=-1000.0, le=1000.0)]] = Field(default={})
    """Weights by term that replace those of the preset; 0 leaves a term out."""
    reward_options: dict[Name, dict[Name, float | bool]] = Field(default={})
    """Options by term that replace the term's own."""
    private: Names = ()
    """Private numbers that agents see; all of them where none is named."""
    neutral_bars: bool = True
    """Take the moves of `validation.factor` out of the prices that agents learn from; what they
    see, validation and test stay as they are. One symbol alone has no market beside it."""
    probabilities: Name = "none"
    """Supervised model of the workspace whose probabilities of down, flat and up agents see; or
    three, `mlp+lstm+gru`: then they see what each says of a rise. `none`: thirds."""


class EncoderSection(ConfigSection):
    """What turns the history of a symbol into an embedding."""

    preset: Name = "row"
    """`row` (features as they are), skip (features and a few learned numbers), tiny, small, full,
    lstm or mlp."""
    trainable: bool = False
    """Let the encoder learn with the agents; else its embeddings are computed once."""
    pretrain: bool = True
    """Pre-train it by auxiliary tasks on the training part first; `row` has nothing to learn."""
    transfer_from: Name | None = None
    """Run whose encoder is taken instead of pre-training one; of the same preset and features; or
    `model:NAME`, a supervised mlp or lstm of the same size, whose columns are found by name. If
    it was trained on bars that are now validated or tested on, figures there are too good."""


@dataclass(frozen=True)
class CloningSection(CloningConfig):
    """Behaviour cloning before training: whether at all, and the library's settings."""

    enabled: bool = False
    """Let actors imitate the rule expert on the training part before they learn."""


class BudgetSection(ConfigSection):
    """How much is trained."""

    steps_per_agent: Annotated[int, Field(ge=1, le=10**10)] = 100_000
    """Environment steps of each agent, over all its environments."""
    n_envs: Annotated[int, Field(ge=1, le=65_536)] = 8
    """Environments of each agent."""
    recency: Annotated[float, Field(ge=0.0, le=1.0)] = DEFAULT_RECENCY
    """How much more often episodes begin late in the training part than early: how often rises
    evenly from 1 − this to 1 + this. 0: all bars alike. What was true once and is no longer is
    outvoted."""


class ValidationSection(ConfigSection):
    """When agents are evaluated on the validation part, and when they stop."""

    every_updates: Annotated[int, Field(ge=1, le=10**6)] = 10
    """Updates between evaluations."""
    save_every_updates: Annotated[int, Field(ge=1, le=10**6)] = 10
    """Updates between checkpoints."""
    patience: Annotated[int, Field(ge=0, le=10**6)] = 0
    """Evaluations without a better Sharpe ratio after which an agent stops; 0: never."""
    min_gain: Annotated[float, Field(ge=0.0, le=1e6)] = 0.0
    """Rise of the Sharpe ratio that counts as better."""
    first_updates: Annotated[int, Field(ge=0, le=10**6)] = 0
    """Updates before the first evaluation that counts for stopping."""
    shrink: bool = True
    """When training has ended, let what was earned on the second half of validation decide how
    much of the policy is kept: all, half or nothing of each agent's deviation, or no trading at
    all. The first half chose the weights."""
    factor: Name = "equal_weight"
    """The market that what agents earn is taken apart by, in that decision and wherever the run is
    evaluated: `equal_weight` of the other symbols, a symbol of the dataset (`SPY`), or `none`."""


class TrackingSection(ConfigSection):
    """Where figures go besides the run directory; part of no result."""

    mlflow: Name = "auto"
    """`auto` (a local store in the workspace where MLflow is installed), `off`, or the URL of a
    server; user and password stand in `MLFLOW_TRACKING_USERNAME` and `MLFLOW_TRACKING_PASSWORD`."""
    tensorboard: Literal["auto", "on", "off"] = "auto"
    """Event files in the run directory; `auto`: where TensorBoard is installed."""


class TrainConfig(ConfigSection):
    """Everything a training run needs to know.

    Example:
        >>> TrainConfig().learner.name
        'ppo'
    """

    dataset: Name | None = None
    """Dataset whose certified panel is learned from; without one, `market` is generated."""
    market: MarketConfig = MarketConfig(universe="prototype10")
    """Synthetic market, where there is no dataset."""
    symbols: Names = ()
    """Symbols that get an agent; all of the data where none is named."""
    splits: SplitsConfig = SplitsConfig()
    """How time is divided into training, validation and test."""
    features: FeatureSet = "default"
    """Features per bar: the 23 of `default`, or with nine of a symbol's own (`relative`)."""
    scaling: ScalingConfig = ScalingConfig()
    """How features of a dataset are scaled; fitted on the training part alone."""
    environment: EnvironmentSection = EnvironmentSection()
    """What agents are trained in."""
    task: TaskSection = TaskSection()
    """What agents trade by."""
    encoder: EncoderSection = EncoderSection()
    """Network through which agents see the market."""
    pretraining: Annotated[
        InstanceOf[PretrainingConfig], *library_section(PretrainingConfig, "pretraining")
    ] = PretrainingConfig()
    """Fields of `learning.pretraining.config.PretrainingConfig`."""
    auxiliary: Annotated[
        InstanceOf[AuxiliaryLossConfig], *library_section(AuxiliaryLossConfig, "auxiliary")
    ] = AuxiliaryLossConfig()
    """Fields of `learning.pretraining.config.AuxiliaryLossConfig`."""
    cloning: Annotated[InstanceOf[CloningSection], *library_section(CloningSection, "cloning")] = (
        CloningSection()
    )
    """`enabled`, and the fields of `learning.cloning.config.CloningConfig`."""
    learner: LearnerSection = LearnerSection()
    """What learns."""
    curiosity: tools.CuriositySection = tools.NO_CURIOSITY
    """Fields of `learning.curiosity.config.CuriosityConfig`."""
    objectives: tools.ObjectivesSection = tools.NO_OBJECTIVES
    """Fields of `learning.objectives.config.ObjectivesConfig`."""
    shaping: tools.ShapingSection = tools.NO_SHAPING
    """Fields of `learning.shaping.config.ShapingConfig`."""
    options: tools.OptionsSection = tools.PLANNED_OPTIONS
    """Fields of `agents.options.rules.OptionRules`: what a learner of options chooses from."""
    budget: BudgetSection = BudgetSection()
    """How much."""
    validation: ValidationSection = ValidationSection()
    """When it is evaluated on validation, and when it stops."""
    guards: Annotated[InstanceOf[GuardConfig], *library_section(GuardConfig, "guards")] = (
        GuardConfig()
    )
    """Fields of `learning.guards.config.GuardConfig`."""
    seed: Seed | None = None
    """Root of every random stream of the training; drawn and recorded where it is left out."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """`auto`: CUDA where there is a device."""
    threads: Annotated[int, Field(ge=0, le=1024)] = 1
    """Torch's threads on a CPU, 0 for its own choice. Sums depend on their number in the last bit:
    a run resumes bit-identically on the same machine with the same number."""
    compile: bool = False
    """Compile the simulator's step on a CPU too: some twenty seconds at the start."""
    tracking: TrackingSection = TrackingSection()
    """Trackers that receive figures."""
    plugins: dict[str, str] = Field(default={})
    """Plugins whose parts the run uses, by name: SHA-256 of their sources. Filled in when it
    begins; it is resumed and evaluated with the same ones only."""

    @model_validator(mode="after")
    def _check_learner(self) -> TrainConfig:
        kind = "discrete" if self.task.rules.action.space == "discrete" else "box"
        if kind not in self.learner.spec.action_kinds:
            able = [name for name in known_learners() if kind in learner_spec(name).action_kinds]
            words = "discrete" if kind == "discrete" else "numeric"
            raise KeyConflict(
                f"learner.name must be {join_choices(able)} for {words} actions, "
                f"was {self.learner.words}",
                *("learner.name", "task.rules.action.space"),
            )
        return self

    @model_validator(mode="after")
    def _check_encoder(self) -> TrainConfig:
        encoder, spec, settings = self.encoder, self.learner.spec, self.learner.settings
        if encoder.preset == "row" and encoder.transfer_from is not None:
            rule = "encoder.transfer_from must stand with an encoder, was preset row"
            raise KeyConflict(rule, "encoder.transfer_from", "encoder.preset")
        learns = encoder.trainable and encoder.preset != "row"
        if learns and not spec.trains_encoder:
            rule = f"encoder.trainable must be false where {spec.name} learns"
            raise KeyConflict(f"{rule}, was true", "encoder.trainable", "learner.name")
        if learns and spec.segment_bars:
            steps, length = spec.steps_of_update(settings), getattr(settings, spec.segment_bars)
            if steps % length:
                names = (spec.segment_bars, spec.steps_per_update)
                part, whole = (f"learner.{spec.name}.{name}" for name in names)
                rule = f"{part} must divide {whole} ({steps}) where the encoder learns"
                raise KeyConflict(f"{rule}, was {length}", part, whole, "encoder.trainable")
        return self

    @model_validator(mode="after")
    def _check_environment(self) -> TrainConfig:
        asked = environment_rules(
            self.environment,
            self.learner,
            clones=self.cloning.enabled,
            rules=self.task.rules,
            encoder=self.encoder.preset,
            features=self.features,
        )
        for holds, rule, keys in asked:
            if not holds:
                raise KeyConflict(rule, *keys, "environment.kind")
        return self

    @property
    def plan(self) -> TrainPlan:
        """What the trainer is told."""
        validation = self.validation
        return TrainPlan(
            steps_per_agent=self.budget.steps_per_agent,
            evaluate_every=validation.every_updates,
            save_every=validation.save_every_updates,
            score="alpha_sharpe",
            stopping=StoppingConfig(
                validation.patience, validation.min_gain, validation.first_updates
            ),
        )

    def tracking_mapping(self) -> dict[str, str]:
        """Return where figures go, as a run remembers it: without user and password."""
        told: dict[str, str] = self.tracking.model_dump(mode="json")
        return {key: split_credentials(value)[0] for key, value in told.items()}

    def as_mapping(self) -> dict[str, Any]:
        """Everything that can move a result, as plain values; written as YAML it reads back."""
        content: dict[str, Any] = self.model_dump(mode="json", exclude={"tracking"})
        content["environment"] = self.environment.as_mapping()
        name = self.learner.name
        content["learner"] = {"name": name, name: content["learner"][name]}
        for dotted, usual in LATER_SETTINGS.items():
            *above, key = dotted.split(".")
            section = content
            for word in above:
                section = section.get(word, {})
            if section.get(key) == usual:
                del section[key]
        return content

    @property
    def config_hash(self) -> str:
        """SHA-256 of everything that can move a result."""
        text = json.dumps(self.as_mapping(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()
