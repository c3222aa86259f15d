"""Answers of auxiliary tasks against a reading of their definitions, one bar at a time."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.domain.seeding import stream
from tradingbot.envs import World, synthetic_world
from tradingbot.envs.auxiliary import EXPERT_ACTIONS, REGIMES, AuxiliaryConfig, auxiliary_targets

TRAIN = IndexRange(10, 330)
CONFIG = AuxiliaryConfig(horizon_bars=5, past_bars=12, volume_bars=20)


@cache
def gappy_world() -> World:
    """Three symbols, of which one bar in twelve is missing; every bar counts as usable."""
    world = synthetic_world("regimes", n_symbols=3, n_bars=360, seed=4)
    present = stream(1, "gaps").random((3, 360)) > 1 / 12
    prices = np.where(present[..., None], world.prices, np.nan)
    return replace(world, prices=prices, present=present, usable=present)


def read_bar(world: World, symbol: int, bar: int) -> dict[str, float | None]:
    """The definitions in plain words; None where there is no answer."""
    close, volume = world.prices[symbol, :, 3], world.prices[symbol, :, 4]
    there = world.present[symbol]

    def change(t: int) -> float | None:
        return np.log(close[t] / close[t - 1]) if t > 0 and there[t] and there[t - 1] else None

    h, last = CONFIG.horizon_bars, TRAIN.stop - 1
    found: dict[str, float | None] = dict.fromkeys(
        ("next_return", "volatility", "volume_class", "regime")
    )
    if not (there[bar] and TRAIN.start <= bar <= last):
        return found
    past = [change(t) for t in range(max(0, bar - CONFIG.past_bars + 1), bar + 1)]
    known = [x for x in past if x is not None]
    if len(known) >= CONFIG.past_bars / 2:
        usual = float(np.sqrt(np.mean(np.square(known))))
        ahead = [change(t) for t in range(bar + 1, min(bar + h, len(close) - 1) + 1)]
        if bar + 1 <= last and ahead[0] is not None:
            found["next_return"] = float(np.clip(ahead[0] / usual, -4.0, 4.0))
        if bar + h <= last and None not in ahead:
            moves = np.array(ahead, dtype=float)
            ratio = float(np.sqrt(np.mean(moves**2)) / usual)
            trend = float(moves.sum() / (usual * np.sqrt(h)))
            found["volatility"] = float(np.clip(np.log(ratio), -2.0, 2.0))
            found["regime"] = 3 * (ratio > 1.0) + 1 + (trend > 0.5) - (trend < -0.5)
    window = slice(max(0, bar - CONFIG.volume_bars + 1), bar + 1)
    volumes = volume[window][there[window]]
    if len(volumes) >= CONFIG.volume_bars / 2 and bar + 1 <= last and there[bar + 1]:
        rank = np.mean(volumes < volume[bar + 1]) + 0.5 * np.mean(volumes == volume[bar + 1])
        found["volume_class"] = int(rank >= 1 / 3) + int(rank >= 2 / 3)
    return found


def test_answers_of_a_market_with_gaps_follow_their_definitions() -> None:
    world = gappy_world()
    targets = auxiliary_targets(world, train=TRAIN, config=CONFIG)
    answered = dict.fromkeys(targets, 0)

    for symbol in range(world.n_symbols):
        for bar in range(world.n_bars):
            for name, expected in read_bar(world, symbol, bar).items():
                target = targets[name]
                assert bool(target.valid[symbol, bar]) == (expected is not None), (name, bar)
                shown = float(target.values[symbol, bar])
                assert shown == pytest.approx(expected or 0.0, rel=1e-5, abs=1e-6), (name, bar)
                answered[name] += expected is not None

    assert all(count > 200 for count in answered.values()), answered


def test_answer_whose_horizon_crosses_the_training_boundary_is_purged() -> None:
    targets = auxiliary_targets(synthetic_world(n_bars=400, seed=2), train=IndexRange(0, 300))

    for name, target in targets.items():
        last = int(target.valid.any(0).nonzero().max())
        assert last == 299 - target.horizon_bars, name
        assert not target.values[:, last + 1 :].any()


def test_expert_actions_are_handed_on_where_bars_are_usable() -> None:
    world = gappy_world()
    expert = stream(3, "expert").integers(0, 3, (3, 360))

    target = auxiliary_targets(world, train=TRAIN, expert=expert)["expert_action"]

    assert target.n_classes == len(EXPERT_ACTIONS)
    assert target.horizon_bars == 0
    assert torch.equal(target.values[target.valid], torch.from_numpy(expert)[target.valid])
    inside = np.zeros_like(world.usable)
    inside[:, TRAIN.start : TRAIN.stop] = True
    assert np.array_equal(target.valid.numpy(), world.usable & inside)


def test_expert_action_without_an_expert_has_no_target() -> None:
    assert "expert_action" not in auxiliary_targets(gappy_world(), train=TRAIN)


@pytest.mark.parametrize(
    ("drift", "expected"), [(0.004, "rise"), (-0.004, "fall")], ids=["rises", "falls"]
)
def test_regime_of_a_market_that_moves_one_way_says_so(drift: float, expected: str) -> None:
    world = synthetic_world("noise", n_symbols=2, n_bars=400, seed=1, vol_frac=0.001)
    trend = np.exp(drift * np.arange(400))[None, :, None]
    prices = world.prices.copy()
    prices[..., :4] *= trend

    target = auxiliary_targets(replace(world, prices=prices), train=IndexRange(0, 400))["regime"]
    names = [REGIMES[code] for code in target.values[target.valid].tolist()]

    assert np.mean([name.endswith(expected) for name in names]) > 0.99


def test_volume_classes_of_independent_volumes_are_equally_frequent() -> None:
    world = synthetic_world("noise", n_symbols=4, n_bars=1_500, seed=3)
    volume = stream(5, "volume").lognormal(10.0, 1.0, (4, 1_500))
    prices = world.prices.copy()
    prices[..., 4] = volume

    target = auxiliary_targets(replace(world, prices=prices), train=IndexRange(0, 1_500))
    classes = target["volume_class"].values[target["volume_class"].valid]

    shares = torch.bincount(classes, minlength=3) / classes.numel()
    assert torch.allclose(shares, torch.full((3,), 1 / 3), atol=0.04)


@pytest.mark.parametrize(
    ("field", "value"),
    [("horizon_bars", 1), ("past_bars", 0), ("volume_bars", 2.5), ("return_bound", 0.0)],
)
def test_config_without_content_is_refused(field: str, value: float) -> None:
    with pytest.raises(ConfigError, match=field):
        AuxiliaryConfig(**{field: value})  # type: ignore[arg-type]


def test_training_bars_beyond_the_world_are_refused() -> None:
    with pytest.raises(DataError, match="training bars must be in the world"):
        auxiliary_targets(gappy_world(), train=IndexRange(0, 361))


@pytest.mark.parametrize("expert", [np.zeros((2, 360), int), np.full((3, 360), 3)])
def test_expert_actions_of_another_shape_or_class_are_refused(expert: np.ndarray) -> None:
    with pytest.raises(DataError, match="expert's actions must be"):
        auxiliary_targets(gappy_world(), train=TRAIN, expert=expert)
