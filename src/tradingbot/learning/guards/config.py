"""When the flight recorder speaks up, and how far it may go: plain numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Literal

from tradingbot.domain.checks import require, require_kinds
from tradingbot.domain.errors import ConfigError, suggest

Response = Literal["warn", "boost_entropy", "roll_back", "halt"]
RESPONSES: tuple[Response, ...] = ("warn", "boost_entropy", "roll_back", "halt")
"""From mild to drastic."""
OLD_CODES = {"LOW_SPREAD": "LOW_ENTROPY", "SPREAD_FALLS": "ENTROPY_FALLS"}
"""Code of a rule in older journals and configurations → its code today."""


@dataclass(frozen=True)
class InterventionConfig:
    """What is done about verdicts. The numbers of the boost are those of the entropy guard."""

    on_warning: Response = "warn"
    """First response to a warning."""
    on_critical: Response = "boost_entropy"
    """First response to a critical verdict; each one that does not help is followed by the next."""
    strongest: Response = "halt"
    """Response that is never exceeded; `warn` makes the recorder an onlooker."""
    by_rule: tuple[tuple[str, Response], ...] = ()
    """(code, response): first response to a critical verdict of this rule, instead; codes of older
    versions are read as those of today."""
    boost_factor: float = 1.7
    """Factor on the entropy bonus of an agent per boost."""
    max_boost: float = 3.0
    """Largest factor that boosts come to."""
    cooldown_steps: int = 6_000
    """Environment steps per agent between two interventions of one kind."""
    roll_back_share: float = 0.1
    """Share of agents that need it from which all are rolled back; below it the others learn on.
    Agents share a trunk, so that one alone cannot go back. NaN takes a single agent."""
    max_roll_backs: int = 2
    """Roll-backs before halting."""
    roll_back_entropy: float = 2.0
    """Factor on the entropy bonus of the agents concerned, per roll-back."""
    roll_back_learning_rate: float = 0.5
    """Factor on everyone's learning rate, per roll-back."""

    def __post_init__(self) -> None:
        """Refuse unknown responses and factors that go the wrong way."""
        require_kinds(self)
        for name in ("on_warning", "on_critical", "strongest"):
            _require_response(getattr(self, name), f"InterventionConfig.{name}")
        today = tuple((OLD_CODES.get(code, code), response) for code, response in self.by_rule)
        object.__setattr__(self, "by_rule", today)
        for code, response in self.by_rule:
            _require_response(response, f"InterventionConfig.by_rule[{code}]")
        require(self.boost_factor >= 1.0, "boost_factor must be 1 or more", self)
        require(self.max_boost >= 1.0, "max_boost must be 1 or more", self)
        require(self.cooldown_steps >= 0, "cooldown_steps must be 0 or more", self)
        require(0.0 < self.roll_back_share <= 1.0, "roll_back_share must lie in (0, 1]", self)
        require(self.max_roll_backs >= 0, "max_roll_backs must be 0 or more", self)
        require(self.roll_back_entropy >= 1.0, "roll_back_entropy must be 1 or more", self)
        require(
            0.0 < self.roll_back_learning_rate <= 1.0,
            "roll_back_learning_rate must lie in (0, 1]",
            self,
        )


@dataclass(frozen=True)
class GuardConfig:
    """Limits of the flight recorder. Shares are of one; entropies are normalised to [0, 1]."""

    kept_updates: int = 64
    """Updates in the ring buffer."""
    patience: int = 3
    """Updates in a row that a sign must last before it is told, where a rule has no number of its
    own. What is not a number is told at once."""
    warm_up_steps: int = 4_000
    """Environment steps per agent before policies are judged: undecided is what they begin as …"""
    warm_up_updates: int = 10
    """… and updates."""
    probe_every: int = 10
    """Updates between two deterministic plays; 0 for none."""
    probe_steps: int = 128
    """Steps of a deterministic play, in every environment of the task."""
    flat_is_allowed: bool = True
    """Whether an agent may stay out where that costs it nothing; else all-HOLD is a collapse."""

    window: int = 1_000
    """Selections per agent that `ONE_ACTION` looks at, as whole updates."""
    one_action: float = 0.60
    """Share of one action that is a warning …"""
    one_action_critical: float = 0.90
    """… and critical."""
    low_entropy: float = 0.30
    """Normalised entropy of the policy below which there is a warning …"""
    low_entropy_critical: float = 0.10
    """… and it is critical. (The learner's own guard acts in between, at 0.22.)"""
    varied: float = 0.60
    """Entropy of deterministic actions over states from which a policy of low entropy is decided,
    not collapsed."""
    entropy_fall: float = 0.5
    """Share of the normalised entropy that may be lost within `entropy_fall_updates`."""
    entropy_fall_updates: int = 5
    """Updates over which the fall is measured."""
    repeats: int = 5
    """Identical trades in a row that are in order."""
    repeat_share: float = 0.5
    """Share of steps beyond that many repeats that is in order."""
    trades: float = 0.05
    """Share of steps with a trade below which there is a warning."""
    idle: float = 0.95
    """Share of steps without any deed from which an agent counts as all-HOLD."""
    noise_largest: float = 0.90
    """Share of one action in deterministic play, …"""
    noise_gap: float = 0.40
    """… less its share in sampling, from which a policy lives on its noise."""
    undecided: float = 0.90
    """Spread from which a policy has not begun to decide: what it does without noise is chance."""
    unexecuted: float = 0.50
    """Share of selections not carried out that is a warning …"""
    unexecuted_critical: float = 0.90
    """… and critical."""
    reward_growth: float = 10.0
    """Factor of the rewards' scale over its lower quartile in the ring buffer."""
    reward_floor: float = 1.0
    """Root mean square of rewards below which growth does not matter: an agent that begins to
    trade earns and loses more than one that did not."""
    reward_scale: float = 1.0e4
    """Root mean square of rewards that no learner is made for."""
    one_term: float = 0.90
    """Share of one term of the reward …"""
    term_patience: int = 10
    """… and updates in a row above it."""
    explained_variance: float = 0.0
    """Explained variance below which a critic is worse than a constant …"""
    explained_variance_critical: float = -0.5
    """… and does harm."""
    critic_patience: int = 10
    """Updates in a row below it."""
    gradient_growth: float = 20.0
    """Factor of the gradient norm over its lower quartile in the ring buffer that is a warning; its
    square is critical."""
    gradient_floor: float = 1.0
    """Gradient norm below which growth does not matter."""
    interventions: InterventionConfig = field(default_factory=InterventionConfig)

    def __post_init__(self) -> None:
        """Refuse limits that no measure can reach, and those in the wrong order."""
        require_kinds(self)
        for name in ("kept_updates", "patience", "probe_steps", "window", "repeats"):
            require(getattr(self, name) >= 1, f"{name} must be 1 or more", self)
        for name in ("warm_up_steps", "warm_up_updates", "probe_every"):
            require(getattr(self, name) >= 0, f"{name} must be 0 or more", self)
        for name in ("entropy_fall_updates", "critic_patience", "term_patience"):
            require(getattr(self, name) >= 1, f"{name} must be 1 or more", self)
        for entry in fields(self):
            number = getattr(self, entry.name)
            if entry.type == "float":
                require(math.isfinite(number), f"{entry.name} must be a finite number", self)
        for name in _SHARES:
            require(0.0 <= getattr(self, name) <= 1.0, f"{name} must lie in [0, 1]", self)
        self._require_order()

    def _require_order(self) -> None:
        require(
            self.kept_updates
            > max(
                self.patience,
                self.critic_patience,
                self.term_patience,
                self.entropy_fall_updates,
                self.probe_every + 1,
            ),
            "kept_updates must be more than any rule looks back",
            self,
        )
        require(
            self.one_action <= self.one_action_critical,
            "one_action must not exceed one_action_critical",
            self,
        )
        require(
            self.low_entropy_critical <= self.low_entropy,
            "low_entropy must not lie below low_entropy_critical",
            self,
        )
        require(
            self.unexecuted <= self.unexecuted_critical,
            "unexecuted must not exceed unexecuted_critical",
            self,
        )
        require(self.reward_growth > 1.0, "reward_growth must be above 1", self)
        require(self.gradient_growth > 1.0, "gradient_growth must be above 1", self)


_SHARES = (
    *("one_action", "one_action_critical", "low_entropy", "low_entropy_critical"),
    *("varied", "entropy_fall", "repeat_share", "trades", "idle", "noise_largest", "noise_gap"),
    "undecided",
    *("unexecuted", "unexecuted_critical", "one_term"),
)


def _require_response(response: str, where: str) -> None:
    if response not in RESPONSES:
        raise ConfigError(
            "a response must be a known one",
            was=repr(response),
            where=where,
            remedy=suggest(response, RESPONSES),
        )
