"""A run over options: its checkpoint acts as the learner did; what cannot be served is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from tradingbot.agents.option_policy import OptionPolicy
from tradingbot.domain.errors import ConfigError
from tradingbot.evaluation.analyses.policy_analysis.option_use import (
    RecordedOptions,
    use_of_options,
)
from tradingbot.evaluation.backtest import backtest
from tradingbot.runs import RunDirectory
from tradingbot.runs.policy import load_policy
from tradingbot.serving.export.run_export import _require_exportable
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import load_train_config, override_config
from tradingbot.training.data import TrainingData, open_data
from tradingbot.training.opponents import span_of
from tradingbot.training.run_policy import LearnerPolicy, open_policy
from tradingbot.training.session import begin_run
from tradingbot.training.setup import build_training_setup

_SECTION = "learner.hierarchical_sac"
HIDDEN = {f"{_SECTION}.{key}.hidden": [8] for key in ("actor", "critic", "controller")}
SMALL = {
    "market.start": "2025-03-01",
    "symbols": ["SPY", "AAPL"],
    "task.rules.episode.episode_bars": 32,
    "budget.steps_per_agent": 256,
    "budget.n_envs": 4,
    "learner.hierarchical_sac.warm_up": 64,
    "learner.hierarchical_sac.batch_size": 8,
    "learner.hierarchical_sac.steps_per_update": 16,
    "validation.every_updates": 2,
    "validation.save_every_updates": 2,
    "validation.shrink": False,
    "tracking.mlflow": "off",
    "tracking.tensorboard": "off",
    "guards.warm_up_updates": 50,
    "seed": 3,
    **HIDDEN,
}


@pytest.fixture(scope="module", params=["options", "recovery_b"])
def trained(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[RunDirectory, TrainConfig, Path]:
    """Train over options, alone and towards goals in hindsight."""
    workspace, config = (
        tmp_path_factory.mktemp("workspace"),
        load_train_config(request.param, SMALL),
    )
    return begin_run(config, workspace).run, config, workspace


def test_stored_policy_trades_as_the_learner_does(
    trained: tuple[RunDirectory, TrainConfig, Path],
) -> None:
    run, config, workspace = trained
    data: TrainingData = open_data(config, workspace)
    stored = open_policy(run, data)
    setup = build_training_setup(config, data, seed=3)
    loaded = load_policy(run)
    for name, network in setup.learner.networks().items():
        network.load_state_dict(
            {key: loaded.checkpoint.agent[f"{name}.{key}"] for key in network.state_dict()}
        )
    ours = LearnerPolicy(setup.learner.task, setup.learner.act)
    span = span_of(data, data.split.test)

    watched = RecordedOptions(stored)
    one, other = (
        backtest(data.world, setup.env, policy, name="agents", **span) for policy in (watched, ours)
    )

    assert isinstance(stored, OptionPolicy)
    np.testing.assert_allclose(one.action, other.action, atol=1e-5)
    np.testing.assert_allclose(one.equity, other.equity, rtol=1e-6)
    assert np.abs(one.action).max() > 0.2
    begun = torch.stack(watched.begun)
    assert bool(begun[0].all())
    assert float(begun.double().mean()) < 0.7  # most options last longer than a bar
    assert (loaded.acting.goal is not None) == (config.environment.kind == "goal")
    assert loaded.acting.options is not None
    assert loaded.acting.options.rules["trend_gap_frac"] == 0.004


def test_what_cannot_be_served_is_refused(trained: tuple[RunDirectory, TrainConfig, Path]) -> None:
    loaded = load_policy(trained[0])
    with pytest.raises(ConfigError, match="must act by one head to be exported"):
        _require_exportable(loaded)
    with pytest.raises(ConfigError, match="must act on a table of bars"):
        loaded.live()


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"task.rules.action.space": "target"}, "must be continuous for hierarchical_sac"),
        (
            {"environment.kind": "curriculum", f"{_SECTION}.hindsight.strategy": "off"},
            "must be population or goal without cloning",
        ),
        ({"environment.kind": "population"}, "hindsight.strategy must be off outside environment"),
        ({"learner.name": "sac", "options.scalp_bars": 3}, "must act; learner.name must be hier"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(
    changes: dict[str, object], rule: str
) -> None:
    with pytest.raises(ConfigError, match=rule):
        load_train_config("recovery_b", {"seed": 1, **changes})


def test_agents_that_do_not_show_their_accounts_are_refused(tmp_path: Path) -> None:
    """Though what said so was not read by the rules of settings, as in a run of before."""
    config = override_config(load_train_config("recovery_b", SMALL), {"task.private": ["size"]})
    with pytest.raises(ConfigError, match="options must see position, entry and return"):
        build_training_setup(config, open_data(config, tmp_path), seed=1)


def test_use_of_options_is_counted_by_choice_by_bar_and_by_regime() -> None:
    followed = np.array([[0, 2], [0, 2], [1, 2], [1, 0]])
    begun = np.array([[True, True], [False, False], [True, False], [True, True]])

    found = use_of_options(("a", "b", "c"), followed, begun, np.array([0, 0, 1, -1]))

    assert found.chosen_frac == (0.4, 0.4, 0.2)
    assert found.steps_frac == (3 / 8, 2 / 8, 3 / 8)
    assert found.mean_bars == 8 / 5
    assert found.by_regime[0] == (0.5, 0.0, 0.5)
    assert found.by_regime[1] == (0.0, 0.5, 0.5)
    assert np.isnan(found.by_regime[3]).all()
