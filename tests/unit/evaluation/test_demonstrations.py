"""Rules as experts in the learners' task."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from fixtures.trading_worlds import short_config, small_world
from tradingbot.agents.baselines.catalogue import rule_policy
from tradingbot.agents.policy import PolicyInputs
from tradingbot.domain.action import Action
from tradingbot.domain.errors import ConfigError
from tradingbot.envs.population import PopulationTask
from tradingbot.evaluation.backtest.baselines import baseline
from tradingbot.evaluation.demonstrations import demonstrator
from tradingbot.market.params import ActionSpace


def task_of(space: ActionSpace) -> PopulationTask:
    return PopulationTask(small_world(), short_config(space, smoothing_bars=1), n_envs=4, seed=1)


def always(position: float) -> object:
    return lambda seen: torch.full_like(seen.size, position)


@pytest.mark.parametrize("space", ["target", "continuous", "discrete"])
def test_rule_that_wants_all_gets_into_the_market_and_one_that_wants_nothing_out(
    space: ActionSpace,
) -> None:
    task = task_of(space)
    buy, sell = demonstrator(task, always(1.0)), demonstrator(task, always(0.0))  # type: ignore[arg-type]
    state, seen = task.begin()
    size = task.private_names.index("size")

    bought = torch.zeros_like(seen.private[..., size])
    for _ in range(4):
        made = task.step(state, buy(seen))
        state, seen = made.state, made.observation
        bought = torch.maximum(bought, seen.private[..., size])  # a stop may have sold again
    for _ in range(4):
        made = task.step(state, sell(seen))
        state, seen = made.state, made.observation

    assert bool((bought > 0.4).all())
    assert bool((seen.private[..., size].abs() < 1e-6).all())


@pytest.mark.parametrize("space", ["continuous", "discrete"])
def test_position_that_drifted_past_what_is_wanted_is_left_alone(space: ActionSpace) -> None:
    task = task_of(space)
    _, seen = task.begin()
    private = seen.private.clone()
    private[..., task.private_names.index("size")] = 1.004

    action = demonstrator(task, always(1.0))(seen._replace(private=private))  # type: ignore[arg-type]

    assert not bool(action.any())


def test_rule_sees_the_features_and_regimes_of_its_rows() -> None:
    task, world = task_of("target"), small_world()
    kept: list[PolicyInputs] = []

    def rule(seen: PolicyInputs) -> Tensor:
        kept.append(seen)
        return torch.zeros_like(seen.size)

    _, seen = task.begin()
    demonstrator(task, rule)(seen)

    row = seen.row.reshape(-1).numpy()
    features = world.features.reshape(-1, len(world.feature_names))[row]
    regimes = world.regimes.reshape(-1, len(world.regime_names))[row]
    assert torch.equal(kept[0].features, torch.from_numpy(features))
    assert torch.equal(kept[0].regimes, torch.from_numpy(regimes))
    assert torch.equal(kept[0].private, seen.private.reshape(12, 18).T)


def test_codes_are_always_allowed() -> None:
    task = task_of("discrete")
    rule = rule_policy("random", seed=3, regime_names=task.world.regime_names)
    expert = demonstrator(task, rule)
    state, seen = task.begin()
    used: set[int] = set()

    for _ in range(30):
        code = expert(seen)
        assert bool(seen.allowed.gather(-1, code[..., None]).all())
        used |= set(code.flatten().tolist())
        made = task.step(state, code)
        state, seen = made.state, made.observation

    assert used >= {Action.HOLD, Action.BUY_LARGE, Action.SELL_ALL}


def test_task_that_shows_less_is_fine_as_long_as_the_position_is_there() -> None:
    task = task_of("target")
    rule = baseline("expert", task.world)
    less = task.showing("drawdown", "size")
    _, seen = task.begin()
    _, seen_less = less.begin()

    assert torch.equal(demonstrator(task, rule)(seen), demonstrator(less, rule)(seen_less))
    with pytest.raises(ConfigError, match="show the position"):
        demonstrator(task.showing("drawdown"), rule)


@pytest.mark.parametrize(("wanted", "code"), [(1 / 3, 1), (0.6, 2), (1.0, 3)])
def test_codes_are_graded_by_the_size_that_is_wanted(wanted: float, code: int) -> None:
    task = task_of("discrete")
    _, seen = task.begin()

    assert (demonstrator(task, always(wanted))(seen) == code).all()  # type: ignore[arg-type]


def test_numbers_say_which_share_is_bought_or_sold() -> None:
    task = task_of("continuous")
    _, seen = task.begin()
    place = task.private_names.index("size")

    def number(held: float, wanted: float) -> float:
        private = seen.private.clone()
        private[..., place] = held
        act = demonstrator(task, always(wanted))  # type: ignore[arg-type]
        return float(act(seen._replace(private=private))[0, 0])

    # Beyond the hold zone of 0.1: half of the room, all of it, a third and all of what is held.
    assert number(0.0, 0.5) == pytest.approx(0.55)
    assert number(0.5, 0.75) == pytest.approx(0.55)
    assert number(0.0, 1.0) == 1.0
    assert number(0.9, 0.6) == pytest.approx(-0.4)
    assert number(0.9, 0.0) == -1.0
