"""Renders: text that tells, pictures in which everything can be found."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from tradingbot.domain.errors import MissingExtraError, UserError
from tradingbot.envs import EnvConfig, TradingEnv, World, synthetic_world, world_from_bars
from tradingbot.envs.single.render import HEIGHT_POINTS, WIDTH_POINTS
from tradingbot.market.params import AccountRules, EpisodeRules, SimulatorParams

CONFIG = EnvConfig(rules=SimulatorParams(episode=EpisodeRules(episode_bars=60)))


@pytest.fixture(scope="module")
def world() -> World:
    return synthetic_world("regimes", n_symbols=2, n_bars=400, seed=4)


def traded(world: World, mode: str, *, config: EnvConfig = CONFIG, n_steps: int = 30) -> TradingEnv:
    env = TradingEnv(world, config, render_mode=mode)  # type: ignore[arg-type]
    env.reset(seed=3)
    for step in range(n_steps):
        env.step(1.0 if step % 10 < 5 else -1.0)
    return env


def test_text_tells_symbol_position_equity_and_what_happened(world: World) -> None:
    env = traded(world, "ansi", n_steps=1)
    lines = env.render().splitlines()

    assert len(lines) == 5
    assert lines[0].startswith("S0")
    assert "UTC  step 1  SYNTHETIC DATA" in lines[0]
    assert "of equity" in lines[1]
    assert "cash" in lines[2]
    assert "BUY_" in lines[4]
    assert "bought" in lines[4]


def test_text_says_who_closed_a_position_and_who_denied_an_order(world: World) -> None:
    tight = AccountRules(stop_loss_frac=1e-4)
    config = EnvConfig(rules=SimulatorParams(account=tight, episode=EpisodeRules(episode_bars=60)))

    assert "closed by STOP_LOSS" in traded(world, "ansi", config=config, n_steps=2).render()

    stale = world_from_bars(world.prices, _halted(world), world.closed_at, world.symbols)
    env = TradingEnv(stale, CONFIG, render_mode="ansi")
    env.reset(seed=3, options={"bar": 300})
    env.step(0.0)
    env.step(1.0)
    assert "denied by STALE_DATA" in env.render()


def test_observed_data_is_not_called_synthetic(world: World) -> None:
    observed = world_from_bars(world.prices, world.present, world.closed_at, world.symbols)

    assert "SYNTHETIC" not in traded(observed, "ansi").render()


def test_picture_has_its_size_and_changes_with_the_episode(world: World) -> None:
    env = TradingEnv(world, CONFIG, render_mode="rgb_array")
    env.reset(seed=3)
    empty = env.render()
    picture = traded(world, "rgb_array").render()

    for image in (empty, picture):
        assert image.shape == (HEIGHT_POINTS, WIDTH_POINTS, 3)
        assert image.dtype == np.uint8
    assert (empty != picture).mean() > 0.01


@pytest.mark.parametrize(
    ("colour", "what"), [((0, 158, 115), "buys"), ((213, 94, 0), "sells"), ((0, 0, 0), "closes")]
)
def test_picture_shows_fills_in_their_colours(
    world: World, colour: tuple[int, int, int], what: str
) -> None:
    picture = traded(world, "rgb_array").render()
    panel = picture[80:340, 100:]  # the price, below its legend

    assert (np.abs(panel.astype(int) - colour).max(axis=-1) < 12).sum() > 20, what


def test_render_without_mode_or_episode_says_what_to_do(world: World) -> None:
    with pytest.raises(UserError, match='render_mode="ansi"'):
        TradingEnv(world, CONFIG).render()
    with pytest.raises(UserError, match="reset"):
        TradingEnv(world, CONFIG, render_mode="ansi").render()


def test_picture_without_matplotlib_names_the_extra(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = traded(world, "rgb_array", n_steps=1)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)

    with pytest.raises(MissingExtraError, match="EXTRA=plot"):
        env.render()


def test_new_episode_forgets_the_trades_of_the_last(world: World) -> None:
    env = traded(world, "rgb_array")
    env.reset(seed=3)
    fresh = TradingEnv(world, CONFIG, render_mode="rgb_array")
    fresh.reset(seed=3)

    assert np.array_equal(env.render(), fresh.render())


def _halted(world: World) -> np.ndarray:
    present = world.present.copy()
    present[:, 301:] = False
    return present


def test_fills_at_the_seen_close_are_called_unattainable(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    figure = pytest.importorskip("matplotlib.figure", reason="the extra `plot` is not installed")
    titles: list[str] = []
    write = figure.Figure.suptitle
    monkeypatch.setattr(
        figure.Figure,
        "suptitle",
        lambda self, title, **style: (titles.append(title), write(self, title, **style))[1],
    )
    words = "fills at the close that was seen: not attainable"
    seen = EnvConfig(
        rules=SimulatorParams(episode=EpisodeRules(episode_bars=60, fill_at="this_close"))
    )

    assert words in traded(world, "ansi", config=seen).render()
    assert words not in traded(world, "ansi").render()
    traded(world, "rgb_array", config=seen).render()
    traded(world, "rgb_array").render()
    assert [words in title for title in titles] == [True, False]
