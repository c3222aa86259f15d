"""What a checkpoint says of acting: everything that turns bars into actions, by name and hash.

Plain values only, so that a manifest is read without tensors; `runs.policy` makes a policy of them.
"""

from __future__ import annotations

from typing import Any

from pydantic import SerializerFunctionWrapHandler, model_serializer

from tradingbot.features.scaler_files import ScalerRecord
from tradingbot.runs.record import StoredModel

FROZEN_ENCODER, LEARNING_ENCODER = "encoder.", "view.encoder."
"""What the names of an encoder's weights begin with: by itself, or as part of the learner."""
PROJECTION = "projection."
"""What the names of those begin with through which a master sees embeddings, if any."""
JOINT_AGENTS = "view.agents."
"""What the names of own layers begin with that agents of sleeves learned with a master: weights and
biases in turn, numbered, from the first such layer to the last."""


class ActorRecord(StoredModel):
    """How the actor is stored and what its outputs mean: `networks.actor_layout.ActorLayout`."""

    prefix: str
    """What the names of its tensors begin with."""
    head: dict[str, Any]
    """Fields of `networks.heads.HeadConfig`: kind and sizes."""
    n_outputs: int
    squash: dict[str, Any] | None
    """Fields of `networks.actor_layout.Squash`, levels included; None: outputs are preferences for
    codes."""
    private: tuple[str, ...]
    """Private inputs by name, in order, after those of the market."""
    n_components: int = 0
    """K, weights of a portfolio and cash; 0, and not written, where an action is one number."""

    @model_serializer(mode="wrap")
    def _without_zero(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave the number out where there is one action: manifests of before keep their hash."""
        written: dict[str, Any] = write(self)
        if not self.n_components:
            written.pop("n_components", None)
        return written


class ActionRecord(StoredModel):
    """What an action means: the rules by which a number or a code becomes an order."""

    rules: dict[str, Any]
    """Fields of `market.params.ActionRules`: space, hold zone, smoothing, sizes of codes."""
    limits: dict[str, Any]
    """Fields of `risk.limits.RiskLimits`: the largest position, of which actions are fractions, and
    whether it may be short."""


class EncoderRecord(StoredModel):
    """The encoder that the market is seen through."""

    preset: str
    config: dict[str, Any]
    """Fields of `networks.encoders.encoder.EncoderConfig`."""
    n_features: int
    """F."""
    learned: bool
    """Whether it learned with the agents; else it was frozen."""
    prefix: str
    """What the names of its tensors begin with."""
    sha256: str = ""
    """`final_hash` of its tensors, names without the prefix."""


class FeatureRecord(StoredModel):
    """One column of what is seen of the market."""

    id: str
    """Name and version."""
    sha256: str | None
    """`features.spec.spec_hash` of its formulae; None where it is no feature (probabilities)."""


class GoalRecord(StoredModel):
    """The goal that agents are asked for: fields of `market.goals.AskedGoal`, fractions."""

    return_frac: float
    drawdown_frac: float
    return_unit_frac: float
    drawdown_unit_frac: float


class OptionsRecord(StoredModel):
    """The options that agents follow: the controller beside the actor, which corrects them."""

    prefix: str
    """What the names of the controller's tensors begin with."""
    head: dict[str, Any]
    """Fields of `networks.head_config.HeadConfig`."""
    private: tuple[str, ...]
    """Private inputs of the controller by name, in order; the actor's begin with the same."""
    rules: dict[str, Any]
    """Fields of `agents.options.rules.OptionRules`."""
    reach: float
    """Largest correction of what an option proposes."""


class PortfolioRecord(StoredModel):
    """What a master divides capital among: sleeves, who trades them, and the one account."""

    symbols: tuple[str, ...]
    """N sleeves, in order."""
    rule: str
    """Rule of the package that trades them, with its parameters; empty where agents do."""
    run: str
    """Run whose agents trade them; empty where a rule does."""
    run_sha256: str
    """Of the weights of those agents."""
    shared: tuple[str, ...]
    """What is seen of the market, mean over symbols, by name."""
    account: dict[str, Any]
    """Fields of `market.params.AccountRules`, of the portfolio's own account."""


class ActingRecord(StoredModel):
    """Part of a manifest of version 2."""

    actor: ActorRecord
    action: ActionRecord
    encoder: EncoderRecord | None
    """None: rows are seen as they are."""
    features: tuple[FeatureRecord, ...]
    """Columns of the table, in order."""
    scalers: tuple[ScalerRecord, ...]
    """Of the first columns, in their order; columns after them are not scaled."""
    feature_bound: float | None
    """Bound of |scaled value|."""
    probability_model: str
    """Where the last three columns come from; `none`: they are 1/3."""
    threads: int
    """Torch's threads when it learned; 0: torch's own choice. Last bits depend on them."""
    goal: GoalRecord | None = None
    """What agents are asked for where they were trained towards goals; not written elsewhere."""
    options: OptionsRecord | None = None
    """What agents choose from where they follow options; not written elsewhere."""
    portfolio: PortfolioRecord | None = None
    """What a master's weights are of; not written elsewhere."""

    @model_serializer(mode="wrap")
    def _without_nothing(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what there is none of: manifests of before keep their hash."""
        written: dict[str, Any] = write(self)
        for name in ("goal", "options", "portfolio"):
            if getattr(self, name) is None:
                written.pop(name, None)
        return written
