"""Spaces: shapes, bounds that hold, and the layout of a flat row."""

from __future__ import annotations

from itertools import pairwise

import gymnasium as gym
import numpy as np
import pytest

from tradingbot.envs import EnvConfig, World, synthetic_world
from tradingbot.envs.spaces import (
    PARTS,
    action_space,
    dict_space,
    flat_space,
    flatten,
    flatten_layout,
    observation_space,
)


@pytest.fixture(scope="module")
def world() -> World:
    return synthetic_world("regimes", n_symbols=2, n_bars=300, seed=2)


def test_dict_space_has_the_five_parts_of_the_specification(world: World) -> None:
    space = dict_space(world, EnvConfig(observation="dict"))

    shapes = {name: part.shape for name, part in space.spaces.items()}
    assert shapes == {
        "technical": (24, 23),
        "probabilities": (3,),
        "position": (8,),
        "portfolio": (10,),
        "regime": (10,),
    }
    for part in space.spaces.values():
        assert isinstance(part, gym.spaces.Box)
        assert part.dtype == np.float32
        assert part.is_bounded()
        assert (part.low < part.high).all()


def test_layout_covers_a_flat_row_without_gap_or_overlap(world: World) -> None:
    layout = flatten_layout(world, EnvConfig())

    assert [part.name for part in layout] == list(PARTS)
    assert layout[0].start == 0
    for part, following in pairwise(layout):
        assert part.stop == following.start
    assert layout[-1].stop == flat_space(world, EnvConfig()).shape[0] == 24 * 23 + 31


@pytest.mark.parametrize("form", ["dict", "vectors"])
def test_flattening_puts_every_part_where_the_layout_says(world: World, form: str) -> None:
    config = EnvConfig(observation=form)  # type: ignore[arg-type]
    space = dict_space(world, config)
    space.seed(3)
    sample = space.sample()

    row = flatten(sample)

    for part in flatten_layout(world, config):
        assert np.array_equal(row[part.columns].reshape(part.shape), sample[part.name])
    assert flat_space(world, config).contains(row)


def test_names_of_a_layout_name_the_last_axis(world: World) -> None:
    for form in ("dict", "vectors", "flat"):
        for part in flatten_layout(world, EnvConfig(observation=form)):  # type: ignore[arg-type]
            assert len(part.names) == part.shape[-1]
    vectors = flatten_layout(world, EnvConfig(observation="vectors"))[0]
    assert vectors.names[0] == "open@-23"
    assert vectors.names[-1] == "weekday_cos@0"


def test_form_of_the_observation_chooses_the_space(world: World) -> None:
    assert isinstance(observation_space(world, EnvConfig()), gym.spaces.Dict)
    assert isinstance(observation_space(world, EnvConfig(observation="flat")), gym.spaces.Box)
    rows = observation_space(world, EnvConfig(observation="vectors"))
    assert isinstance(rows, gym.spaces.Dict)
    assert rows["technical"].shape == (552,)


def test_action_spaces_are_a_box_or_seven_codes() -> None:
    assert action_space("discrete") == gym.spaces.Discrete(7)
    for space in ("continuous", "target"):
        assert action_space(space) == gym.spaces.Box(-1.0, 1.0, (1,), np.float32)
