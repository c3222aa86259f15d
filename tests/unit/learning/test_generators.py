from __future__ import annotations

import pytest
import torch

from tradingbot.domain.errors import ConfigError
from tradingbot.learning.generators import (
    begin_another,
    generator_state,
    make_generator,
    set_generator_state,
)


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


def test_another_stream_differs_by_number_and_is_the_same_for_who_resumes() -> None:
    def drawn(*numbers: int, resumed: bool = False) -> list[float]:
        generator = make_generator(7, "policy")
        torch.rand(5, generator=generator)
        if resumed:
            state, generator = generator_state(generator), make_generator(8, "policy")
            set_generator_state(generator, state)
        for number in numbers:
            begin_another(generator, number)
        return torch.rand(3, generator=generator).tolist()

    assert drawn(1) == drawn(1) == drawn(1, resumed=True)
    assert len({tuple(drawn(*numbers)) for numbers in ((), (1,), (2,), (1, 2))}) == 4
