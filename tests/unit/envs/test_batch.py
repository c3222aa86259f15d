"""The batch: one call for all lanes, deterministic, closed to bad actions, and without leaks."""

from __future__ import annotations

import gc
import resource
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from fixtures.trading_worlds import crashed, short_config, small_world
from tradingbot.domain.errors import ConfigError, UserError
from tradingbot.domain.seeding import stream
from tradingbot.envs.batch import BatchSimulator
from tradingbot.envs.batch.observation import as_arrays
from tradingbot.envs.batch.step import BatchStep, is_compiled
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.spaces import flatten_layout, observation_space
from tradingbot.market.advance import Advanced
from tradingbot.market.compiled import missing_compiler
from tradingbot.market.costs import CostProfile, CostRates, cost_profile
from tradingbot.market.params import ActionSpace, SimulatorParams
from tradingbot.rewards import RewardStack, reward_preset

B = 5


def simulator(config: EnvConfig | None = None, n: int = B, **options: object) -> BatchSimulator:
    made = BatchSimulator(small_world(), config or short_config(), n, compile=False, **options)  # type: ignore[arg-type]
    made.reset(seed=3)
    return made


def random_actions(space: ActionSpace, shape: tuple[int, ...], seed: int = 0) -> Tensor:
    generator = stream(seed, "actions")
    if space == "discrete":
        return torch.from_numpy(generator.integers(0, 7, shape))
    return torch.from_numpy(generator.uniform(-1.0, 1.0, shape).astype(np.float32))


def numbers_of(steps: list[BatchStep]) -> list[Tensor]:
    return [
        part.clone()
        for made in steps
        for part in (made.reward, made.terms, made.private, *made.account)
    ]


def roll(sim: BatchSimulator, actions: Tensor) -> list[BatchStep]:
    return [sim.step(row) for row in actions]


def assert_same(ours: list[Tensor], theirs: list[Tensor]) -> None:
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("space", ["continuous", "target", "discrete"])
def test_batch_same_seed_same_actions_same_bits_twice(space: ActionSpace) -> None:
    actions = random_actions(space, (30, B))
    first, second = simulator(short_config(space)), simulator(short_config(space))

    assert_same(numbers_of(roll(first, actions)), numbers_of(roll(second, actions)))
    assert first.account.episode.min() >= 2  # it went across ends


def test_batch_another_seed_starts_elsewhere() -> None:
    sim = simulator(n=16)
    rows = sim.account.row.clone()

    sim.reset(seed=4)

    assert not torch.equal(sim.account.row, rows)


def test_lanes_one_lane_acting_otherwise_moves_no_other() -> None:
    actions = random_actions("continuous", (30, B))
    changed = actions.clone()
    changed[:, 2] = -changed[:, 2]
    ours, theirs = (roll(simulator(), a) for a in (actions, changed))
    others = [0, 1, 3, 4]

    assert any(not torch.equal(a.reward[2], b.reward[2]) for a, b in zip(ours, theirs, strict=True))
    for a, b in zip(ours, theirs, strict=True):
        assert torch.equal(a.reward[others], b.reward[others])
        assert torch.equal(a.private[:, others], b.private[:, others])


def test_episode_after_another_is_as_if_it_were_the_first() -> None:
    bars = short_config().rules.episode.episode_bars
    sim, fresh = simulator(), simulator()
    wild, then = random_actions("continuous", (2, bars, B))
    roll(sim, wild)
    fresh.reset(seed=3, episode=1)

    assert torch.equal(sim.account.row, fresh.account.row)
    assert np.array_equal(as_arrays(sim.observe()), as_arrays(fresh.observe()))
    ours, theirs = roll(sim, then), roll(fresh, then)
    assert_same(numbers_of(ours), numbers_of(theirs))


def test_reset_without_seed_goes_on_to_the_next_episode() -> None:
    sim = simulator()
    sim.reset()
    following = sim.account

    sim.reset(seed=3, episode=1)

    assert torch.equal(following.row, sim.account.row)
    assert following.episode.tolist() == [1] * B


def test_reset_never_seeded_draws_a_seed_of_chance() -> None:
    sims = [BatchSimulator(small_world(), short_config(), 32, compile=False) for _ in range(2)]
    for sim in sims:
        sim.reset()

    assert not torch.equal(sims[0].account.row, sims[1].account.row)


def test_observation_flat_has_window_context_and_account_of_each_lane() -> None:
    config, world = short_config(), small_world()
    sim = simulator(config)
    made = roll(sim, random_actions("continuous", (7, B)))[-1]
    flat = sim.observe()
    assert isinstance(flat, Tensor)
    layout = {part.name: part for part in flatten_layout(world, config)}
    for lane in range(B):
        symbol, bar = divmod(int(sim.account.row[lane]), world.n_bars)
        part = layout["technical"]
        window = world.features[symbol, bar - 5 : bar + 1]
        assert np.array_equal(flat[lane, part.columns].numpy().reshape(part.shape), window)
        for name, source in (("probabilities", world.probabilities), ("regime", world.regimes)):
            shown = flat[lane, layout[name].columns].numpy()
            assert np.array_equal(shown, source[symbol, bar])
        private = flat[lane, layout["position"].start : layout["portfolio"].stop]
        assert torch.equal(private, made.private[:, lane])


def test_observation_dict_holds_the_numbers_of_the_flat_row() -> None:
    flat = simulator().observe()
    named = simulator(replace(short_config(), observation="dict")).observe()
    assert isinstance(flat, Tensor)
    assert isinstance(named, dict)

    assert torch.equal(torch.cat([part.flatten(1) for part in named.values()], dim=1), flat)
    space = observation_space(small_world(), replace(short_config(), observation="dict"))
    assert space.contains({name: part[0].numpy() for name, part in named.items()})


def test_observation_is_new_each_time_unless_a_buffer_is_given() -> None:
    sim = simulator()
    first = sim.observe()
    assert isinstance(first, Tensor)
    kept = first.clone()
    sim.step(torch.ones(B))
    out = torch.empty_like(kept)

    second = sim.observe(out)

    assert torch.equal(first, kept)
    assert second is out
    assert not torch.equal(out, kept)


def test_observation_before_reset_is_the_end_of_the_old_episode() -> None:
    longer = short_config(episode_bars=13)
    sim = simulator()
    actions = random_actions("continuous", (12, B))
    made = roll(sim, actions)[-1]
    going_on = BatchSimulator(small_world(), longer, B, compile=False)
    going_on.reset(seed=3)
    # The longer episode begins at other bars: bring it to those of the shorter.
    going_on._starts, going_on._account = simulator()._starts, simulator()._account
    roll(going_on, actions)
    last = sim.observe_before_reset(made, torch.arange(B))
    assert isinstance(last, Tensor)

    assert made.truncated.all()
    assert torch.equal(last, going_on.observe())  # type: ignore[arg-type]
    assert not torch.equal(last, sim.observe())  # type: ignore[arg-type]


def test_lanes_per_symbol_share_a_clock_and_trade_their_symbol() -> None:
    world = small_world()
    sim = simulator(n=4, lanes="per_symbol")

    symbol, bar = sim.account.row // world.n_bars, sim.account.row % world.n_bars

    assert symbol.reshape(4, 3).tolist() == [[0, 1, 2]] * 4
    assert (bar.reshape(4, 3) == bar.reshape(4, 3)[:, :1]).all()
    assert len(set(bar.tolist())) > 1  # environments differ


def test_reset_without_seed_after_one_lane_ended_keeps_the_shared_clock() -> None:
    world, config = small_world(), short_config("target", smoothing_bars=1)
    first = BatchSimulator(world, config, 2, lanes="per_symbol", compile=False)
    first.reset(seed=5)
    bar = int(first.account.row[1]) % world.n_bars
    sim = BatchSimulator(crashed(world, 1, bar + 3), config, 2, lanes="per_symbol", compile=False)
    sim.reset(seed=5)
    roll(sim, torch.ones(8, 6))
    ended = sim.account.episode.reshape(2, 3)
    assert len(set(ended[0].tolist())) > 1  # one lane is an episode ahead of its environment

    sim.reset()

    assert (
        sim.account.episode.reshape(2, 3).tolist()
        == (ended.amax(1)[:, None] + 1).repeat(1, 3).tolist()
    )
    bars = (sim.account.row % world.n_bars).reshape(2, 3)
    assert (bars == bars[:, :1]).all()


def test_masks_allow_what_a_flat_and_a_long_account_may_do() -> None:
    sim = simulator(short_config("discrete"))
    assert sim.action_masks().tolist() == [[True, True, True, True, False, False, False]] * B

    sim.step(torch.full((B,), 3))

    masks = sim.action_masks()
    assert masks.shape == (B, 7)
    assert (sim.account.units > 0).all()
    assert masks[:, 5].all()
    assert not masks[:, 1:4].any()


def test_costs_changed_between_steps_hold_from_the_next_step() -> None:
    free, dear = simulator(), simulator()
    for sim in (free, dear):
        sim.set_costs(cost_profile("free"))
        sim.step(torch.ones(B))
    dear.set_costs(CostProfile(commission_frac=0.01))
    free.step(torch.ones(B))
    dear.step(torch.ones(B))

    assert (free.account.commission_paid == 0).all()
    assert (dear.account.commission_paid > 0).all()


def test_costs_per_lane_charge_each_its_own() -> None:
    sim = simulator()
    one = CostProfile().rates()
    sim.set_costs(CostRates(torch.linspace(0.0, 0.02, B), *one[1:]))
    sim.step(torch.ones(B))

    paid = sim.account.commission_paid / sim.account.turnover
    assert torch.allclose(paid, torch.linspace(0.0, 0.02, B))


@pytest.mark.skipif(
    missing_compiler(torch.device("cpu")) is not None, reason="no C compiler on this machine"
)
def test_costs_changed_between_steps_are_the_same_in_native_lanes() -> None:
    """Shared rates, rates of each lane, and shared ones again: results, and what adapters read."""
    shared, others = CostProfile(commission_frac=0.01), CostProfile().rates()[1:]
    own = CostRates(torch.linspace(0.0, 0.02, B), *others)
    eager, native, brief = (
        simulator(),
        *(BatchSimulator(small_world(), short_config(), B, compile=True) for _ in range(2)),
    )
    for sim in (native, brief):
        assert sim.is_native
        sim.reset(seed=3)

    paid = []
    for costs in (cost_profile("free"), own, shared, own):
        for sim in (eager, native, brief):
            sim.set_costs(costs)
        actions = random_actions("continuous", (3, B), seed=len(paid))
        ours, theirs = roll(eager, actions), roll(native, actions)
        for row in actions:
            brief.step_arrays(row.numpy())
        for one, other in zip(numbers_of(ours), numbers_of(theirs), strict=True):
            torch.testing.assert_close(one, other, rtol=2e-5, atol=1e-5)
        for sim in (native, brief):
            assert torch.equal(sim.account.commission_paid, eager.account.commission_paid)
            assert torch.equal(sim.account.cash, eager.account.cash)
        paid.append(eager.account.commission_paid)

    assert (paid[0] == 0.0).all()
    assert all((after != before).any() for before, after in pairwise(paid))


def test_ruin_terminates_one_lane_and_leaves_the_others() -> None:
    world, config = small_world(), replace(short_config("target", smoothing_bars=1), starts="first")
    bar = int(world.usable.any(0).argmax())
    sim = BatchSimulator(crashed(world, 1, bar + 4), config, 1, lanes="per_symbol", compile=False)
    sim.reset(seed=0)
    steps = roll(sim, torch.ones(10, 3))

    ended = torch.stack([made.terminated for made in steps])
    assert ended[:, 1].sum() == 1
    assert not ended[:, [0, 2]].any()
    assert all(made.reward.isfinite().all() for made in steps)
    assert sim.account.episode.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("space", "actions", "complaint"),
    [
        ("continuous", torch.zeros(B + 1), r"shape \(5,\), was \(6,\)"),
        ("continuous", torch.zeros(B, 2), r"shape \(5,\), was \(5, 2\)"),
        ("continuous", torch.zeros(()), r"shape \(5,\), was \(\)"),
        ("continuous", torch.zeros(B, dtype=torch.bool), "must be numbers, was torch.bool"),
        ("continuous", torch.zeros(B, dtype=torch.complex64), "must be numbers"),
        ("discrete", torch.zeros(B), "must be whole numbers, was torch.float32"),
        ("discrete", np.array(["buy"] * B), "tensor or an array of numbers"),
        ("continuous", None, "tensor or an array of numbers"),
    ],
)
def test_actions_of_wrong_shape_or_kind_are_refused_and_nothing_moves(
    space: ActionSpace, actions: object, complaint: str
) -> None:
    sim = simulator(short_config(space))
    before = sim.account

    with pytest.raises(UserError, match=complaint):
        sim.step(actions)  # type: ignore[arg-type]

    assert sim.account is before


@pytest.mark.parametrize(
    ("space", "bad"),
    [("continuous", float("nan")), ("continuous", 1.5), ("target", float("inf")), ("discrete", 7)],
)
def test_actions_bad_number_strict_is_refused_else_survived(space: ActionSpace, bad: float) -> None:
    actions = random_actions(space, (B,))
    actions[3] = bad
    strict = simulator(replace(short_config(space), strict=True))
    lenient = simulator(short_config(space))

    with pytest.raises(UserError, match=r"must lie in .*lane 3"):
        strict.step(actions)
    made = lenient.step(actions)

    assert all(field.isfinite().all() for field in made.account)
    counted = made.account.violations[3].item()
    assert counted == (0 if bad == 1.5 else 1)  # out of range is clipped, not a violation


def test_step_before_reset_is_refused() -> None:
    sim = BatchSimulator(small_world(), short_config(), B, compile=False)

    with pytest.raises(UserError, match="reset must be called"):
        sim.step(torch.zeros(B))
    with pytest.raises(UserError, match="reset must be called"):
        sim.observe()


class BreaksOnce(RewardStack):
    """A reward that raises in its third call and never again."""

    def __init__(self, *, calls: int = 0) -> None:
        super().__init__(reward_preset("v31").layers)
        self.__dict__["calls"] = calls

    def __call__(self, rules: SimulatorParams, advanced: Advanced) -> Tensor:
        self.__dict__["calls"] += 1
        if self.__dict__["calls"] == 3:
            raise RuntimeError("broken pipe")
        return (advanced.after.equity - advanced.before.equity)[None]


def test_step_that_raises_may_be_tried_again_and_gives_what_it_would_have() -> None:
    actions = random_actions("continuous", (20, B))
    sound = simulator(replace(short_config(), reward=BreaksOnce(calls=100)))
    broken = simulator(replace(short_config(), reward=BreaksOnce()))
    steps = []
    for row in actions:
        try:
            steps.append(broken.step(row))
        except RuntimeError:
            steps.append(broken.step(row))

    assert_same(numbers_of(steps), numbers_of(roll(sound, actions)))


def test_memory_tensors_do_not_accumulate_over_hundreds_of_steps() -> None:
    sim = simulator()
    actions = random_actions("continuous", (200, B))

    def tensors_alive() -> int:
        gc.collect()
        return sum(type(thing) is Tensor for thing in gc.get_objects())

    roll(sim, actions[:20])
    before = tensors_alive()
    for index in range(len(actions)):
        sim.step(actions[index])
        sim.observe()

    assert tensors_alive() <= before


def test_state_bytes_per_lane_are_those_of_the_account() -> None:
    assert simulator().bytes_per_lane == 4 * (19 + 15 + 7)
    assert simulator(dtype=torch.float64).bytes_per_lane == 8 * 19 + 4 * (15 + 7)


@pytest.mark.parametrize("n", [0, -1, "4", 1.5, None, True])
def test_number_of_lanes_that_is_none_is_refused(n: int) -> None:
    with pytest.raises(ConfigError, match="n_environments must be a whole number, 1 or more"):
        simulator(n=n)


@pytest.mark.parametrize("seed", [-1, [1, 2, 3], "7", 1.5])
def test_seed_that_is_not_one_whole_number_is_refused_and_nothing_changes(seed: int) -> None:
    sim = simulator()
    before = sim.account

    with pytest.raises(ConfigError, match="seed must be one whole number, 0 or more, was"):
        sim.reset(seed=seed)

    assert sim.account is before


def rates_with(**changed: object) -> CostRates:
    return CostProfile().rates()._replace(**changed)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("costs", "complaint"),
    [
        (rates_with(slippage_frac=torch.tensor(-1e-4)), r"slippage_frac must lie in \[0, 1\)"),
        (rates_with(commission_frac=torch.full((B,), 1.0)), r"commission_frac .* was 1\.0"),
        (rates_with(impact_coef=torch.tensor(10.0)), r"impact_coef must lie in \[0, 10\)"),
        (rates_with(spread_frac=torch.tensor([0.0] * (B - 1) + [torch.nan])), "spread_frac.*nan"),
        (rates_with(spread_frac=torch.zeros(B, 1)), r"shape \(\) or \(5,\), was \(5, 1\)"),
        (rates_with(spread_frac=torch.zeros(B + 1)), r"shape \(\) or \(5,\), was \(6,\)"),
        (rates_with(spread_frac=torch.tensor(False)), "tensor of numbers, was torch.bool"),
        (rates_with(spread_frac=0.1), "tensor of numbers, was float"),
        ("retial", "Did you mean 'retail'"),
        (0.001, "CostProfile, its name or CostRates, was float"),
    ],
)
def test_costs_that_cannot_be_are_refused_and_nothing_changes(
    costs: CostRates, complaint: str
) -> None:
    sim, same = simulator(), simulator()

    with pytest.raises(ConfigError, match=complaint):
        sim.set_costs(costs)

    actions = random_actions("continuous", (10, B))
    assert_same(numbers_of(roll(sim, actions)), numbers_of(roll(same, actions)))


def test_costs_by_name_are_those_of_the_profile() -> None:
    named, given = simulator(), simulator()
    named.set_costs("retail")
    given.set_costs(cost_profile("retail"))

    actions = random_actions("continuous", (10, B))
    assert_same(numbers_of(roll(named, actions)), numbers_of(roll(given, actions)))


def test_compile_without_a_compiler_warns_once_and_runs_eager(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("tradingbot.market.native.library._COMPILERS", ("no-such-compiler",))

    with pytest.warns(RuntimeWarning, match="uncompiled.*C compiler was not found") as caught:
        sim = BatchSimulator(small_world(), short_config(), 2, compile=True)

    assert len(caught) == 1
    assert not sim.is_native


def test_compile_auto_warns_of_a_missing_compiler_where_lanes_are_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("tradingbot.market.native.library._COMPILERS", ("no-such-compiler",))
    cpu = torch.device("cpu")

    assert not is_compiled("auto", cpu, 255)
    with pytest.warns(RuntimeWarning, match="uncompiled"):
        assert not is_compiled("auto", cpu, 256)


@pytest.mark.slow
def test_memory_does_not_grow_over_a_million_steps() -> None:
    sim = simulator(n=4096)
    actions = random_actions("continuous", (8, 4096))
    for index in range(30):
        sim.step(actions[index % 8])
        sim.observe()
    settled = resident_bytes()
    for index in range(250):  # 1,024,000 environment steps
        sim.step(actions[index % 8])
        sim.observe()

    assert resident_bytes() - settled < 32 * 2**20


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()
