"""A learner of one file and one line is configured, trained, resumed, stored and opened alike."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from fixtures.page_learner import NAME, page_learner
from fixtures.run_bits import fingerprint
from fixtures.tiny_training import tiny_config
from tradingbot.domain.errors import ConfigError
from tradingbot.envs.world import cut_world
from tradingbot.evaluation.analyses.ablation import automatic_variants
from tradingbot.evaluation.analyses.retraining.spec import RetrainingSpec, retraining_config
from tradingbot.evaluation.rollout import roll_out
from tradingbot.learning.catalogue import register_learner, unregister_learner
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import config_of_mapping, load_train_config
from tradingbot.training.data import open_data
from tradingbot.training.preparation import prepare_training_setup
from tradingbot.training.run_policy import open_policy
from tradingbot.training.session import SessionCallbacks, begin_run, resume_session
from tradingbot.training.setup import env_config


@pytest.fixture(autouse=True)
def _registered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    register_learner(page_learner(tmp_path_factory.mktemp("learner")))
    yield
    unregister_learner(NAME)


def config_with(**options: object) -> TrainConfig:
    return tiny_config(
        learner__name=NAME,
        learner__hill_climbing__bars=8,
        learner__hill_climbing__reach=0.5,
        validation__shrink=False,
        **options,
    )


def test_its_section_is_read_checked_hashed_and_read_back() -> None:
    config = config_with()

    assert config.learner.settings.bars == 8
    assert set(config.as_mapping()["learner"]) == {"name", NAME}
    again = config_of_mapping(json.loads(json.dumps(config.as_mapping())))
    assert again.config_hash == config.config_hash
    assert config_with(learner__hill_climbing__actor__hidden="[4]").config_hash != again.config_hash
    with pytest.raises(ConfigError, match=r"learner.name must be .* or direct, is hill"):
        config_with(encoder__preset="mlp", encoder__trainable=True, auxiliary__weight=1.0)
    for key, rule in (
        ("learner.hill_climbing.bar", r"section 'learner.hill_climbing', was 'bar'.*'bars'"),
        ("learner.hil_climbing.bars", r"section 'learner', was 'hil_climbing'.*'hill_climbing'"),
    ):
        with pytest.raises(ConfigError, match=rule):
            load_train_config("quick", {key: 3})
    with pytest.raises(ConfigError, match=r"or 'hill_climbing', was 'nothing'"):
        load_train_config("quick", {"learner.name": "nothing"})
    with pytest.raises(ConfigError, match=r"must be ppo.* for discrete actions, was hill_climbing"):
        config_with(task__rules__action__space="discrete")
    with pytest.raises(ConfigError, match=r"learner.hill_climbing.bars × budget.n_envs"):
        config_with(budget__steps_per_agent=3)


def test_configurations_of_other_learners_hash_as_before() -> None:
    known = load_train_config("quick").config_hash
    unregister_learner(NAME)
    assert load_train_config("quick").config_hash == known


def test_it_trains_resumes_to_the_same_bits_and_acts_from_its_checkpoint(tmp_path: Path) -> None:
    config = config_with()
    whole = begin_run(config, tmp_path / "whole", name="run")
    stops = iter([False, False, False, False, True, *[False] * 99])
    left = begin_run(
        config, tmp_path, SessionCallbacks(interrupted=lambda: next(stops)), name="run"
    )

    assert left.result is None
    resumed = resume_session("run", tmp_path).run
    assert fingerprint(resumed) == fingerprint(whole.run)
    assert resumed.record.learner == NAME

    data = open_data(config, tmp_path)
    part = data.split.test
    policy = open_policy(resumed, data, part)
    rolled = roll_out(
        cut_world(data.world, part.start, part.stop - 1), env_config(config), {"agents": policy}
    )
    earned = rolled.equity[-1, 0] / rolled.initial_cash_ccy - 1.0
    parts = json.loads((resumed.path / "result.json").read_text())["parts"]
    stored = next(each for each in parts if each["part"] == "test")["agents"]
    np.testing.assert_allclose(
        earned, [agent["total_return_frac"] for agent in stored], rtol=1e-4, atol=1e-6
    )
    assert np.abs(earned).max() > 1e-4


def test_it_learns_something_in_the_setup_and_can_be_cloned_into(tmp_path: Path) -> None:
    config = config_with(cloning__enabled=True, cloning__updates=2)
    data = open_data(config, tmp_path)

    setup = prepare_training_setup(config, data, seed=1)
    gains = [setup.learner.update().metrics["policy/gain"] for _ in range(4)]

    assert setup.learner.name == NAME
    assert setup.cloner is not None
    assert setup.cloner.finished
    assert setup.cloner.actor is setup.learner.networks()["actor"]
    assert setup.cloner.config.squash_gain == 1.0  # of its own layout
    assert any(float(gain.abs().sum()) > 0.0 for gain in gains)


def test_dossiers_retrain_and_ablate_it() -> None:
    config = config_with()

    short = retraining_config(RetrainingSpec(3, 0.5), config)

    assert short.budget.steps_per_agent == 48  # six updates of 4 bars in 2 environments
    assert short.learner.settings == config.learner.settings
    assert "learner.hill_climbing.actor.pooling=independent" in automatic_variants(config)
