"""What sleeves do is kept at the bar it was done, and the bar after each close beside it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tradingbot.envs.build_world import synthetic_world
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.portfolio.sleeves import SleevePaths, run_sleeves, write_book
from tradingbot.envs.starting import first_ready_bar
from tradingbot.envs.world import World
from tradingbot.market.bars import BAR_COLUMNS, tensor_market
from tradingbot.market.params import EpisodeRules, SimulatorParams

N = 2
CONFIG = EnvConfig(rules=SimulatorParams(episode=EpisodeRules(window_bars=1)))


@pytest.fixture(scope="module")
def world() -> World:
    return synthetic_world("regimes", n_symbols=N, n_bars=400, seed=4)


def test_confidence_and_proposal_are_those_of_the_bar_of_the_decision(world: World) -> None:
    """An agent that asks for what its bar alone tells is seen with it at that bar, not before."""
    first = first_ready_bar(world)

    def decide(rows: torch.Tensor, private: torch.Tensor) -> torch.Tensor:
        return ((rows % world.n_bars) % 7 / 7.0 - 0.5).float()

    paths = run_sleeves(world, CONFIG, decide)
    book = write_book(world, paths)

    bars = np.arange(first, world.n_bars - 1)
    asked = np.repeat((bars % 7 / 7.0 - 0.5)[:, None], N, axis=1)
    for name, expected in (("proposal", asked), ("confidence", np.abs(asked))):
        shown = book.column(name).numpy()
        assert shown[bars] == pytest.approx(expected, abs=1e-6)
        assert (shown[:first] == 0.0).all()
        assert (shown[-1] == 0.0).all()


def test_rows_hold_volume_and_volatility_of_the_bar_after_each_close(world: World) -> None:
    book = write_book(world, SleevePaths.empty(world.n_bars, N))
    market = tensor_market(world.prices, world.present, dtype=torch.float64)
    by_bar = market.rows.view(N, world.n_bars, -1).movedim(1, 0)
    column = {name: by_bar[..., place] for place, name in enumerate(BAR_COLUMNS)}

    assert not torch.equal(column["volatility"][1:], column["volatility"][:-1])
    assert torch.equal(book.rows[:-1, 6], column["volatility"][1:])
    assert torch.equal(book.rows[:-1, 5], (column["volume"] * column["open"])[1:])
    assert (book.rows[-1, 5:] == 0.0).all()
