from __future__ import annotations

import pytest
import torch

from tradingbot.domain.errors import ConfigError
from tradingbot.learning.generators import generator_state, make_generator, set_generator_state


def draw(generator: torch.Generator) -> list[float]:
    return torch.rand(3, generator=generator).tolist()


def test_stream_depends_on_seed_and_names_alone() -> None:
    assert draw(make_generator(1, "a")) == draw(make_generator(1, "a"))
    assert draw(make_generator(1, "a")) != draw(make_generator(2, "a"))
    assert draw(make_generator(1, "a")) != draw(make_generator(1, "b"))


def test_restored_state_draws_the_same_numbers() -> None:
    generator, other = make_generator(1), make_generator(2)
    draw(generator)
    state = generator_state(generator)
    expected = draw(generator)

    set_generator_state(other, state)

    assert draw(other) == expected
    assert state.dtype == torch.uint8


def test_state_of_another_kind_is_refused() -> None:
    with pytest.raises(ConfigError, match="generator state must be uint8"):
        set_generator_state(make_generator(1), torch.zeros(16, dtype=torch.uint8))
