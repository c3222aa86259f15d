"""The environment of one account: what it shows, what it tells, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from tradingbot.domain.errors import DataError, UserError
from tradingbot.envs import EnvConfig, TradingEnv, World, synthetic_world
from tradingbot.envs.batch import BatchSimulator
from tradingbot.envs.single.info import LastStepInfo, ResetInfo, StepInfo
from tradingbot.envs.spaces import flatten
from tradingbot.market.params import AccountRules, EpisodeRules, SimulatorParams
from tradingbot.risk.limits import RiskLimits

SHORT = EpisodeRules(episode_bars=40)
SPACES = ("continuous", "target", "discrete")


@pytest.fixture(scope="module")
def world() -> World:
    return synthetic_world("regimes", n_symbols=3, n_bars=500, seed=4)


def config_of(space: str = "continuous", **changes: Any) -> EnvConfig:
    return EnvConfig(rules=SimulatorParams(episode=SHORT), **changes).with_space(space)  # type: ignore[arg-type]


def play(env: TradingEnv, seed: int, *, n_steps: int = 60) -> list[tuple[Any, ...]]:
    """Steps of random actions, over the end of an episode."""
    env.action_space.seed(seed)
    steps: list[tuple[Any, ...]] = [env.reset(seed=seed)]
    for _ in range(n_steps):
        steps.append(env.step(env.action_space.sample()))
        if steps[-1][2] or steps[-1][3]:
            steps.append(env.reset())
    return steps


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("form", ["dict", "vectors", "flat"])
def test_observation_is_always_in_its_space(world: World, space: str, form: Any) -> None:
    env = TradingEnv(world, config_of(space, observation=form))

    for observation, *_ in play(env, 3, n_steps=120):
        assert env.observation_space.contains(observation)


def test_observation_in_every_form_holds_the_same_numbers(world: World) -> None:
    forms = [TradingEnv(world, config_of(observation=form)) for form in ("dict", "vectors", "flat")]

    for named, rows, flat in zip(*(play(env, 8) for env in forms), strict=True):
        assert np.array_equal(flatten(named[0]), flat[0])
        assert np.array_equal(flatten(rows[0]), flat[0])


def test_window_ends_at_the_bar_of_the_decision(world: World) -> None:
    env = TradingEnv(world, config_of(observation="dict"))
    observation, info = env.reset(seed=1, options={"symbol": "S002", "bar": 300})

    assert info["bar"] == 300
    assert np.array_equal(observation["technical"], world.features[2, 277:301])  # type: ignore[call-overload]
    assert np.array_equal(observation["regime"], world.regimes[2, 300])  # type: ignore[call-overload]
    following, *_ = env.step(np.zeros(1, np.float32))
    assert np.array_equal(following["technical"], world.features[2, 278:302])  # type: ignore[call-overload]


def test_observation_is_not_changed_by_later_steps_nor_does_it_change_the_world(
    world: World,
) -> None:
    env = TradingEnv(world, config_of())
    before = world.features.copy()
    first, _ = env.reset(seed=1)
    kept = {name: part.copy() for name, part in first.items()}  # type: ignore[union-attr]
    env.step(1.0)
    for name, part in kept.items():
        assert np.array_equal(first[name], part)  # type: ignore[call-overload]
        first[name][:] = 99.0  # type: ignore[call-overload]

    assert np.array_equal(world.features, before)


@pytest.mark.parametrize("space", SPACES)
def test_episodes_are_those_of_lane_0_of_the_batch(world: World, space: str) -> None:
    config = config_of(space, observation="flat")
    env = TradingEnv(world, config)
    batch = BatchSimulator(world, config, 3, dtype=torch.float64, compile=False)
    env.reset(seed=21)
    batch.reset(seed=21)
    env.action_space.seed(5)

    for _ in range(90):  # over two episodes
        action = env.action_space.sample()
        observation, reward, terminated, truncated, info = env.step(action)
        number = torch.as_tensor(action).reshape(1)
        step = batch.step(torch.cat([number, number, number]))
        assert float(step.reward[0]) == pytest.approx(float(reward), rel=1e-9, abs=1e-12)
        assert bool(step.terminated[0]) == terminated
        assert bool(step.truncated[0]) == truncated
        assert float(step.advanced.after.cash[0]) == pytest.approx(info["cash"], rel=1e-12)
        assert float(step.advanced.after.units[0]) == pytest.approx(info["units"], rel=1e-12)
        if truncated or terminated:
            observation, begun = env.reset()
            assert divmod(int(step.account.row[0]), world.n_bars) == (
                world.symbols.index(begun["symbol"]),
                begun["bar"],
            )
            private = step.private
        else:
            private = step.final_private
        flat = np.asarray(observation)
        assert np.allclose(flat[555:573], private[:, 0].numpy(), atol=1e-6)


def test_seed_repeats_episodes_and_following_ones_differ(world: World) -> None:
    env = TradingEnv(world, config_of())
    begins = []
    for _ in range(2):
        begun = [env.reset(seed=9)[1]] + [env.reset()[1] for _ in range(5)]
        begins.append([(info["symbol"], info["bar"]) for info in begun])

    assert begins[0] == begins[1]
    assert len(set(begins[0])) > 3


def test_seed_that_nobody_gave_is_told_and_can_be_used_again(world: World) -> None:
    env = TradingEnv(world, config_of())
    _, drawn = env.reset()
    _, again = TradingEnv(world, config_of()).reset(seed=drawn["seed"])

    assert (again["symbol"], again["bar"]) == (drawn["symbol"], drawn["bar"])


def test_options_choose_symbol_or_bar(world: World) -> None:
    env = TradingEnv(world, config_of())

    assert env.reset(seed=1, options={"symbol": "S001"})[1]["symbol"] == "S001"
    assert env.reset(options={"bar": 333})[1]["bar"] == 333
    assert env.reset(options={"symbol": None, "bar": None})[1]["bar"] > 0
    first = TradingEnv(world, config_of(starts="first"))
    assert first.reset(seed=1)[1]["bar"] == 191
    assert first.reset(options={"bar": 333})[1]["bar"] == 333


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"symbol": "S0O1"}, "Did you mean 'S001'"),
        ({"bar": 5}, "bars 23 to 459"),
        ({"bar": 460}, "bars 23 to 459"),
        ({"bar": "yesterday"}, "must be able to begin there"),
        ({"symbl": "S001"}, "Did you mean 'symbol'"),
    ],
)
def test_options_that_cannot_be_met_are_refused(
    world: World, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        TradingEnv(world, config_of()).reset(seed=1, options=options)


def test_step_before_reset_and_after_the_end_say_what_to_do(world: World) -> None:
    env = TradingEnv(world, config_of())
    with pytest.raises(UserError, match=r"Call reset\(\) first"):
        env.step(0.0)
    with pytest.raises(UserError, match=r"Call reset\(\) first"):
        env.summary()
    env.reset(seed=1)
    truncated = False
    while not truncated:
        *_, truncated, info = env.step(0.0)
    assert info["summary"]["steps"] == 40
    with pytest.raises(UserError, match="when terminated or truncated is true"):
        env.step(0.0)
    env.reset()
    env.step(0.0)


@pytest.mark.parametrize(
    ("space", "action", "message"),
    [
        ("continuous", np.zeros(2), r"must have shape \(1,\), was \(2,\)"),
        ("continuous", np.zeros((1, 1)), r"shape \(1,\)"),
        ("continuous", np.array([]), r"shape \(1,\)"),
        ("continuous", "buy", "must be a number"),
        ("continuous", np.array([True]), "must be a number"),
        ("continuous", None, "must be a number"),
        ("target", [0.1, 0.2], r"shape \(1,\)"),
        ("discrete", 1.5, "must be a whole number"),
        ("discrete", np.array([1, 2]), r"shape \(\)"),
    ],
)
def test_action_of_wrong_shape_or_type_is_refused_and_the_account_stays(
    world: World, space: str, action: Any, message: str
) -> None:
    env = TradingEnv(world, config_of(space))
    env.reset(seed=1)

    with pytest.raises(UserError, match=message):
        env.step(action)

    assert env.summary()["steps"] == 0


@pytest.mark.parametrize(
    ("space", "action"),
    [
        ("continuous", np.nan),
        ("continuous", np.inf),
        ("continuous", np.array([1.5], np.float32)),
        ("target", np.array([-1.01])),
        ("discrete", 7),
        ("discrete", -1),
    ],
)
def test_action_out_of_range_is_refused_if_strict_else_clipped_or_held(
    world: World, space: str, action: Any
) -> None:
    strict = TradingEnv(world, config_of(space, strict=True))
    strict.reset(seed=1)
    with pytest.raises(UserError, match=r"strict=False"):
        strict.step(action)
    assert strict.summary()["steps"] == 0

    lenient = TradingEnv(world, config_of(space))
    lenient.reset(seed=1)
    *_, info = lenient.step(action)
    unreadable = space == "discrete" or not np.isfinite(action).all()
    assert info["violation"] == unreadable
    if unreadable:
        assert info["action"] == "HOLD"
    assert np.isfinite(info["cash"])


@pytest.mark.parametrize("action", [0.5, np.float32(0.5), np.array(0.5), np.array([0.5]), [0.5]])
def test_number_may_come_in_any_usual_wrapping(world: World, action: Any) -> None:
    env = TradingEnv(world, config_of())
    env.reset(seed=1)
    expected = TradingEnv(world, config_of())
    expected.reset(seed=1)

    assert env.step(action)[1] == expected.step(0.5)[1]


@pytest.mark.parametrize("stop_frac", [1.0, 0.002])
@pytest.mark.parametrize("space", SPACES)
def test_info_is_typed_whole_and_adds_up(world: World, space: str, stop_frac: float) -> None:
    rules = SimulatorParams(account=AccountRules(stop_loss_frac=stop_frac), episode=SHORT)
    env = TradingEnv(world, EnvConfig(rules=rules).with_space(space))  # type: ignore[arg-type]
    begun, *steps = play(env, 5)
    stops = [step[4]["exit_fill"] for step in steps if len(step) == 5]
    assert any(stops) == (stop_frac < 1.0)
    assert set(begun[1]) == set(ResetInfo.__annotations__)
    cash, units = begun[1]["cash"], 0.0
    for step in steps:
        if len(step) == 2:
            cash, units = step[1]["cash"], 0.0
            continue
        _, reward, terminated, truncated, info = step
        keys = LastStepInfo if terminated or truncated else StepInfo
        assert set(info) == set(keys.__annotations__)
        assert sum(info["reward_terms"].values()) == reward
        assert info["equity"] == info["cash"] + info["units"] * info["price"]
        paid = info["fill"] * info["fill_price"] + info["exit_fill"] * info["exit_price"]
        assert info["cash"] == pytest.approx(cash - paid - info["fees"], rel=1e-12)
        assert info["units"] == pytest.approx(units + info["fill"] + info["exit_fill"], abs=1e-9)
        assert info["price"] == world.prices[world.symbols.index(info["symbol"]), info["bar"], 3]
        assert info["closed_at"] == world.closed_at[info["bar"]]
        assert info["synthetic"]
        cash, units = info["cash"], info["units"]


def test_fill_is_at_the_next_open_with_costs(world: World) -> None:
    env = TradingEnv(world, config_of("discrete"))
    env.reset(seed=2, options={"symbol": "S000", "bar": 250})
    *_, info = env.step(3)

    open_price = world.prices[0, 251, 0]
    assert info["action"] == "BUY_LARGE"
    assert info["fill"] > 0.0
    assert info["fill_price"] == pytest.approx(open_price * (1 + 1e-4))
    assert info["fees"] == pytest.approx(0.2e-4 * info["fill"] * info["fill_price"])


def test_mask_names_what_can_be_executed(world: World) -> None:
    env = TradingEnv(world, config_of("discrete"))
    env.reset(seed=2)

    assert env.action_masks().tolist() == [True, True, True, True, False, False, False]
    env.step(3)
    held = env.action_masks()
    assert held.dtype == np.bool_
    assert held[[0, 4, 5]].all()
    assert not held[[1, 2, 3]].any()


def test_mask_of_other_spaces_and_before_reset_is_refused(world: World) -> None:
    with pytest.raises(UserError, match="TradingBot/Discrete-v1"):
        TradingEnv(world, config_of()).action_masks()
    with pytest.raises(UserError, match="reset"):
        TradingEnv(world, config_of("discrete")).action_masks()


def test_ruin_terminates_and_is_not_truncation() -> None:
    calm = synthetic_world("noise", n_symbols=1, n_bars=500, seed=3)
    prices = calm.prices.copy()
    prices[0, 300:, :4] *= 0.5  # half the price overnight
    crash = replace(calm, prices=prices)
    rules = SimulatorParams(
        account=AccountRules(portfolio_loss_frac=0.2),
        limits=RiskLimits(max_position_frac=1.0),
        episode=EpisodeRules(episode_bars=100),
    )
    env = TradingEnv(crash, EnvConfig(rules=rules).with_space("target"))
    env.reset(seed=1, options={"bar": 290})
    ended = [False, False]
    while not any(ended):
        *_, ended[0], ended[1], info = env.step(1.0)

    assert ended == [True, False]
    assert info["exit_reason"] == "EMERGENCY"
    assert info["units"] == 0.0
    assert info["summary"]["return_frac"] < -0.4


def test_world_without_room_for_an_episode_is_refused(world: World) -> None:
    with pytest.raises(DataError, match="must hold a window and an episode"):
        TradingEnv(world)


def test_wrong_render_mode_is_refused(world: World) -> None:
    with pytest.raises(UserError, match="ansi, rgb_array or None"):
        TradingEnv(world, config_of(), render_mode="human")  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [{"bar": 10**6}, {"symbol": "nobody"}, {"day": 3}])
def test_reset_that_fails_leaves_episode_and_seed_as_they_were(
    world: World, options: dict[str, Any]
) -> None:
    env, same = TradingEnv(world, config_of()), TradingEnv(world, config_of())
    for each in (env, same):
        each.reset(seed=4)
        each.step(1.0)

    with pytest.raises(UserError):
        env.reset(seed=9, options=options)

    np.testing.assert_equal(env.step(1.0), same.step(1.0))
    np.testing.assert_equal(env.reset(), same.reset())


def test_strict_refusal_shows_every_digit(world: World) -> None:
    env = TradingEnv(world, config_of(strict=True))
    env.reset(seed=1)

    with pytest.raises(UserError, match=r"was 1\.0000001 "):
        env.step(1.0000001)


@pytest.mark.parametrize("fill_at", ["next_open", "this_close"])
def test_reset_and_summary_tell_where_orders_fill(world: World, fill_at: Any) -> None:
    rules = SimulatorParams(episode=EpisodeRules(episode_bars=2, fill_at=fill_at))
    env = TradingEnv(world, EnvConfig(rules=rules))

    assert env.reset(seed=1)[1]["fill_at"] == fill_at
    env.step(1.0)
    assert env.step(1.0)[4]["summary"]["fill_at"] == fill_at
