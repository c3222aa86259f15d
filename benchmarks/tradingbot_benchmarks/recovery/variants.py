"""What is laid over the preset `first_version` in each row of the table: single tools and steps.

Every row has the base's accounts, limits, symbols, bars and costs. A step of one learner is no step
of another (a member of a population, a gradient step), so that budgets are set to about the same
seconds of one core; steps and seconds stand beside each result.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tradingbot.domain.errors import ConfigError, suggest

Options = Mapping[str, object]

BASE: Options = {
    "task.cost_rates.slippage_frac": 0.0001,
    "task.cost_rates.commission_frac": 0.00002,
    "budget.steps_per_agent": 262_144,
    "validation.every_updates": 16,
    "validation.save_every_updates": 32,
    "threads": 1,
    "tracking.mlflow": "off",
    "tracking.tensorboard": "off",
}
"""1.2 bp one way, as Alpaca's: at the first version's 110 bp there is nothing to be earned by any
tool. 64 updates."""
_HEAD: Options = {"hidden": [32], "activation": "relu", "pooling": "independent"}
_CONTINUOUS: Options = {
    "task.rules.action": {"space": "continuous", "hold_zone": 0.1, "smoothing_bars": 3}
}
_GRADIENTS: Options = {
    "learning_rate": {"kind": "constant", "first": 0.001},
    "temperature_rate": 0.001,
    "temperature": 0.1,
    "batch_size": 64,
    "warm_up": 1_000,
    "discount": 0.99,
    "steps_per_update": 128,
}
_SAC: Options = {
    **_CONTINUOUS,
    "learner": {"name": "sac", "sac": {"actor": _HEAD, "critic": _HEAD, **_GRADIENTS}},
    "budget.steps_per_agent": 81_920,
    "budget.n_envs": 16,
    "validation.every_updates": 10,
}
"""40 updates of 128 gradient steps."""
_LEVELS: Options = {"actor": _HEAD, "critic": _HEAD, "controller": _HEAD}
_OPTIONS: Options = {
    **_SAC,
    "learner": {
        "name": "hierarchical_sac",
        "hierarchical_sac": {**_LEVELS, **_GRADIENTS},
    },
    "options.trend_gap_frac": 0.004,
    "budget.steps_per_agent": 40_960,
}
_ASKED: Options = {
    "environment": {
        "kind": "goal",
        "goal": {
            "return_range_frac": [0.0, 0.006],
            "drawdown_range_frac": [1.0, 1.0],
            "reward": "sparse",
            "tolerance_frac": 0.001,
            "asked_return_frac": 0.006,
            "asked_drawdown_frac": 1.0,
        },
    },
    "task.rules.episode": {"episode_bars": 64, "window_bars": 24},
}
"""A return of 0.6 % in 64 bars with 15 % of the account: 4 % of what is traded with."""
_RELABELLED: Options = {
    "scale_rewards": False,
    "hindsight": {"strategy": "future", "n_goals": 4},
}
_GOALS: Options = {
    **_SAC,
    **_ASKED,
    "learner": {
        "name": "sac",
        "sac": {
            "actor": _HEAD,
            "critic": _HEAD,
            **_GRADIENTS,
            **_RELABELLED,
        },
    },
}
_OPTIONS_IN_HINDSIGHT: Options = {
    **_OPTIONS,
    **_ASKED,
    "learner": {
        "name": "hierarchical_sac",
        "hierarchical_sac": {**_LEVELS, **_GRADIENTS, **_RELABELLED},
    },
}
_CURIOSITY: Options = {"curiosity.mix": 0.1, "curiosity.hidden": [32]}
_OBJECTIVES: Options = {"task.reward": "objectives", "objectives.enabled": True}
_SHAPING: Options = {"shaping.weight": 0.1}
_ES: Options = {
    "learner": {"name": "es", "es": {"actor": _HEAD}},
    "budget.steps_per_agent": 6_579_200,
    "budget.n_envs": 5,
    "validation.every_updates": 20,
}
"""80 generations of 257 · 64 steps in five environments."""
_IMPALA: Options = {
    "learner": {
        "name": "impala",
        "impala": {
            "actor": _HEAD,
            "critic": {**_HEAD, "output_gain": 1.0},
            "in_processes": False,
            "minibatch": 512,
            "learning_rate": {"kind": "constant", "first": 0.003},
        },
    },
    "budget.steps_per_agent": 307_200,
    "validation.every_updates": 24,
}
"""96 updates of 100 steps."""

VARIANTS: Mapping[str, Options] = MappingProxyType(
    {
        "first_version": {},
        "sac": _SAC,
        "curiosity": _CURIOSITY,
        "options": _OPTIONS,
        "hindsight": _GOALS,
        "objectives": _OBJECTIVES,
        "shaping": _SHAPING,
        "vtrace": _IMPALA,
        "es": _ES,
        "hybrid": {
            "learner.name": "hybrid",
            "learner.es": {"population": 64, "bars": 32},
            "learner.hybrid": {"generations": 4, "gradient_steps": 32_768},
            "budget.steps_per_agent": 720_000,
        },
        "log_growth": {"task.reward": "log_growth"},
        "sac log_growth": {**_SAC, "task.reward": "log_growth"},
        "clip_schedule": {
            "learner.ppo.clip": {"kind": "linear", "first": 0.3, "last": 0.1, "over": 262_144}
        },
        "curriculum": {"environment.kind": "curriculum"},
        "A": {**_SAC, **_CURIOSITY},
        "B": _OPTIONS_IN_HINDSIGHT,
        "C": {**_SAC, **_CURIOSITY, **_OBJECTIVES, **_SHAPING},
        "D vtrace": {**_CONTINUOUS, **_IMPALA, "task.reward": "objectives"},
        "D es": {**_CONTINUOUS, **_ES, "task.reward": "objectives"},
    }
)
"""Row of the table → options over `first_version` and `BASE`. Tools alone first, then the steps of
the plan. Its step B is options towards goals in hindsight, without A's curiosity: what another goal
pays is known, what curiosity would have paid is not."""


def require_variant(name: str) -> Options:
    """Return the options of a row.

    Raises:
        ConfigError: If there is no such row.
    """
    if name not in VARIANTS:
        raise ConfigError(
            "variant must be a known one", was=repr(name), remedy=suggest(name, VARIANTS)
        )
    return VARIANTS[name]
