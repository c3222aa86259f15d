"""Learners by name: found, registered, refused; names cost no import of torch."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, replace

import pytest

from tradingbot.domain.errors import ConfigError
from tradingbot.learning.catalogue import (
    known_learners,
    learner_spec,
    register_learner,
    unregister_learner,
)
from tradingbot.learning.learner_spec import LearnerSpec
from tradingbot.learning.ppo.config import PPOConfig
from tradingbot.learning.task import ActionSpec


def test_every_known_learner_has_a_spec_of_its_name() -> None:
    assert known_learners()[:3] == ("ppo", "sac", "direct")
    sections = {name: learner_spec(name).config() for name in known_learners()}
    for name in known_learners():
        found = learner_spec(name).resolve(sections, learner_spec)
        assert found.spec.name == name
        assert found.spec.steps_of_update(found.settings) >= 1


def test_unknown_learner_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(ConfigError, match=r"learner must be a known one, was 'dirct'.*'direct'"):
        learner_spec("dirct")


def test_registered_learner_is_known_until_it_is_forgotten() -> None:
    spec = replace(learner_spec("ppo"), name="ppo_of_mine")
    try:
        assert register_learner(spec) is spec
        assert register_learner(spec) is spec  # a module that is imported twice
        assert known_learners()[-1] == "ppo_of_mine"
        assert learner_spec("ppo_of_mine") is spec
        with pytest.raises(ConfigError, match=r"learner name must be free, was 'ppo_of_mine'"):
            register_learner(replace(spec, steps_per_update="n_epochs"))
    finally:
        unregister_learner("ppo_of_mine")
    assert "ppo_of_mine" not in known_learners()


def test_name_of_a_learner_of_the_package_is_taken() -> None:
    with pytest.raises(ConfigError, match=r"learner name must be free, was 'sac'"):
        register_learner(replace(learner_spec("ppo"), name="sac"))


@dataclass(frozen=True)
class Settings:
    bars: int = 4


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"name": "name"}, "no other key of the section learner, was 'name'"),
        ({"name": "a b"}, "must be a word"),
        ({"config": int}, "must be a dataclass"),
        ({"steps_per_update": ""}, "must have the field its spec names, was ''"),
        ({"steps_per_update": "steps"}, "must have the field its spec names, was 'steps'"),
        ({"warm_up": "warm"}, "must have the field its spec names, was 'warm'"),
        ({"critic_prefix": "critic."}, "must have the field its spec names, was 'critic'"),
    ],
)
def test_spec_that_cannot_be_configured_is_refused(changes: dict[str, object], rule: str) -> None:
    spec = LearnerSpec(
        "toy",
        Settings,
        learner_spec("ppo").build,
        learner_spec("ppo").actor_layout,
        ("box",),
        "bars",
    )
    with pytest.raises(ConfigError, match=rule):
        replace(spec, **changes)


def test_layouts_say_where_actors_are_and_how_outputs_are_read() -> None:
    box, codes = ActionSpec("box", 0, 0.0, 1.0), ActionSpec("discrete", 4)
    layouts = {
        name: learner_spec(name).actor_layout(learner_spec(name).config(), box, ("size",))
        for name in ("ppo", "sac", "direct")
    }
    assert {name: each.prefix for name, each in layouts.items()} == {
        "ppo": "heads.actor.",
        "sac": "actor.",
        "direct": "actor.",
    }
    assert {name: each.n_outputs for name, each in layouts.items()} == {
        "ppo": 2,
        "sac": 2,
        "direct": 1,
    }
    discrete = learner_spec("ppo").actor_layout(PPOConfig(), codes, ())
    assert (discrete.n_outputs, discrete.squash) == (4, None)


def test_names_alone_import_no_tensors() -> None:
    code = (
        "import sys; from tradingbot.learning.catalogue import known_learners; known_learners();"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
