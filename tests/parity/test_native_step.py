"""The step of a backtest as C does what the tensors do, account by account."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from fixtures.trading_worlds import crashed, small_world
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.population import PopulationTask, evaluation_task
from tradingbot.envs.population.layout import backtest_step
from tradingbot.envs.world import World
from tradingbot.evaluation.rollout import sleeve_config
from tradingbot.learning.task import TaskStep
from tradingbot.market import program_cache as cache
from tradingbot.market.account import COUNT_FIELDS
from tradingbot.market.bars import TensorMarket, tensor_market
from tradingbot.market.compiled import PackedStepFunction, missing_compiler, packed_step
from tradingbot.market.costs import COST_PROFILES
from tradingbot.market.native import library
from tradingbot.market.native import step as native_step
from tradingbot.market.packing import PackedAccount, pack_rates
from tradingbot.market.params import AccountRules, SimulatorParams
from tradingbot.rewards import RewardStack, reward_identity

pytestmark = pytest.mark.skipif(
    missing_compiler(torch.device("cpu")) is not None, reason="no C compiler on this machine"
)
FIRST, STEPS = 200, 120
Change = Callable[[Tensor, PackedAccount, Tensor], tuple[Tensor, PackedAccount, Tensor]]


def with_decimals(config: EnvConfig, decimals: int) -> EnvConfig:
    """Return an environment whose units have as many decimals as a venue takes."""
    account = replace(config.rules.account, quantity_decimals=decimals)
    return replace(config, rules=replace(config.rules, account=account))


CASES = {
    "long-only targets": sleeve_config(),
    "targets with shorts and impact": sleeve_config(COST_PROFILES["impact"], allow_short=True),
    "continuous with shorts": EnvConfig.preset("long_short"),
    "stops within bars": with_decimals(EnvConfig.preset("guarded", reward="log_growth"), 3),
    "several terms": EnvConfig.preset("default", reward="v31"),
    "codes": EnvConfig().with_space("discrete"),
}


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make C of backtests of any length."""
    monkeypatch.setattr("tradingbot.envs.population.layout._WORTH_COMPILING_BARS", 1)


def task_of(config: EnvConfig, world: World | None = None) -> PopulationTask:
    return evaluation_task(
        world or small_world(),
        config,
        first_bar=FIRST,
        last_bar=FIRST + STEPS,
        dtype=torch.float64,
    )


def steps_of(task: PopulationTask) -> list[TaskStep]:
    """Play the same wild actions, or allowed codes, in a task."""
    draws, made = torch.Generator().manual_seed(5), []
    state, seen = task.begin()
    for _ in range(STEPS):
        drawn = torch.rand(3, 1, generator=draws, dtype=torch.float64)
        action = drawn * 2.0 - 1.0 if task.action.low < 0.0 else drawn
        if task.action.kind == "discrete":
            action = (torch.rand(seen.allowed.shape, generator=draws) * seen.allowed).argmax(-1)
        made.append(task.step(state, action))
        state, seen = made[-1].state, made[-1].observation
    return made


@pytest.mark.parametrize("name", CASES)
def test_native_step_equals_the_tensors(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    by_tensors = steps_of(task_of(CASES[name]))
    monkeypatch.setattr("tradingbot.envs.population.layout._WORTH_COMPILING_BARS", 1)
    natively = steps_of(task_of(CASES[name]))

    assert _program(CASES[name]) is not None
    assert any(bool(each.traded.any()) for each in by_tensors)
    for a, b in zip(by_tensors, natively, strict=True):
        for field in TaskStep._fields:
            one, other = getattr(a, field), getattr(b, field)
            pairs = zip(one, other, strict=True) if isinstance(one, tuple) else [(one, other)]
            for left, right in pairs:
                if left is None or right is None:
                    assert left is right, field
                    continue
                assert left.dtype == right.dtype, field
                assert left.shape == right.shape, field
                if field in ("reward", "terms", "state"):  # logarithms differ in the last digit
                    torch.testing.assert_close(left, right, rtol=1e-13, atol=1e-15, equal_nan=True)
                else:
                    assert torch.equal(left, right), field
    assert [bool(each.truncated.all() | each.terminated.all()) for each in natively][-1]


def test_money_of_the_native_step_is_that_of_the_tensors_bit_for_bit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = CASES["targets with shorts and impact"]
    by_tensors = task_of(config)
    expected = [by_tensors.wealth(each.state) for each in steps_of(by_tensors)]
    monkeypatch.setattr("tradingbot.envs.population.layout._WORTH_COMPILING_BARS", 1)
    task = task_of(config)

    found = [task.wealth(each.state) for each in steps_of(task)]

    assert torch.equal(torch.stack(expected), torch.stack(found))


@pytest.mark.usefixtures("always")
def test_costs_that_differ_between_lanes_are_each_lanes_own() -> None:
    config, world = CASES["long-only targets"], small_world()
    market = tensor_market(world.prices, world.present, dtype=torch.float64)
    rules, reward = config.rules, config.reward_stack
    task = task_of(config)
    state, _ = task.begin()
    rates = torch.tensor([[0.0, 1e-3, 1e-2]] * 5, dtype=torch.float64)
    action = torch.ones(3, dtype=torch.float64)

    natively = backtest_step(rules, reward, market)(rates, state, action)

    expected = packed_step(rules, reward, market, None)(rates, state, action)
    assert torch.equal(natively.account.money, expected.account.money)
    assert len({float(x) for x in natively.account.money[0]}) == 3


@pytest.mark.parametrize("row", [-50, 1_259])
def test_account_at_no_bar_is_refused_as_by_tensors(row: int) -> None:
    rules, reward, market, rates, account = _place()
    counts = account.counts.clone()
    counts[COUNT_FIELDS.index("row"), 1] = row
    outside = account._replace(counts=counts)
    assert len(market.rows) == 1_260

    for step in (_native(rules, reward, market), packed_step(rules, reward, market, None)):
        with pytest.raises(IndexError):
            step(rates, outside, torch.ones(3, dtype=torch.float64))


@pytest.mark.parametrize(
    "change",
    [
        lambda rates, account, action: (rates, account, action[:1]),
        lambda rates, account, action: (rates.float(), account, action),
        lambda rates, account, action: (rates[:, None], account, action),
        lambda rates, account, action: (rates, account, action.float()),
        lambda rates, account, action: (
            rates,
            account._replace(counts=account.counts.long()),
            action,
        ),
        lambda rates, account, action: (
            rates,
            account._replace(money=account.money.float()),
            action,
        ),
        lambda rates, account, action: (
            torch.stack([rates, rates, rates]).T,
            PackedAccount(account.money.T.contiguous().T, account.counts.T.contiguous().T),
            action,
        ),
    ],
    ids=["spread", "rates32", "rates51", "action32", "counts64", "money32", "strided"],
)
def test_other_shapes_and_formats_are_stepped_as_by_tensors(change: Change) -> None:
    rules, reward, market, rates, account = _place()
    given = change(rates, account, torch.tensor([1.0, 0.5, 0.25], dtype=torch.float64))

    found = _native(rules, reward, market)(*given)
    expected = packed_step(rules, reward, market, None)(*given)

    assert torch.equal(found.account.money, expected.account.money)
    assert torch.equal(found.account.counts, expected.account.counts)


def test_too_many_actions_are_refused() -> None:
    rules, reward, market, rates, account = _place()

    with pytest.raises(RuntimeError):
        _native(rules, reward, market)(rates, account, torch.ones(5, dtype=torch.float64))


@pytest.mark.usefixtures("always")
def test_ruined_account_is_not_truncated_as_well() -> None:
    world = crashed(small_world(), 1, FIRST + STEPS - 20)
    config = replace(CASES["long-only targets"], rules=_halting(CASES["long-only targets"].rules))
    task = task_of(config, world)
    state, _ = task.begin()
    for _ in range(STEPS):
        made = task.step(state, torch.ones(3, 1, dtype=torch.float64))
        state = made.state

    assert bool(made.terminated[1])
    assert not bool((made.terminated & made.truncated).any())
    assert bool(made.truncated[0])


@pytest.mark.parametrize("damage", [lambda whole: whole[:1_000], lambda whole: b""])
def test_damaged_program_is_compiled_again(
    damage: Callable[[bytes], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(cache.CACHE_VARIABLE, str(tmp_path))
    source = "int answer(void) { return 42; }"
    made = library.load_library("same", lambda: source)
    assert made is not None
    (file,) = tmp_path.glob("*.so")
    whole = file.read_bytes()
    file.unlink()  # what is loaded keeps its own
    file.write_bytes(damage(whole))

    again = library.load_library("same", lambda: source)

    assert again is not None
    assert again.answer() == 42
    assert file.read_bytes() == whole


@pytest.mark.parametrize("package", ["domain", "market", "rewards", "risk"])
def test_program_is_named_by_all_sources_that_it_is_made_from(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed: list[str] = []
    monkeypatch.setattr(native_step, "_LOADED", {})
    monkeypatch.setattr(native_step, "load_library", lambda *_, **__: None)
    monkeypatch.setattr(native_step, "code_sha256", lambda *parts: hashed.extend(parts) or "x")

    assert _program(CASES["long-only targets"]) is None
    assert package in hashed


@pytest.mark.usefixtures("always")
def test_machine_without_compiler_steps_with_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "_COMPILERS", ("no-such-compiler",))
    monkeypatch.setattr(native_step, "_LOADED", {})
    config = CASES["long-only targets"]

    steps = steps_of(task_of(config))

    assert _program(config) is None
    assert len(steps) == STEPS


def test_length_of_a_backtest_is_no_part_of_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(cache.CACHE_VARIABLE, str(tmp_path))
    monkeypatch.setattr(native_step, "_LOADED", {})
    monkeypatch.setattr(
        native_step, "step_source", lambda *_, **__: "long step(void *call) { return 0; }"
    )
    rules = CASES["long-only targets"].rules

    for episode_bars in (77, 78):
        episode = replace(rules.episode, episode_bars=episode_bars)
        _program(replace(CASES["long-only targets"], rules=replace(rules, episode=episode)))

    assert len([*tmp_path.glob("*.so")]) == 1


def _program(config: EnvConfig) -> object:
    world, reward = small_world(), config.reward_stack
    market = tensor_market(world.prices, world.present, dtype=torch.float64)
    return native_step.native_step(
        config.rules, reward, market, None, identity=reward_identity(reward)
    )


def _place() -> tuple[SimulatorParams, RewardStack, TensorMarket, Tensor, PackedAccount]:
    config, world = CASES["long-only targets"], small_world()
    market = tensor_market(world.prices, world.present, dtype=torch.float64)
    reward = config.reward_stack
    assert isinstance(reward, RewardStack)
    rates = pack_rates(config.costs.rates(dtype=torch.float64))
    state, _ = task_of(config).begin()
    return config.rules, reward, market, rates, PackedAccount(*state)


def _native(
    rules: SimulatorParams, reward: RewardStack, market: TensorMarket
) -> PackedStepFunction:
    made = native_step.native_step(rules, reward, market, None, identity=reward_identity(reward))
    assert made is not None
    return made


def _halting(rules: SimulatorParams) -> SimulatorParams:
    return replace(rules, account=AccountRules())
