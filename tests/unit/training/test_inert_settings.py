"""Settings that cannot act with the rest of a configuration are refused, with what they need."""

from __future__ import annotations

from pathlib import Path

import pytest

from tradingbot.domain.errors import ConfigError
from tradingbot.training.config_files import load_train_config
from tradingbot.training.setup import env_config

HYBRID: dict[str, object] = {"learner.name": "hybrid", "learner.hybrid.gradient_steps": 64}
OPTIONS: dict[str, object] = {
    "learner.name": "hierarchical_sac",
    "task.rules.action.space": "continuous",
}
PPO: dict[str, object] = {"learner.name": "ppo"}
ONE_ACTOR: dict[str, object] = {"learner.name": "impala", "learner.impala.actors": 1}
_DONE = "guards.interventions."
RULE, COEFFICIENT = f"{_DONE}by_rule", "learner.ppo.entropy.coefficient"
ONLOOKER: dict[str, object] = {f"{_DONE}strongest": "warn"}
INERT: list[tuple[dict[str, object], str]] = [
    ({"task.reward": "v31"}, "learner.direct.objective must be reward"),
    ({"task.reward_weights.hold": 0.1}, "learner.direct.objective must be reward"),
    ({"task.reward_weights": {"hold": 0.1}}, "task.reward_weights must act"),
    ({"task.reward_options.pnl.realised_only": True}, "learner.direct.objective must be reward"),
    ({"pretraining.updates": 5}, "an encoder must be pre-trained"),
    ({"encoder.preset": "skip", "encoder.pretrain": False, "pretraining.updates": 5}, "pre-train"),
    ({"auxiliary.weight": 0.5, "encoder.preset": "tiny"}, "encoder.trainable must be true"),
    ({"auxiliary.weight": 0.5}, "encoder.preset not row"),
    ({"auxiliary.segments": 3}, "auxiliary.weight must be above 0"),
    ({"encoder.trainable": True}, "encoder.preset must have weights"),
    ({"cloning.updates": 3}, "cloning.enabled must be true"),
    ({"scaling.kind": "minmax"}, "a dataset must be learned from"),
    ({"dataset": "mine", "market.seed": 9}, "no dataset must be named"),
    ({"task.cost_rates.borrow_frac_per_bar": 1e-5}, "allow_short must be true"),
    ({"task.rules.limits.margin_frac": 2.0}, "allow_short must be true"),
    ({"task.rules.action.hold_zone": 0.2}, "space must be continuous"),
    ({"task.rules.action.max_adds": 1}, "space must be discrete"),
    ({"guards.executed_gap": 0.15}, "space must be discrete"),
    ({"guards.violations": 0.05}, "space must be discrete"),
    ({"learner.sac.batch_size": 8}, "learner.name must be sac, is direct"),
    ({"learner.es.population": 64}, "learner.name must be es, is direct"),
    ({"learner.impala.actors": 2}, "learner.name must be impala, is direct"),
    ({"learner.hybrid.generations": 2}, "learner.name must be hybrid, is direct"),
    (HYBRID | {"learner.sac.batch_size": 8}, "must be sac, is hybrid of"),
    (HYBRID | {"learner.es.actor.hidden": [8]}, "learner.name must be es: in a hybrid"),
    ({"guards.actor_lag": 3.0}, "learner.name must be impala"),
    (
        ONE_ACTOR | {"guards.actor_lag": 3.0},
        "learner.impala.asynchronous must be true",
    ),
    *(
        ({f"guards.{key}": value}, "learner.name must be one that tells an entropy")
        for key, value in {
            "low_entropy": 0.2,
            "low_entropy_critical": 0.2,
            "entropy_fall": 0.4,
            "entropy_fall_updates": 4,
        }.items()
    ),
    ({RULE: [["LOW_ENTROPY", "pause"]]}, "LOW_ENTROPY can never be told: learner.name must"),
    (PPO | {RULE: [["ACTORS_LAG", "halt"]]}, "ACTORS_LAG can never be told: learner.name must be"),
    (PPO | {f"{_DONE}pause_steps": 500}, "on_critical must be pause, or by_rule ask for one"),
    (PPO | ONLOOKER | {f"{_DONE}boost_factor": 2.0}, "strongest must be boost_entropy or more"),
    (PPO | ONLOOKER | {f"{_DONE}max_boost": 2.0}, "strongest must be boost_entropy or more"),
    (PPO | {f"{_DONE}on_critical": "halt", f"{_DONE}boost_factor": 2.0}, "one that boosts: none"),
    (PPO | ONLOOKER | {f"{_DONE}cooldown_steps": 9}, "strongest must be more than warn"),
    (PPO | ONLOOKER | {RULE: [["LOW_ENTROPY", "halt"]]}, "strongest must be more than warn"),
    (PPO | ONLOOKER | {f"{_DONE}roll_back_share": 0.2}, "strongest must be roll_back or halt"),
    (
        PPO | {f"{_DONE}strongest": "pause", f"{_DONE}roll_back_entropy": 1.5},
        "strongest must be roll_back or halt",
    ),
    (PPO | {"learner.ppo.clip.last": 0.1}, "learner.ppo.clip.kind must be linear or cosine"),
    (PPO | {"learner.ppo.clip.over": 9}, "learner.ppo.clip.kind must be linear or cosine"),
    (PPO | {"learner.ppo.clip.hold": 9}, "learner.ppo.clip.kind must be linear or cosine"),
    (PPO | {"learner.ppo.clip.kind": "linear"}, "clip.first and last must differ"),
    (
        PPO | {f"{COEFFICIENT}.kind": "constant", f"{COEFFICIENT}.last": 0.2},
        "coefficient.kind must be linear or cosine",
    ),
    (
        HYBRID | {"learner.ppo.clip.last": 0.1},
        "learner.ppo.clip.kind must be linear or cosine",
    ),
    ({"guards.one_option": 0.5}, "learner.name must be hierarchical_sac"),
    ({"guards.distinct_members": 0.2}, "learner.name must be es or hybrid"),
    ({"guards.stuck_episodes": 5}, "environment.kind must be curriculum"),
    ({"guards.goal_success": 0.1}, "environment.kind must be goal"),
    ({"guards.intrinsic_share": 0.2}, "curiosity.mix must be above 0"),
    ({"guards.one_objective": 0.5}, "objectives.enabled must be true"),
    ({"guards.distinct_actions": 4}, "updates must have 120 steps"),
    (
        {"learner.name": "ppo", "learner.ppo.entropy.target": 0.0}
        | {"learner.ppo.entropy.decay": 0.5},
        "entropy.target must be above 0",
    ),
    (OPTIONS | {"options.scalp_bars": 30}, "options.timeout_bars must be as long"),
    (OPTIONS | {"options.entry_bars": 50}, "options.timeout_bars must be as long"),
    (
        OPTIONS
        | {"learner.hierarchical_sac.reach": 0.0}
        | {"learner.hierarchical_sac.actor.hidden": [8]},
        "reach must be above 0",
    ),
    ({"learner.name": "ppo", "curiosity.mix": 0.1, "curiosity.warm_up": 2_000}, "must be above it"),
    (
        {
            "learner.name": "ppo",
            "shaping.weight": 0.1,
            "shaping.warm_up": 2_000,
            "task.private": [],
        },
        "must be above it",
    ),
    (
        {
            "learner.name": "ppo",
            "learner.ppo.entropy.target": 0.0,
            "learner.ppo.entropy.scale": 1.0,
        },
        "entropy.target must be above 0",
    ),
    (
        {
            "learner.name": "ppo",
            "learner.ppo.entropy.guard_entropy": 0.0,
            "learner.ppo.entropy.guard_halts": True,
        },
        "guard_entropy must be above 0",
    ),
]


@pytest.mark.parametrize(("options", "words"), INERT, ids=lambda each: str(each)[:50])
def test_option_that_cannot_act_is_refused_with_what_it_needs(
    options: dict[str, object], words: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load_train_config("quick", options)

    assert words in str(caught.value)
    assert "must act" in str(caught.value)


ACTING: list[dict[str, object]] = [
    {"auxiliary.weight": 0.5, "encoder.preset": "mlp", "encoder.trainable": True},
    {"task.reward": "v31", "learner.direct.objective": "reward"},
    {"task.reward": "v31", "learner.name": "ppo"},
    {"task.reward": "log_growth"},  # as it is anyway
    {"encoder.preset": "skip", "pretraining.updates": 5},
    {"cloning.enabled": True, "cloning.updates": 3},
    {"dataset": "mine", "scaling.kind": "minmax"},
    {"task.rules.limits.allow_short": True, "task.cost_rates.borrow_frac_per_bar": 1e-5},
    {"learner.name": "sac", "learner.sac.batch_size": 8},
    HYBRID | {"learner.es.population": 8, "learner.ppo.minibatch": 8},
    {"learner.name": "es", "learner.es.actor.hidden": [8], "guards.distinct_members": 0.2}
    | {"learner.es.population": 2},
    {"learner.name": "ppo", "guards.distinct_actions": 4},
    ONE_ACTOR | {"learner.impala.asynchronous": True, "guards.actor_lag": 3.0},
    ONE_ACTOR | {"guards.actor_lag": 0.5},  # every lag but the first is above it
    {"learner.name": "es", "guards.low_entropy_critical": 0.2, RULE: [["LOW_ENTROPY", "pause"]]}
    | {f"{_DONE}pause_steps": 100, "learner.es.population": 2},
    PPO | {f"{_DONE}on_critical": "pause", f"{_DONE}pause_steps": 500},
    PPO | {f"{_DONE}strongest": "pause", f"{_DONE}pause_steps": 500},  # after boosts
    # Weights that are not finite take a run back whatever is allowed, and halt it in the end.
    PPO | ONLOOKER | {f"{_DONE}max_roll_backs": 3, f"{_DONE}roll_back_learning_rate": 0.1},
    PPO | {"learner.ppo.clip": 0.1},
    PPO | {"learner.ppo.clip.first": 0.1, "learner.ppo.clip.last": 0.1},
    PPO | {"learner.ppo.clip.kind": "linear", "learner.ppo.clip.last": 0.1},
    OPTIONS | {"options.scalp_bars": 20, "guards.one_option": 0.5, "task.private": []},
]


@pytest.mark.parametrize("options", ACTING, ids=lambda each: str(each)[:50])
def test_option_beside_what_it_needs_is_accepted(options: dict[str, object]) -> None:
    load_train_config("quick", options)


def test_file_of_ones_own_is_asked_about_and_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("extends: quick\ntask:\n  reward: v31\n")
    with pytest.raises(ConfigError, match=r"task.reward must act.*mine.yaml:3"):
        load_train_config(path)

    # A number that a constant never gets to is a trap in a file too.
    path.write_text("extends: quick\nlearner: {name: ppo, ppo: {clip: {first: 0.2, last: 0.1}}}\n")
    with pytest.raises(ConfigError, match=r"clip.last must act.*mine.yaml:2"):
        load_train_config(path)

    # Sections of several learners are alternatives, to be chosen among by an option.
    path.write_text("extends: quick\nlearner:\n  sac: {batch_size: 8}\n")
    assert load_train_config(path).learner.name == "direct"


def test_weights_options_and_cost_rates_reach_the_environment_from_yaml_and_options(
    tmp_path: Path,
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "extends: quick\n"
        "learner: {direct: {objective: reward}}\n"
        "task:\n"
        "  reward: v31\n"
        "  reward_weights: {hold: 0.5, diversity: 0.0}\n"
        "  reward_options: {hold: {winner: -0.02}, pnl: {realised_only: true}}\n"
        "  costs: retail\n"
        "  cost_rates: {slippage_frac: 0.0003}\n"
    )

    env = env_config(load_train_config(path, {"task.reward_options.pnl.pyramiding": 2.0}))

    layers = {layer.term.name: layer for layer in env.reward_stack.layers}
    assert layers["hold"].weight == 0.5
    assert "diversity" not in layers
    assert layers["hold"].options.winner == -0.02
    assert (layers["pnl"].options.realised_only, layers["pnl"].options.pyramiding) == (True, 2.0)
    assert (env.costs.slippage_frac, env.costs.commission_frac) == (0.0003, 10e-4)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"task.cost_rates.comission_frac": 0.1}, "Did you mean 'commission_frac'"),
        ({"task.cost_rates.slippage_frac": 1.0}, r"slippage_frac must lie in [0, 1)"),
        ({"task.cost_rates.slippage_frac": -1.0}, "must be at least 0"),
    ],
)
def test_rate_that_is_unknown_or_out_of_range_is_refused(
    options: dict[str, object], words: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        env_config(load_train_config("quick", options))

    assert words in str(caught.value)


def test_older_runs_keep_the_hash_that_they_had() -> None:
    mapping = load_train_config("quick", {"learner.name": "ppo"}).as_mapping()

    assert "cost_rates" not in mapping["task"]
    assert not {"warm_up", "decay"} & set(mapping["learner"]["ppo"]["entropy"])
