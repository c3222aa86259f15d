"""Native lanes with automatic resets do what the tensors do, in both number formats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from threading import Event
from threading import enumerate as enumerate_threads

import numpy as np
import pytest
import torch
from torch import Tensor

from fixtures.trading_worlds import small_world
from tradingbot.envs.config import EnvConfig, start_mask
from tradingbot.envs.population import exact_step
from tradingbot.market.bars import tensor_market
from tradingbot.market.compiled import (
    PackedStep,
    PackedStepFunction,
    missing_compiler,
    packed_step,
)
from tradingbot.market.costs import COST_PROFILES
from tradingbot.market.episodes import Starts, begin, drawn_symbols, fixed_symbols, own_symbols
from tradingbot.market.native.step import native_step, tensor_exact_step
from tradingbot.market.packing import PackedAccount, pack, pack_rates
from tradingbot.rewards import reward_identity

pytestmark = pytest.mark.skipif(
    missing_compiler(torch.device("cpu")) is not None, reason="no C compiler on this machine"
)
LANES, STEPS, BARS = 83, 70, 23
USERS = "every term"
"""Beginning of cases that are compiled as for users, the others as soon as they can be."""
ROOTS = {torch.float32: (2e-5, 1e-6), torch.float64: (1e-13, 1e-15)}
"""Tolerances of what contains a square root or a logarithm: tensors do not round those exactly."""
CASES = {
    "every term, float32": (EnvConfig(), torch.float32),
    "every term, float64": (EnvConfig(), torch.float64),
    "stops, targets, float32": (EnvConfig.preset("guarded").with_space("target"), torch.float32),
    "shorts and borrow, float32": (EnvConfig.preset("long_short"), torch.float32),
    "codes, float64": (EnvConfig().with_space("discrete"), torch.float64),
    "codes, float32": (EnvConfig().with_space("discrete"), torch.float32),
}


def short(config: EnvConfig) -> EnvConfig:
    episode = replace(config.rules.episode, episode_bars=BARS, window_bars=6)
    return replace(
        config, rules=replace(config.rules, episode=episode), costs=COST_PROFILES["impact"]
    )


class Scene:
    """The same lanes, stepped natively and by tensors."""

    def __init__(
        self,
        config: EnvConfig,
        dtype: torch.dtype,
        starts: Starts | None = None,
        n: int = LANES,
        make: Callable[..., PackedStepFunction | None] = native_step,
        *,
        rates_differ: bool = False,
    ) -> None:
        world, config = small_world(), short(config)
        self.market = tensor_market(world.prices, world.present, dtype=dtype)
        self.starts = starts or drawn_symbols(start_mask(world, config), n, 7)
        rules, reward = config.rules, config.reward_stack
        self.rates = pack_rates(config.costs.rates(dtype=dtype))
        if rates_differ:
            factors = torch.linspace(0.0, 40.0, len(self.starts.key), dtype=dtype)
            self.rates = self.rates[:, None] * factors
        made = make(rules, reward, self.market, self.starts, identity=reward_identity(reward))
        assert made is not None
        self.native, self.tensors = made, packed_step(rules, reward, self.market, self.starts)
        episode = torch.zeros(len(self.starts.key), dtype=torch.int32)
        self.account = pack(begin(self.starts, self.market, 1e5, episode))
        self.draws, self.space = torch.Generator().manual_seed(5), rules.action.space

    def actions(self) -> Tensor:
        n = len(self.starts.key)
        if self.space == "discrete":
            return torch.randint(-2, 9, (n,), generator=self.draws)
        drawn = torch.rand(n, generator=self.draws, dtype=self.market.dtype) * 2.4 - 1.2
        drawn[-1], drawn[0] = torch.inf, torch.nan
        return drawn

    def both(self) -> tuple[PackedStep, PackedStep]:
        action = self.actions()
        with torch.no_grad():
            expected = self.tensors(self.rates, self.account, action)
        found = self.native(self.rates, self.account, action)
        self.account = expected.account
        return found, expected


def assert_same(found: PackedStep, expected: PackedStep, dtype: torch.dtype) -> None:
    assert torch.equal(found.account.money, expected.account.money)
    assert torch.equal(found.account.counts, expected.account.counts)
    for name in ("terminated", "truncated", "executed", "traded", "allowed"):
        one, other = getattr(found, name), getattr(expected, name)
        assert one.dtype == other.dtype
        assert torch.equal(one, other), name
    rtol, atol = ROOTS[dtype]
    for name in ("private", "final_private", "reward", "terms"):
        one, other = getattr(found, name), getattr(expected, name)
        torch.testing.assert_close(one, other, rtol=rtol, atol=atol, msg=name)
    exact = [*range(13), *range(15, 18)]  # but the Sharpe and Sortino ratios
    assert torch.equal(found.private[exact], expected.private[exact])


@pytest.mark.parametrize("name", CASES)
def test_money_counts_and_resets_are_those_of_the_tensors_bit_for_bit(
    name: str, request: pytest.FixtureRequest
) -> None:
    if name.startswith(USERS):
        request.getfixturevalue("fastest_programs")
    config, dtype = CASES[name]
    scene, ends = Scene(config, dtype), 0

    for _ in range(STEPS):
        found, expected = scene.both()
        assert_same(found, expected, dtype)
        ends += int((expected.terminated | expected.truncated).sum())

    assert ends > 2 * LANES


GROWTH = replace(EnvConfig().with_space("target"), reward="log_growth")
EXACT_CASES = CASES | {
    "growth, float32": (GROWTH, torch.float32),
    "growth, float64": (GROWTH, torch.float64),
}


@pytest.mark.parametrize("name", EXACT_CASES)
def test_exact_step_is_that_of_the_tensors_to_the_last_bit(
    name: str, request: pytest.FixtureRequest
) -> None:
    if name.startswith(USERS):
        request.getfixturevalue("fastest_programs")
    differ = name.startswith("codes")  # what a lane pays decides which codes it may choose
    scene = Scene(*EXACT_CASES[name], make=tensor_exact_step, rates_differ=differ)

    for _ in range(STEPS):
        found, expected = ((*made.account, *made[1:]) for made in scene.both())
        for one, other in zip(found, expected, strict=True):
            assert one.stride() == other.stride()
            assert torch.equal(one, other)


def test_exact_step_goes_on_natively_where_it_repays_compiling(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked, compiled = list[bool](), Event()
    scene = Scene(GROWTH, torch.float32)
    monkeypatch.setattr(exact_step, "REPAYING_STEPS", 3)

    def found(*_: object, if_there: bool, **__: object) -> object:
        asked.append(if_there)
        return None if if_there or not compiled.wait(60) else counted

    def counted(*given: object) -> PackedStep:
        natively.append(1)
        return scene.native(*given)  # type: ignore[arg-type]

    natively = list[int]()
    monkeypatch.setattr(exact_step, "tensor_exact_step", found)
    config = short(GROWTH)
    step = exact_step.exact_step(config.rules, config.reward_stack, scene.market, scene.starts)

    def take(steps: int) -> None:
        for _ in range(steps):
            scene.account = step(scene.rates, scene.account, scene.actions()).account

    take(5)  # looked for at first, compiled from the fourth step on, by a thread
    compiling = [thread for thread in enumerate_threads() if "look_for" in thread.name]
    assert (len(compiling), natively) == (1, [])
    compiled.set()
    compiling[0].join(60)
    take(2)

    assert asked == [True, False]
    assert len(natively) == 2


@pytest.mark.parametrize("lay_out", [fixed_symbols, own_symbols], ids=["one clock", "own starts"])
def test_every_layout_of_starts_begins_where_the_tensors_begin(lay_out: object) -> None:
    world, config = small_world(), short(EnvConfig())
    starts = lay_out(start_mask(world, config), 4, 3)  # type: ignore[operator]
    scene = Scene(EnvConfig(), torch.float32, starts)

    for _ in range(2 * BARS + 1):
        assert_same(*scene.both(), torch.float32)

    assert int(scene.account.row.max()) > world.n_bars  # in other symbols than the first


@pytest.mark.parametrize("n", [1, 7, 8, 9, 63, 64, 65, 300, 2_100, 33_000])
def test_any_number_of_lanes_is_stepped_whole(n: int) -> None:
    torch.set_num_threads(2)  # 2,100 lanes are more than one thread takes
    scene = Scene(EnvConfig(), torch.float32, n=n)

    for _ in range(2):
        found, expected = scene.both()
        assert_same(found, expected, torch.float32)
        scene.account = found.account  # whose rows may lie apart, as the tensors' do not


def test_threads_do_not_change_results() -> None:
    made = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        scene = Scene(EnvConfig(), torch.float32, n=4_096)
        account = scene.account
        for _ in range(30):
            account = scene.native(scene.rates, account, scene.actions()).account
        made.append(account)

    assert torch.equal(made[0].money, made[1].money)
    assert torch.equal(made[0].counts, made[1].counts)


def test_step_after_a_fork_still_ends() -> None:
    """Helpers of the parent are not in the child; it must not wait for them."""
    import multiprocessing

    torch.set_num_threads(2)
    scene = Scene(EnvConfig(), torch.float32, n=4_096)
    action = scene.actions()
    expected = scene.native(scene.rates, scene.account, action).account.money.sum().item()
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def step() -> None:
        torch.set_num_threads(2)
        made = scene.native(scene.rates, scene.account, action)
        sender.send(float(np.asarray(made.account.money).sum(dtype=np.float64)))

    child = context.Process(target=step)
    child.start()
    arrived = receiver.poll(60)
    found = receiver.recv() if arrived else None
    child.kill()
    child.join()

    assert arrived
    assert found == pytest.approx(expected, rel=1e-5)


def test_nothing_that_was_given_is_written() -> None:
    scene = Scene(EnvConfig(), torch.float32)
    before = [tensor.clone() for tensor in scene.account]

    first = scene.native(scene.rates, scene.account, action := scene.actions())
    kept = [tensor.clone() for tensor in (*first.account, first.private, first.reward)]
    again = scene.native(scene.rates, scene.account, action)

    assert all(torch.equal(a, b) for a, b in zip(scene.account, before, strict=True))
    results = (*first.account, first.private, first.reward)
    assert all(torch.equal(a, b) for a, b in zip(results, kept, strict=True))
    assert torch.equal(first.account.money, again.account.money)


def test_accounts_that_are_not_packed_as_wanted_go_by_tensors() -> None:
    scene = Scene(EnvConfig(), torch.float32)
    wide = PackedAccount(scene.account.money.double(), scene.account.counts)
    rates = scene.rates.double()

    with torch.no_grad():
        made = scene.native(rates, wide, scene.actions().double())

    assert made.account.money.dtype == torch.float64
