"""Settings that came after the first runs: what they were before they could be said."""

from __future__ import annotations

from collections.abc import Mapping

from tradingbot.agents.options.rules import OptionRules
from tradingbot.domain.plain_values import as_plain_values
from tradingbot.learning.curiosity.config import CuriosityConfig
from tradingbot.learning.direct.config import DEVIATIONS_OF_BEFORE
from tradingbot.learning.guards.config import GuardConfig, InterventionConfig
from tradingbot.learning.hindsight_config import HindsightConfig
from tradingbot.learning.objectives.config import ObjectivesConfig
from tradingbot.learning.ppo.config import PPOConfig
from tradingbot.learning.pretraining.config import AuxiliaryLossConfig
from tradingbot.learning.shaping.config import ShapingConfig
from tradingbot.market.params import AccountRules
from tradingbot.training.environment import JointSettings

_LATER_ACCOUNT = ("delisted_after_bars", "delisting_haircut_frac")
_LATER_TASK = ("cost_rates", "reward_weights", "reward_options")
_LATER_GUARDS = (
    *("goal_success", "one_option", "one_option_critical", "intrinsic_share"),
    *("intrinsic_share_critical", "one_objective", "distinct_actions", "executed_gap"),
    *("violations", "actor_lag", "distinct_members", "stuck_episodes", "one_sleeve"),
)
LATER_SETTINGS: Mapping[str, object] = {
    **{key: {} for key in ("plugins", "environment", *(f"task.{each}" for each in _LATER_TASK))},
    "features": "default",
    "options": as_plain_values(OptionRules()),
    **dict.fromkeys(("task.rules.action.neutral_gross_frac", "budget.recency"), 0.0),
    "task.neutral_bars": False,
    "task.rules.account.quantity_decimals": None,
    **{f"task.rules.account.{key}": getattr(AccountRules(), key) for key in _LATER_ACCOUNT},
    "learner.ppo.paired_envs": 1,
    "learner.ppo.min_std": as_plain_values(PPOConfig().min_std),
    "validation.factor": "equal_weight",
    "auxiliary": as_plain_values(AuxiliaryLossConfig()),
    "curiosity": as_plain_values(CuriosityConfig()),
    "objectives": as_plain_values(ObjectivesConfig()),
    "shaping": as_plain_values(ShapingConfig()),
    **{f"learner.direct.{key}": value for key, value in DEVIATIONS_OF_BEFORE.items()},
    "environment.goal.tolerance_frac": 0.0,
    "environment.goal.credit_range_frac": 0.05,
    **{
        f"learner.{name}.hindsight": as_plain_values(HindsightConfig())
        for name in ("sac", "hierarchical_sac")
    },
    **{f"guards.{key}": getattr(GuardConfig(), key) for key in _LATER_GUARDS},
    "guards.interventions.pause_steps": InterventionConfig().pause_steps,
    "pretraining.shards": 1,
    "environment.portfolio.risk_aversion": 0.0,
    "environment.portfolio.embedding_numbers": 0,
    "environment.portfolio.joint": as_plain_values(JointSettings()),
    "learner.impala.n_epochs": 1,
    "learner.impala.clip": 0.0,
    "learner.ppo.entropy.decay": 1.0,
    "learner.ppo.entropy.warm_up": 0,
}
"""Dotted key → default of later settings; left out of the hash there, so that older ones stay."""
