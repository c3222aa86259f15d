"""What a learner says of itself, so that everything else can treat all learners alike."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from tradingbot.domain.errors import ConfigError
from tradingbot.domain.lazy_names import import_on_call

if TYPE_CHECKING:
    from torch import Tensor

    from tradingbot.learning.learner import Learner
    from tradingbot.learning.task import ActionKind, ActionSpec
    from tradingbot.networks.actor_layout import ActorLayout
    from tradingbot.networks.head_config import Pooling

ACTOR_LAYOUT = "tradingbot.learning.action_policy:squashed_layout"
"""What says how most learners' actors are stored; imports torch, so it is named."""
VALUE_HEAD = import_on_call("tradingbot.learning.action_policy:open_value_head")
_RESERVED = ("name",)
"""Keys of the section `learner` that are no learner."""


@dataclass(frozen=True)
class MeasuredSettings:
    """With what a learner is measured on markets with known answers; see `bench learning`."""

    config: Any
    """Of the learner's configuration class."""
    n_envs: int
    """B, environments of each agent."""
    updates: int
    """Calls of `update`."""


class ResolvedLearner(NamedTuple):
    """A learner with the settings of a configuration."""

    spec: LearnerSpec
    """Of a learner that wraps another, what it can do with that one."""
    settings: Any
    """What `spec.build` takes."""
    sections: tuple[str, ...]
    """Names of the sections of `learner` whose settings count."""


FindLearner = Callable[[str], "LearnerSpec"]
"""Name → what it says of itself."""


@dataclass(frozen=True)
class LearnerSpec:
    """One learner: how it is configured, built, stored and counted."""

    name: str
    """What configurations and commands call it; its settings are the section `learner.<name>`."""
    config: type[Any]
    """Frozen dataclass of its settings, every field with a default. A field `learning_rate` that is
    a `Schedule` follows the budget; a field `actor` that is a `HeadConfig` takes part in ablations.
    """
    build: Callable[..., Learner]
    """(task, view, config, *, seed) → learner; see `takes_auxiliary` and `takes_reward_transform`
    too."""
    actor_layout: Callable[[Any, ActionSpec, tuple[str, ...]], ActorLayout]
    """(config, action, names of private inputs) → how a checkpoint's actor is read."""
    action_kinds: tuple[ActionKind, ...]
    """Kinds of actions it can learn."""
    steps_per_update: str
    """Field or property of `config`: steps of each environment in one update."""
    update_fields: tuple[str, ...] = ()
    """Fields of `config` that `steps_per_update` is computed from, where it is a property."""
    warm_up: str = ""
    """Field of `config`: steps per agent before anything is learned; empty: none."""
    segment_bars: str = ""
    """Field of `config` that must divide `steps_per_update` where an encoder learns too; empty:
    none."""
    critic_prefix: str = ""
    """What the names of the critic's tensors begin with: beside the actor, else in the learner's
    state, which the best checkpoint holds. Its size is the field `critic` of `config`. Empty: it
    has no critic."""
    critic: Callable[[Any, Mapping[str, Tensor], int], Callable[[Tensor], Tensor]] = VALUE_HEAD
    """(config, tensors of `critic_prefix`, N) → values (N, K) of inputs (N, K, I), in the units
    that the critic counts in; by default a head with one output."""
    learns_reward: Callable[[Any], bool] = lambda _: True
    """(config) → whether it learns from the task's reward; false where another objective is set."""
    takes_auxiliary: bool = False
    """Whether `build` takes `auxiliary`, a loss beside its own of an encoder that learns too."""
    trains_encoder: bool = True
    """Whether an encoder can learn with it; else `encoder.trainable` is refused."""
    takes_reward_transform: bool = False
    """Whether `build` takes `reward_transform`: curiosity, shaping, objectives; see
    `learning.reward_transform`."""
    keeps_rewards: str = ""
    """Why it takes none, as messages say it; empty where it does."""
    differentiates: bool = False
    """Whether it follows gradients through the task's step, whose reward must have some."""
    tells_entropy: bool = True
    """Whether its metrics have `policy/normalised_entropy`; else rules of the flight recorder about
    the entropy cannot be told of it, and their limits are refused."""
    takes_options: bool = False
    """Whether its task must have options, `networks.options.Options`, to choose from."""
    takes_members: bool = False
    """Whether its actor can weigh members of a set, whatever their order: `Task.members`."""
    wraps: Callable[[Mapping[str, Any], FindLearner], ResolvedLearner] | None = None
    """(sections of all learners by name, how to find one) → it, with the settings of those that it
    wraps; None: it wraps none. What `build` takes is then no `config`, and has the field of
    `steps_per_update`."""
    measured: Callable[[Pooling], MeasuredSettings] | None = None
    """How heads are shared → settings for markets with known answers; None: not measured there."""

    def __post_init__(self) -> None:
        """Refuse a learner that a configuration could not name or count."""
        if not self.name.isidentifier() or self.name in _RESERVED:
            rule = "learner name must be a word that is no other key of the section learner"
            remedy = f"Use letters, digits and _, and none of: {', '.join(_RESERVED)}"
            raise ConfigError(rule, was=repr(self.name), remedy=remedy)
        if not dataclasses.is_dataclass(self.config):
            where, was = f"learner {self.name}", repr(self.config)
            raise ConfigError("settings of a learner must be a dataclass", was=was, where=where)
        if self.wraps is not None:
            return
        known = {field.name for field in dataclasses.fields(self.config)}
        named = (self.steps_per_update, self.warm_up, self.segment_bars)
        for field in named if not self.critic_prefix else (*named, "critic"):
            computed = isinstance(getattr(self.config, field, None), property)
            if not (computed or field in {*known, ""}) or not self.steps_per_update:
                rule = f"settings of learner {self.name} must have the field its spec names"
                remedy = f"Name one of: {', '.join(sorted(known))}"
                raise ConfigError(rule, was=repr(field), remedy=remedy)

    def resolve(self, sections: Mapping[str, Any], find: FindLearner) -> ResolvedLearner:
        """Return it with its settings.

        Args:
            sections: Settings of all learners, by name.
            find: `catalogue.learner_spec`; learners do not know the catalogue.
        """
        if self.wraps is not None:
            return self.wraps(sections, find)
        return ResolvedLearner(self, sections[self.name], (self.name,))

    def steps_of_update(self, config: Any) -> int:
        """Return the steps of each environment in one update."""
        steps: int = getattr(config, self.steps_per_update)
        return steps
