"""Every setting of training changes something, or is listed with why that cannot show here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import count, zip_longest
from pathlib import Path
from typing import Any

import pytest

from docs.test_settings_page import training_settings
from fixtures import setting_effects as effects
from tradingbot.rewards.catalogue import registered_terms
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import load_train_config

Options = dict[str, Any]
Measure = Callable[..., Iterator[effects.Numbers]]
TINY: Options = {
    "market.start": "2025-06-10",
    "task.rules.episode.episode_bars": 60,
    "budget.n_envs": 4,
    "budget.steps_per_agent": 4_000,
}
PPO: Options = {
    "learner.name": "ppo",
    "learner.ppo.actor.hidden": [6],
    "learner.ppo.critic.hidden": [6],
    "learner.ppo.rollout_steps": 16,
    "learner.ppo.minibatch": 16,
    "learner.ppo.n_epochs": 2,
    "learner.ppo.segment_bars": 8,
    "learner.ppo.learning_rate": {"kind": "constant", "first": 0.01, "last": 0.0},
    "learner.ppo.kl_stop": 0.0,
}
GUARDED: Options = PPO | {
    "learner.ppo.entropy.guard_entropy": 0.999,
    "learner.ppo.entropy.guard_warm_up": 0,
    "learner.ppo.entropy.guard_cooldown": 64,
    "learner.ppo.entropy.guard_patience": 1,
}
SAC: Options = {
    "learner.name": "sac",
    "learner.sac.actor.hidden": [6],
    "learner.sac.critic.hidden": [6],
    "learner.sac.steps_per_update": 8,
    "learner.sac.warm_up": 8,
    "learner.sac.batch_size": 8,
    "learner.sac.buffer_size": 64,
    "learner.sac.learning_rate": 0.01,
}
DIRECT: Options = {"learner.direct.actor.hidden": [6], "learner.direct.chunk_bars": 8}
ES: Options = {
    "learner.name": "es",
    "learner.es.actor.hidden": [6],
    "learner.es.population": 8,
    "learner.es.bars": 8,
    "learner.es.sigma": 0.2,
}
IMPALA: Options = {
    "learner.name": "impala",
    "learner.impala.actor.hidden": [6],
    "learner.impala.critic.hidden": [6],
    "learner.impala.actors": 2,
    "learner.impala.in_processes": False,
    "learner.impala.rollout_steps": 16,
    "learner.impala.minibatch": 16,
    "learner.impala.gradient_clip": 0.1,
    "learner.impala.learning_rate": 0.01,
}
HIERARCHICAL: Options = {
    "learner.name": "hierarchical_sac",
    "task.rules.action.space": "continuous",
    "task.private": [],
    **{f"learner.hierarchical_sac.{key}.hidden": [6] for key in ("actor", "critic", "controller")},
    "learner.hierarchical_sac.steps_per_update": 8,
    "learner.hierarchical_sac.warm_up": 8,
    "learner.hierarchical_sac.batch_size": 8,
    "learner.hierarchical_sac.buffer_size": 64,
    "learner.hierarchical_sac.learning_rate": 0.01,
}
HYBRID: Options = {
    **PPO,
    **{key: ES[key] for key in ("learner.es.population", "learner.es.bars", "learner.es.sigma")},
    "learner.name": "hybrid",
    "learner.hybrid.gradient_steps": 1,
    "learner.hybrid.generations": 1,
}
LEARNERS = {
    "ppo": PPO,
    "sac": SAC,
    "direct": DIRECT,
    "es": ES,
    "impala": IMPALA,
    "hierarchical_sac": HIERARCHICAL,
    "hybrid": HYBRID,
}
DISCRETE: Options = PPO | {"task.rules.action.space": "discrete"}
CONTINUOUS: Options = {"task.rules.action.space": "continuous"}
SHORT: Options = CONTINUOUS | {"task.rules.limits.allow_short": True}
V31: Options = {"learner.direct.objective": "reward", "task.reward": "v31"}
PRETRAINED: Options = {
    "encoder.preset": "mlp",
    "pretraining.updates": 6,
    "pretraining.segments": 4,
    "pretraining.segment_bars": 32,
    "pretraining.evaluate_every": 2,
    "pretraining.warm_up_updates": 1,
    "pretraining.learning_rate": 0.02,
}
CLONED: Options = {
    "cloning.enabled": True,
    "cloning.updates": 3,
    "cloning.steps": 8,
    "cloning.epochs": 2,
    "cloning.minibatches": 2,
}
LEARNING_ENCODER: Options = {"encoder.preset": "tiny", "encoder.trainable": True}
AUXILIARY: Options = (
    LEARNING_ENCODER
    | DIRECT
    | {
        "auxiliary.weight": 1.0,
        "auxiliary.segments": 2,
        "auxiliary.segment_bars": 8,
    }
)

CURIOUS: Options = PPO | {
    "curiosity.mix": 0.3,
    "curiosity.n_features": 6,
    "curiosity.hidden": [6],
    "curiosity.warm_up": 0,
    "curiosity.batches": 2,
    "curiosity.batch_size": 16,
}
SHAPED: Options = (
    PPO
    | {"shaping.weight": 0.2, "shaping.warm_up": 0, "shaping.hidden": [6]}
    | {"shaping.low_entropy": 0.1, "shaping.high_sharpe": 50.0, "shaping.weight_step": 0.1}
    | {"task.private": ["size", "total_return"]}
)
WEIGHED: Options = (
    PPO
    | {"objectives.enabled": True, "objectives.hidden": [6], "objectives.learning_rate": 0.3}
    | {"task.private": ["size", "total_return"], "task.reward": "objectives"}
)
_EASY: Options = {"min_sharpe": -100.0, "min_win_rate_frac": 0.0, "min_trades": 0}
STAGE: Options = {"name": "a", "trend_strength": 0.6, "vol_frac": 0.003, "cost_bps": 1.0, **_EASY}
CURRICULUM: Options = {
    "environment.kind": "curriculum",
    "environment.curriculum.stages": [STAGE, STAGE | {"cost_bps": 5.0}],
    "environment.curriculum.markets_per_stage": 1,
    "environment.curriculum.rule.min_episodes": 6,
    "environment.curriculum.rule.recent_episodes": 2,
    "task.rules.episode.episode_bars": 6,
}
GOAL: Options = PPO | {
    "environment.kind": "goal",
    "environment.goal.reward": "dense",
    "task.rules.episode.episode_bars": 6,
}
_DIFFICULTY = "environment.curriculum.difficulty."
ADAPTIVE: Options = CURRICULUM | {
    "environment.curriculum.rule.min_episodes": 100,
    "environment.curriculum.stages": [STAGE | {"min_sharpe": 0.0}],
    "environment.curriculum.adaptive": True,
    "environment.curriculum.levels": 3,
    f"{_DIFFICULTY}episodes_per_decision": 1,
    f"{_DIFFICULTY}raise_return_frac": -0.0005,
    f"{_DIFFICULTY}raise_win_rate_frac": 0.0,
    f"{_DIFFICULTY}lower_return_frac": -0.02,
    f"{_DIFFICULTY}lower_win_rate_frac": -1.0,
    f"{_DIFFICULTY}largest_step": 0.5,
    f"{_DIFFICULTY}smallest_step": 0.5,
}
_MIXED = {"environment.curriculum.stages": [STAGE | {"min_sharpe": 0.0}]}

DATES: Options = {
    "splits.by": "date",
    "splits.train": "2025-08-01",
    "splits.validation": "2025-09-01",
    "splits.test": "2025-10-01",
}

CHANGES: dict[str, tuple[Any, Options]] = {
    # data
    "market.name": ("noise", {"market.params": {}}),
    "market.universe": ("us143", {}),
    "market.start": ("2025-06-24", {}),
    "market.end": ("2025-09-15", {}),
    "market.timeframe": ("30m", {}),
    "market.grid": ("clock", {}),
    "market.seed": (8, {}),
    "market.params": ({"kappa": 0.2}, {}),
    "symbols": (["SPY"], {}),
    "features": ("relative", {}),
    "splits.by": (DATES, {}),
    "splits.train": ({"splits.train": 0.5, "splits.test": 0.3}, {}),
    "splits.validation": ({"splits.validation": 0.3, "splits.train": 0.5}, {}),
    "splits.test": ({"splits.test": 0.3, "splits.train": 0.5}, {}),
    "splits.train_from": ("2025-06-20", DATES),
    "splits.purge_bars": (9, {}),
    "splits.embargo_bars": (9, {}),
    "validation.factor": ("SPY", {}),
    # rules
    "task.rules.account.initial_cash_ccy": (5e4, {"task.costs": "impact"}),
    "task.rules.account.max_participation_frac": (1e-4, {}),
    "task.rules.account.quantity_decimals": (0, {}),
    "task.rules.account.stop_loss_frac": (0.005, {}),
    "task.rules.account.take_profit_frac": (0.005, {}),
    "task.rules.account.max_holding_bars": (5, {}),
    "task.rules.account.position_loss_frac": (0.003, {}),
    "task.rules.account.portfolio_loss_frac": (0.001, {}),
    "task.rules.limits.max_position_frac": (0.5, {}),
    "task.rules.limits.max_order_frac": (0.1, {}),
    "task.rules.limits.reserve_frac": (0.5, {}),
    "task.rules.limits.min_trade_ccy": (5e4, {}),
    "task.rules.limits.allow_short": (True, CONTINUOUS),
    "task.rules.limits.margin_frac": (4.0, SHORT),
    "task.rules.action.space": ("continuous", {}),
    "task.rules.action.hold_zone": (0.4, CONTINUOUS),
    "task.rules.action.smoothing_bars": (4, {}),
    "task.rules.action.entry_fracs": ([0.1, 0.2, 0.3], DISCRETE),
    "task.rules.action.sell_partial_frac": (0.3, DISCRETE),
    "task.rules.action.add_frac": (0.1, DISCRETE),
    "task.rules.action.max_adds": (0, DISCRETE),
    "task.rules.action.add_min_profit_frac": (0.5, DISCRETE),
    "task.rules.action.max_repeats": (1, DISCRETE),
    "task.rules.action.neutral_gross_frac": (0.2, SHORT | {"task.rules.action.space": "target"}),
    "task.rules.episode.episode_bars": (50, {}),
    "task.rules.episode.window_bars": (300, {}),
    "task.rules.episode.fill_at": ("this_close", {}),
    "task.costs": ("retail", {}),
    "task.cost_rates": ({"slippage_frac": 0.01}, {}),
    "task.reward": ("v31", {"learner.direct.objective": "reward"}),
    "task.reward_weights": ({"pnl": 0.5}, V31),
    "task.reward_options": ({"pnl": {"realised_only": True}}, V31),
    # environments
    "environment.kind": ("curriculum", {}),
    "environment.goal.return_range_frac": ([0.0, 0.03], GOAL),
    "environment.goal.drawdown_range_frac": ([0.0, 0.03], GOAL),
    "environment.goal.tolerance_frac": (0.05, GOAL | {"environment.goal.reward": "sparse"}),
    "environment.goal.credit_range_frac": (0.2, GOAL | {"environment.goal.reward": "partial"}),
    "environment.curriculum.stages": ([STAGE | {"cost_bps": 9.0}], CURRICULUM),
    "environment.curriculum.markets_per_stage": (
        2,
        CURRICULUM | {"environment.curriculum.episodes_per_market": 1},
    ),
    "environment.curriculum.episodes_per_market": (
        1,
        CURRICULUM | {"environment.curriculum.markets_per_stage": 2},
    ),
    "environment.curriculum.rule.recent_episodes": (6, CURRICULUM | _MIXED),
    "environment.curriculum.rule.min_success_frac": (0.2, CURRICULUM | _MIXED),
    "environment.curriculum.levels": (2, ADAPTIVE),
    f"{_DIFFICULTY}raise_return_frac": (0.5, ADAPTIVE),
    f"{_DIFFICULTY}raise_win_rate_frac": (1.0, ADAPTIVE),
    f"{_DIFFICULTY}lower_return_frac": (-0.0006, ADAPTIVE),
    f"{_DIFFICULTY}hardest.regime_stability": (0.6, ADAPTIVE),
    f"{_DIFFICULTY}lower_win_rate_frac": (
        0.5,
        ADAPTIVE | {f"{_DIFFICULTY}raise_win_rate_frac": 0.6},
    ),
    f"{_DIFFICULTY}largest_step": (0.05, ADAPTIVE | {f"{_DIFFICULTY}smallest_step": 0.01}),
    f"{_DIFFICULTY}smallest_step": (0.25, ADAPTIVE),
    # pre-training and cloning
    "pretraining.weights.next_return": (0.0, PRETRAINED),
    "pretraining.weights.volatility": (0.0, PRETRAINED),
    "pretraining.weights.volume_class": (0.0, PRETRAINED),
    "pretraining.weights.expert_action": (0.0, PRETRAINED),
    "pretraining.weights.regime": (0.0, PRETRAINED),
    "pretraining.patience": (
        1,
        PRETRAINED | {"pretraining.updates": 40, "pretraining.learning_rate": 1.0},
    ),
    "auxiliary.weight": (0.5, AUXILIARY),
    "curiosity.mix": (0.2, CURIOUS),
    "curiosity.max_share": (0.3, CURIOUS),
    "curiosity.bonus_clip": (0.5, CURIOUS),
    "curiosity.error_scale": (1e-6, CURIOUS),
    "curiosity.warm_up": (200, CURIOUS),
    "objectives.volatility": (0.2, WEIGHED),
    "objectives.max_weight": (0.5, WEIGHED),
    "objectives.enabled": (
        False,
        PPO | {"objectives.enabled": True, "task.private": [], "task.reward": "objectives"},
    ),
    "shaping.weight": (0.1, SHAPED),
    "shaping.max_weight": (0.25, SHAPED | {"shaping.low_entropy": 1.0}),
    "shaping.low_entropy": (1.0, SHAPED),
    "shaping.high_sharpe": (-50.0, SHAPED),
    "shaping.weight_step": (0.05, SHAPED | {"shaping.low_entropy": 1.0}),
    "shaping.warm_up": (200, SHAPED),
    "cloning.balance": (1.0, CLONED | DISCRETE),
    "cloning.number_loss": ("log_prob", CLONED),
    "cloning.train_view": (True, CLONED | LEARNING_ENCODER | {"learner.direct.chunk_bars": 16}),
    "cloning.max_gradient_norm": (1e-3, CLONED),
    "cloning.tolerance_frac": (0.5, CLONED),
    # learners
    "learner.name": ("ppo", {}),
    "learner.ppo.segment_bars": (4, PPO | LEARNING_ENCODER),
    "learner.ppo.encoder_rate": (1.0, PPO | LEARNING_ENCODER),
    "learner.ppo.paired_envs": (2, PPO),
    "learner.ppo.initial_std": (0.3, PPO),
    "learner.ppo.min_std": (0.5, PPO),
    "learner.ppo.kl_stop": (1e-6, PPO),
    "learner.ppo.entropy.target": (0.1, PPO),
    "learner.ppo.entropy.floor": (
        0.5,
        PPO | {"learner.ppo.entropy.coefficient": 0.9, "learner.ppo.entropy.target": 0.01},
    ),
    "learner.ppo.entropy.max_factor": (
        1.0,
        PPO | {"learner.ppo.entropy.target": 1.0, "learner.ppo.entropy.scale": 0.01},
    ),
    "learner.ppo.entropy.warm_up": (100, PPO),
    "learner.ppo.entropy.decay": (0.1, PPO | {"learner.ppo.initial_std": 0.2}),
    "learner.ppo.entropy.guard_entropy": (0.5, GUARDED),
    "learner.ppo.entropy.guard_warm_up": (4_000, GUARDED),
    "learner.ppo.entropy.guard_boost": (1.2, GUARDED),
    "learner.ppo.entropy.guard_max_boost": (1.1, GUARDED),
    "learner.ppo.entropy.guard_cooldown": (6_000, GUARDED),
    "learner.ppo.entropy.guard_patience": (2, GUARDED),
    "learner.ppo.entropy.guard_halts": (
        True,
        GUARDED
        | {
            "learner.ppo.entropy.guard_max_boost": 1.0,
            "learner.ppo.entropy.guard_cooldown": 0,
        },
    ),
    "learner.sac.encoder_rate": (1.0, SAC | LEARNING_ENCODER),
    "learner.sac.buffer_size": (16, SAC),
    "learner.hierarchical_sac.buffer_size": (16, HIERARCHICAL),
    "options.entry_actions": ([0.1, 0.2, 0.4], HIERARCHICAL),
    "options.entry_position_frac": (0.02, HIERARCHICAL),
    "options.entry_most_frac": (0.06, HIERARCHICAL),
    "options.target_frac": (0.03, HIERARCHICAL),
    "learner.direct.noise": (0.5, DIRECT),
    "learner.es.elites": (1.0, ES),
    "learner.impala.initial_std": (0.3, IMPALA),
    "learner.impala.decay": (0.5, IMPALA),
    "learner.impala.ratio_clip": (0.5, IMPALA),
    "learner.impala.trace_clip": (0.5, IMPALA),
    # guards
    "guards.kept_updates": (70, PPO),
    "guards.window": (64, PPO),
    "guards.probe_every": (0, PPO),
    "guards.probe_steps": (16, PPO),
    "learner.hybrid.learner": (
        "direct",
        {"learner.name": "hybrid", "learner.hybrid.gradient_steps": 64},
    ),
    "learner.hybrid.gradient_steps": (256, HYBRID),
    "guards.repeats": (1, PPO),
    "guards.executed_gap": (0.5, DISCRETE),
    "guards.violations": (0.5, DISCRETE),
    "guards.warm_up_steps": (40_000, {}),
    "guards.warm_up_updates": (30, {}),
    "guards.one_action_critical": (0.99, {}),
    "guards.one_option_critical": (0.99, HIERARCHICAL),
    "guards.unexecuted_critical": (0.99, {}),
    "guards.reward_floor": (15.0, {}),
    "guards.reward_scale": (5.0, {}),
    "guards.gradient_floor": (50.0, {}),
    "guards.actor_lag": (
        300.0,
        IMPALA | {"learner.impala.asynchronous": True, "learner.impala.in_processes": True},
    ),
    "guards.stuck_episodes": (10**6, CURRICULUM),
    "guards.one_objective": (0.55, WEIGHED),
    "guards.interventions.boost_factor": (1.2, {}),
    "guards.interventions.by_rule": ([["ONE_ACTION", "halt"]], {}),
    "guards.interventions.on_warning": ("boost_entropy", {}),
    "guards.interventions.on_critical": ("roll_back", {}),
    "guards.interventions.strongest": ("boost_entropy", {}),
    "guards.interventions.roll_back_share": (0.5, {}),
    "guards.interventions.pause_steps": (3_000, {"guards.interventions.on_critical": "pause"}),
}
"""Key → another value, and what must be set for it to act; others get another value by kind."""
CANNOT_SHOW: dict[str, str] = {
    "guards.one_sleeve": "portfolios: unit/learning/guards/test_one_sleeve.py",
    "environment.portfolio.sleeves": "what trades: tests/unit/training/test_environments.py",
    "environment.portfolio.risk_aversion": "the reward: tests/unit/training/test_environments.py",
    "environment.portfolio.embedding_numbers": "what is seen: unit/training/test_sleeve_book.py",
    **{
        f"environment.portfolio.joint.{key}": "agents of a run: unit/training/test_joint_sleeves.py"
        for key in ("rate", "every_updates", "updates", "chunk_bars", "n_envs")
    },
    "learner.sac.hindsight.strategy": "needs goals: unit/learning/sac/test_hindsight_replay.py",
    "learner.sac.hindsight.n_goals": "needs goals: unit/learning/sac/test_hindsight_replay.py",
    **{
        f"learner.hierarchical_sac.hindsight.{key}": "needs goals: unit/learning/hierarchical_sac"
        for key in ("strategy", "n_goals")
    },
    "dataset": "another dataset is other data: tests/unit/training/test_setup.py opens stored ones",
    "scaling.kind": "acts on stored datasets: tests/unit/features/test_panel_scaler.py",
    "scaling.pooling": "acts on stored datasets: tests/unit/features/test_panel_scaler.py",
    "task.rules.account.maintenance_frac": "a short that lost a third: tests/unit/market",
    "task.rules.limits.max_stale_bars": "needs absent bars: tests/unit/risk",
    "task.private": "what agents see: tests/unit/training/test_session.py refuses unknown ones",
    "task.probabilities": "needs a supervised model: tests/unit/evaluation/analyses",
    "encoder.preset": "another network: tests/unit/training/test_preparation.py",
    "encoder.trainable": "another view: tests/unit/training/test_preparation.py",
    "task.rules.account.delisted_after_bars": "needs a missing bar: unit/market/test_delisting.py",
    "task.rules.account.delisting_haircut_frac": "the same",
    "encoder.pretrain": "tests/unit/training/test_preparation.py",
    "encoder.transfer_from": "needs a run: tests/unit/training/test_preparation.py",
    "cloning.enabled": "clones or does not: tests/unit/training/test_preparation.py",
    "validation.shrink": "judged at the end of a run: tests/unit/training/test_session.py",
    "pretraining.mixed_precision": "bfloat16 is for a GPU: tests/unit/learning/pretraining",
    "learner.es.members_at_once": "the same in less memory: tests/unit/learning/es",
    "learner.impala.in_processes": "the same bits elsewhere: tests/unit/learning/impala",
    "learner.impala.asynchronous": "another order: tests/unit/learning/impala",
    "seed": "root of every stream: tests/unit/app/cli/test_train.py",
    "device": "needs another device: tests/unit/training/test_setup.py",
    "threads": "order of sums: docs/how_to/train.md",
    "compile": "the same bits, sooner: tests/parity/test_population_task.py",
    "tracking.mlflow": "part of no result: tests/unit/training/test_callbacks.py",
    "tracking.tensorboard": "part of no result: tests/unit/training/test_callbacks.py",
    "plugins": "filled in by the run: tests/unit/app/cli/test_plugins.py",
}
AREAS: tuple[tuple[str, Measure, Options], ...] = (
    ("market.", effects.opening, {}),
    ("symbols", effects.opening, {}),
    ("features", effects.opening, {}),
    ("splits.", effects.opening, {}),
    ("task.neutral_bars", effects.learned_bars, {"market.params": {"correlation": 0.8}}),
    ("task.", effects.trading, {}),
    ("environment.curriculum.difficulty.", effects.environment, ADAPTIVE),
    ("environment.curriculum.levels", effects.environment, ADAPTIVE),
    ("environment.goal.", effects.environment, GOAL),
    ("environment.", effects.environment, CURRICULUM),
    ("pretraining.", effects.pretraining, PRETRAINED),
    ("auxiliary.", effects.learning, AUXILIARY),
    ("curiosity.", effects.learning, CURIOUS),
    ("shaping.", effects.learning, SHAPED),
    ("objectives.", effects.learning, WEIGHED),
    ("cloning.", effects.cloning, CLONED),
    ("learner.ppo.", effects.learning, PPO),
    ("learner.sac.", effects.learning, SAC),
    ("learner.hierarchical_sac.", effects.learning, HIERARCHICAL),
    ("options.", effects.following_options, HIERARCHICAL),
    ("learner.es.", effects.learning, ES),
    ("learner.impala.", effects.learning, IMPALA),
    ("learner.hybrid.", effects.learning, HYBRID),
    ("learner.", effects.learning, DIRECT),
    ("budget.n_envs", effects.learning, DIRECT),
    ("budget.recency", effects.drawn_starts, {}),
    ("budget.", effects.planning, {}),
    ("validation.factor", effects.attributing, {}),
    ("validation.", effects.planning, {}),
    ("guards.interventions.", effects.intervening, {}),
    ("guards.kept_updates", effects.recording, {}),
    ("guards.window", effects.recording, {}),
    ("guards.probe_", effects.recording, {}),
    ("guards.repeats", effects.recording, {}),
    ("guards.low_entropy", effects.judging, PPO),
    ("guards.entropy_fall", effects.judging, PPO),
    ("guards.one_option", effects.judging, HIERARCHICAL),
    ("guards.distinct_members", effects.judging, ES),
    ("guards.goal_success", effects.judging, GOAL),
    ("guards.intrinsic_share", effects.judging, CURIOUS),
    ("guards.distinct_actions", effects.judging, PPO | {"learner.ppo.rollout_steps": 128}),
    ("guards.", effects.judging, {}),
)
"""Beginning of keys → what is done with them, and settings with which that is small."""
OPENING = (effects.opening, effects.attributing, effects.learned_bars, effects.drawn_starts)
"""What opens the data of a run."""
SETTINGS = {setting.key: setting for setting in training_settings()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workspace")


@pytest.mark.parametrize("key", [key for key in SETTINGS if key not in CANNOT_SHOW])
def test_setting_changes_something(key: str, folder: Path) -> None:
    measure, small = next((each, base) for start, each, base in AREAS if key.startswith(start))
    value, context = CHANGES.get(key, (None, small))
    before = load_train_config("quick", TINY | context)
    value = _other(key, before) if value is None else value
    changed = value if isinstance(value, dict) and key in value else {key: value}
    after = load_train_config("quick", TINY | context | changed)

    usual, other = (_measured(measure, config, folder) for config in (before, after))
    assert any(one != two for one, two in zip_longest(usual, other))


def test_list_of_what_cannot_show_names_settings_alone() -> None:
    assert set(CANNOT_SHOW) <= set(SETTINGS)
    assert set(CHANGES) <= set(SETTINGS)


TERM_OPTIONS = [
    (name, option)
    for name, term in registered_terms().items()
    for option in (None, *term.options.__dataclass_fields__)
]


@pytest.mark.parametrize(("term", "option"), TERM_OPTIONS, ids=lambda each: str(each))
def test_weight_and_option_of_every_reward_term_change_the_reward(
    term: str, option: str | None
) -> None:
    base = {"learner.direct.objective": "reward", "task.reward_weights": {term: 1.0}}
    changed: Options = {"task.reward_weights": {term: 2.0}}
    if option is not None:
        usual = getattr(registered_terms()[term].options(), option)
        changed = {f"task.reward_options.{term}.{option}": _another(usual)}
    before, after = (load_train_config("quick", base | more) for more in ({}, changed))

    assert effects.rewarding(before) != effects.rewarding(after)


class Told:
    """What a measure says of a configuration, asked as far as is read."""

    def __init__(self, measured: Iterator[effects.Numbers]) -> None:
        self._rest = measured
        self._known: list[str] = []

    def __iter__(self) -> Iterator[str]:
        for place in count():
            if place == len(self._known):
                try:
                    self._known.append(repr(next(self._rest)))  # NaN equals NaN
                except StopIteration:
                    return
            yield self._known[place]


@cache
def _kept(measure: Measure, config_hash: str) -> list[Told]:
    return []


def _measured(measure: Measure, config: TrainConfig, folder: Path) -> Told:
    kept = _kept(measure, config.config_hash)
    if not kept:
        asked = (config, folder) if measure in OPENING else (config,)
        kept.append(Told(measure(*asked)))
    return kept[0]


def _other(key: str, config: Any) -> Any:
    """Return another value that is allowed: of a choice the next one, of a number twice as much."""
    setting = SETTINGS[key]
    now: Any = config
    for word in key.split("."):
        now = getattr(now, word)
    if setting.type == "choice":
        choices = [each.strip("` ") for each in setting.range.split(",")]
        return next(each for each in choices if each != str(now))
    if "schedule" in setting.type:
        return 2.0 * now.first
    return _another(now)


def _another(now: Any) -> Any:
    if isinstance(now, bool):
        return not now
    if isinstance(now, tuple):
        return [now[0] + 1]
    if isinstance(now, int):
        return now + 2
    return 0.5 * now if now else 0.5
