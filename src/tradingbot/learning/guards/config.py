"""When the flight recorder speaks up, and how far it may go: plain numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tradingbot.domain.checks import bounded, require, require_kinds
from tradingbot.domain.errors import ConfigError, suggest
from tradingbot.learning.guards.codes import RULE_CODES

Response = Literal["warn", "boost_entropy", "pause", "roll_back", "halt"]
RESPONSES: tuple[Response, ...] = ("warn", "boost_entropy", "pause", "roll_back", "halt")
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
    boost_factor: float = bounded(1.7, "[1, inf)")
    """Factor on the entropy bonus of an agent per boost."""
    max_boost: float = bounded(3.0, ">= 1")
    """Largest factor that boosts come to."""
    cooldown_steps: int = bounded(6_000, ">= 0")
    """Environment steps per agent between two interventions of one kind."""
    pause_steps: int = bounded(6_000, ">= 1")
    """Environment steps per agent for which the policy of an agent that is paused stands still; it
    learns on with a boosted entropy bonus."""
    roll_back_share: float = bounded(0.1, "(0, 1]")
    """Share of agents that need it from which all are rolled back; below it the others learn on.
    Agents share a trunk, so that one alone cannot go back. NaN takes a single agent."""
    max_roll_backs: int = bounded(2, ">= 0")
    """Roll-backs before halting."""
    roll_back_entropy: float = bounded(2.0, "[1, inf)")
    """Factor on the entropy bonus of the agents concerned, per roll-back."""
    roll_back_learning_rate: float = bounded(0.5, "(0, 1]")
    """Factor on everyone's learning rate, per roll-back."""

    def __post_init__(self) -> None:
        """Refuse unknown responses and factors that go the wrong way."""
        for name in ("on_warning", "on_critical", "strongest"):
            _require_response(getattr(self, name), f"InterventionConfig.{name}")
        require_kinds(self)
        today = tuple((OLD_CODES.get(code, code), response) for code, response in self.by_rule)
        object.__setattr__(self, "by_rule", today)
        for code, response in self.by_rule:
            _require_code(code)
            _require_response(response, f"InterventionConfig.by_rule[{code}]")


@dataclass(frozen=True)
class GuardConfig:
    """Limits of the flight recorder. Shares are of one; entropies are normalised to [0, 1]."""

    kept_updates: int = bounded(64, ">= 1")
    """Updates in the ring buffer."""
    patience: int = bounded(3, ">= 1")
    """Updates in a row that a sign must last before it is told, where a rule has no number of its
    own. What is not a number is told at once."""
    warm_up_steps: int = bounded(4_000, ">= 0")
    """Environment steps per agent before policies are judged: undecided is what they begin as …"""
    warm_up_updates: int = bounded(10, ">= 0")
    """… and updates."""
    probe_every: int = bounded(10, ">= 0")
    """Updates between two deterministic plays; 0 for none."""
    probe_steps: int = bounded(128, ">= 1")
    """Steps of a deterministic play, in every environment of the task."""
    flat_is_allowed: bool = True
    """Whether an agent may stay out where that costs it nothing; else all-HOLD is a collapse."""

    window: int = bounded(1_000, ">= 1")
    """Selections per agent that `ONE_ACTION` looks at, as whole updates."""
    one_action: float = bounded(0.60, "[0, 1]")
    """Share of one action that is a warning …"""
    one_action_critical: float = bounded(0.90, "[0, 1]")
    """… and critical."""
    one_sleeve: float = bounded(0.80, "[0, 1]")
    """Mean share of capital in one sleeve above which it must earn more than equal weight of all
    sleeves, in portfolios."""
    low_entropy: float = bounded(0.30, "[0, 1]")
    """Normalised entropy of the policy below which there is a warning …"""
    low_entropy_critical: float = bounded(0.10, "[0, 1]")
    """… and it is critical. (The learner's own guard acts in between, at 0.22.)"""
    varied: float = bounded(0.60, "[0, 1]")
    """Entropy of deterministic actions over states from which a policy of low entropy is decided,
    not collapsed."""
    entropy_fall: float = bounded(0.5, "[0, 1]")
    """Share of the normalised entropy that may be lost within `entropy_fall_updates`."""
    entropy_fall_updates: int = bounded(5, ">= 1")
    """Updates over which the fall is measured."""
    repeats: int = bounded(5, ">= 1")
    """Identical trades in a row that are in order."""
    repeat_share: float = bounded(0.5, "[0, 1]")
    """Share of steps beyond that many repeats that is in order."""
    trades: float = bounded(0.05, "[0, 1]")
    """Share of steps with a trade below which there is a warning."""
    idle: float = bounded(0.95, "[0, 1]")
    """Share of steps without any deed from which an agent counts as all-HOLD."""
    noise_largest: float = bounded(0.90, "[0, 1]")
    """Share of one action in deterministic play, …"""
    noise_gap: float = bounded(0.40, "[0, 1]")
    """… less its share in sampling, from which a policy lives on its noise."""
    undecided: float = bounded(0.90, "[0, 1]")
    """Spread from which a policy has not begun to decide: what it does without noise is chance."""
    unexecuted: float = bounded(0.50, "[0, 1]")
    """Share of selections not carried out that is a warning …"""
    unexecuted_critical: float = bounded(0.90, "[0, 1]")
    """… and critical."""
    reward_growth: float = bounded(10.0, "(1, inf)")
    """Factor of the rewards' scale over its lower quartile in the ring buffer."""
    reward_floor: float = bounded(1.0, "[0, inf)")
    """Root mean square of rewards below which growth does not matter: an agent that begins to
    trade earns and loses more than one that did not."""
    reward_scale: float = bounded(1.0e4, "(0, inf)")
    """Root mean square of rewards that no learner is made for."""
    one_term: float = bounded(0.90, "[0, 1]")
    """Share of one term of the reward …"""
    term_patience: int = bounded(10, ">= 1")
    """… and updates in a row above it."""
    explained_variance: float = bounded(0.0, "(-inf, 1]")
    """Explained variance below which a critic is worse than a constant …"""
    explained_variance_critical: float = bounded(-0.5, "(-inf, 1]")
    """… and does harm."""
    critic_patience: int = bounded(10, ">= 1")
    """Updates in a row below it."""
    gradient_growth: float = bounded(20.0, "(1, inf)")
    """Factor of the gradient norm over its lower quartile in the ring buffer that is a warning; its
    square is critical."""
    gradient_floor: float = bounded(1.0, "[0, inf)")
    """Gradient norm below which growth does not matter."""
    goal_success: float = bounded(0.02, "[0, 1]")
    """Share of episodes that met their goal up to which goals count as never reached, for
    `term_patience` updates in a row."""
    one_option: float = bounded(0.60, "[0, 1]")
    """Share of steps under one option that is a warning …"""
    one_option_critical: float = bounded(0.90, "[0, 1]")
    """… and critical."""
    actor_lag: float = bounded(8.0, "> 0")
    """Updates that an actor may be behind: corrected ratios of older weights say little."""
    distinct_members: float = bounded(0.10, "[0, 1]")
    """Share of different results among members of a population below which there is a warning; one
    result for all, a share of 0, is critical."""
    stuck_episodes: int = bounded(1_000, ">= 1")
    """Episodes in one stage of a curriculum after which an agent counts as stuck."""
    intrinsic_share: float = bounded(0.15, "[0, 1]")
    """Share of curiosity's bonus in what an agent is paid in an update that is a warning …"""
    intrinsic_share_critical: float = bounded(0.50, "[0, 1]")
    """… and critical. (The bonus is held to 10 % of all that was paid since training began.)"""
    one_objective: float = bounded(0.59, "[0, 1]")
    """Mean weight of one objective, for `term_patience` updates in a row; 0.6 is the most it may
    be."""
    distinct_actions: float = bounded(0.0, "[0, inf)")
    """Different actions in 120 steps of an environment, on the mean, below which there is a
    warning; 0 does not ask, the plan's is 4."""
    executed_gap: float = bounded(1.0, "[0, 1]")
    """Total variation between codes that are chosen and executed; 1 does not ask, the plan's is
    0.15."""
    violations: float = bounded(1.0, "[0, 1]")
    """Share of chosen codes that are not executed; 1 does not ask, the plan's is 0.05."""
    interventions: InterventionConfig = field(default_factory=InterventionConfig)

    def __post_init__(self) -> None:
        """Refuse limits that no measure can reach, and those in the wrong order."""
        require_kinds(self)
        looks_back = (self.patience, self.critic_patience, self.term_patience, self.probe_every + 1)
        enough = self.kept_updates > max(*looks_back, self.entropy_fall_updates)
        require(enough, "kept_updates must be more than any rule looks back", self)
        for name in ("low_entropy", "explained_variance"):
            critical = f"{name}_critical"
            in_order = getattr(self, critical) <= getattr(self, name)
            require(in_order, f"{name} must not lie below {critical}", self)
        for name in ("one_action", "unexecuted", "one_option", "intrinsic_share"):
            critical = f"{name}_critical"
            in_order = getattr(self, name) <= getattr(self, critical)
            require(in_order, f"{name} must not exceed {critical}", self)


def _require_code(code: str) -> None:
    if code not in RULE_CODES:
        rule = "by_rule must name rules of the flight recorder"
        where = "InterventionConfig.by_rule"
        raise ConfigError(rule, was=repr(code), where=where, remedy=suggest(code, RULE_CODES))


def _require_response(response: str, where: str) -> None:
    if response not in RESPONSES:
        rule = "a response must be a known one"
        remedy = suggest(response, RESPONSES)
        raise ConfigError(rule, was=repr(response), where=where, remedy=remedy)
