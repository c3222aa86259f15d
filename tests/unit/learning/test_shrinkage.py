"""Validation keeps what pays, drops what does not, and is not fooled by noise."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor

from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.learning.shrinkage import (
    FORMS,
    Earned,
    ShrinkageConfig,
    apply,
    decide,
    scaled_deviations,
    shrink,
    staying_out,
)
from tradingbot.learning.task import ActionSpec, Observation
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.heads import StackedHead

BARS, AGENTS, BP = 480, 143, 1e-4
CONFIG = ShrinkageConfig()


def drawn(
    means_bp: Tensor | float, seed: int = 0, *, agents: int = AGENTS, common: float = 0.0
) -> Tensor:
    """Draw returns (S, N) with a standard deviation of 42 bp, some of it common to all agents."""
    generator = torch.Generator().manual_seed(seed)
    own = torch.randn(BARS, agents, generator=generator)
    shared = torch.randn(BARS, 1, generator=generator)
    noise = math.sqrt(1.0 - common) * own + math.sqrt(common) * shared
    return BP * (means_bp + 42.0 * noise)


def forms(full: Tensor, shared: Tensor | None = None) -> dict[str, Tensor]:
    """Return all forms; without another shared one deviations do nothing."""
    shared = full if shared is None else shared
    return {"shared": shared, "half": 0.5 * (shared + full), "full": full}


@pytest.mark.parametrize("mean_bp", [-0.09, -0.5])
def test_noise_that_pays_costs_ends_flat(mean_bp: float) -> None:
    ended = [shrink(forms(drawn(mean_bp, seed)), CONFIG) for seed in range(24)]
    out = [not bool(found.trades.any()) for found in ended]
    assert sum(out) >= 22
    assert all(
        float(found.scale.abs().max()) == 0.0
        for found, flat in zip(ended, out, strict=True)
        if flat
    )


def test_noise_common_to_all_agents_is_not_taken_for_143_proofs() -> None:
    found = [shrink(forms(drawn(0.0, seed, common=0.9)), CONFIG) for seed in range(24)]
    assert sum(bool(f.trades.any()) for f in found) <= 3


@pytest.mark.parametrize("mean_bp", [1.1, 2.3])
def test_edge_that_all_share_is_kept_by_all(mean_bp: float) -> None:
    kept = [
        float(shrink(forms(drawn(mean_bp, seed)), CONFIG).trades.float().mean())
        for seed in range(8)
    ]
    assert min(kept) > 0.97
    assert sum(kept) / len(kept) > 0.995


def test_few_blocks_must_be_surer_by_students_distribution_with_one_degree_less() -> None:
    config = ShrinkageConfig(confidence=1.959963984540054, block_bars=BARS // 8)
    found = shrink(forms(drawn(1.0)), config)
    assert found.errors_needed == pytest.approx(2.364624, abs=1e-6)  # 97.5 %, 7 degrees


def lasting(mean_bp: float, seed: int, *, size_bp: float = 5.0, phi: float = 0.98) -> Tensor:
    """Draw returns (S, N) of agents whose luck lasts: an AR(1) of its own for each."""
    steps = torch.randn(BARS, AGENTS, generator=torch.Generator().manual_seed(1_000 + seed))
    luck = [steps[0]]
    for step in steps[1:]:
        luck.append(phi * luck[-1] + math.sqrt(1.0 - phi**2) * step)
    return drawn(mean_bp, seed) + BP * size_bp * torch.stack(luck)


def test_luck_that_lasts_is_not_taken_for_agents_that_differ() -> None:
    kept = [shrink(forms(lasting(1.8, seed)), CONFIG).trades for seed in range(8)]
    assert all(bool(trades.any()) for trades in kept)
    assert sum(float(trades.float().mean()) for trades in kept) / 8 > 0.995


def test_opposed_agents_keep_their_deviations() -> None:
    sign = torch.where(torch.arange(AGENTS) < 70, 1.0, -1.0)
    shared, full = drawn(2.0 * sign, 3), drawn(2.2, 3)
    found = shrink(forms(full, shared), CONFIG)
    assert found.default == "full"
    assert float(found.trades.float().mean()) > 0.98
    assert float((found.scale == 1.0).float().mean()) > 0.9


def test_deviations_that_cost_are_dropped_by_all() -> None:
    found = shrink(forms(drawn(1.0, 5), drawn(2.0, 5)), CONFIG)
    assert found.default == "shared"
    assert float(found.scale.max()) == 0.0
    assert found.trades.all()


def test_agents_without_edge_stay_out_where_others_have_one() -> None:
    has_edge = torch.arange(AGENTS) < 70
    found = shrink(forms(drawn(torch.where(has_edge, 12.0, -8.0), 7)), CONFIG)
    assert float(found.trades[has_edge].float().mean()) > 0.95
    assert float(found.trades[~has_edge].float().mean()) < 0.05


@pytest.mark.parametrize("common", [0.0, 0.6])
def test_what_moves_all_agents_does_not_hide_how_they_differ(common: float) -> None:
    """Half of the agents lose: found out also where most of the noise is everyone's."""
    has_edge = torch.arange(AGENTS) < 100
    kept = [
        shrink(forms(drawn(torch.where(has_edge, 12.0, -8.0), seed, common=common)), CONFIG).trades
        for seed in range(8)
    ]
    traded = [trades for trades in kept if trades.any()]
    assert len(traded) >= 4
    assert all(float(trades[has_edge].float().mean()) > 0.95 for trades in traded)
    assert all(float(trades[~has_edge].float().mean()) < 0.1 for trades in traded)


def test_words_say_who_trades_and_why() -> None:
    out, trade = (shrink(forms(drawn(mean)), CONFIG).words for mean in (-1.0, 5.0))
    assert "all 143 agents stay out: at best (" in out
    assert "143 of 143 agents trade, most of them " in trade
    for words in (out, trade):
        assert "deviation" in words  # what shared, half and full mean
        assert "± is one standard error" in words
        assert "must be more than 2." in words


def test_words_say_what_is_judged_and_what_was_earned_beside_it() -> None:
    found = shrink(forms(drawn(5.0)), CONFIG)
    words = replace(found, judged_by="alpha", net=dict.fromkeys(FORMS, -3e-4)).words
    assert "bp per bar of alpha on validation" in words
    assert "; net -3.00 bp)" in words


def test_words_speak_of_one_agent_as_one() -> None:
    found = [shrink(forms(drawn(mean, agents=1)), CONFIG) for mean in (-5.0, 50.0)]
    out, trade = (each.words for each in found)
    assert out.startswith("the agent stays out: at best (")
    assert trade.startswith("the agent trades, ")
    assert ": it earned 5" in trade
    assert "agents" not in trade.replace("single agents", "")


def test_single_agent_is_judged_by_itself() -> None:
    assert shrink({"full": drawn(20.0, agents=1)}, CONFIG).trades.all()
    assert not shrink({"full": drawn(-20.0, agents=1)}, CONFIG).trades.any()


def test_few_blocks_must_show_more() -> None:
    """Ten blocks with a mean of 2.2 standard errors are not enough, forty are."""
    for n_blocks, expected in ((10, False), (40, True)):
        blocks = torch.linspace(-1.0, 1.0, n_blocks).double()
        error = blocks.std() / math.sqrt(n_blocks)
        returns = (blocks + 2.2 * error).repeat_interleave(24)[:, None]
        assert bool(shrink({"full": returns}, CONFIG).trades.all()) == expected


def test_bad_returns_are_refused() -> None:
    with pytest.raises(DataError, match="of forms shared, half, full"):
        shrink({"twice": drawn(0.0)}, CONFIG)
    with pytest.raises(DataError, match="of forms"):
        shrink({}, CONFIG)
    with pytest.raises(DataError, match="one shape"):
        shrink({"full": drawn(0.0), "half": drawn(0.0)[1:]}, CONFIG)
    with pytest.raises(DataError, match="eight blocks"):
        shrink({"full": drawn(0.0)[:190]}, CONFIG)
    with pytest.raises(ConfigError, match="confidence"):
        ShrinkageConfig(confidence=-1.0)


def head(pooling: str = "partial") -> StackedHead:
    """Return a small head of three agents."""
    generator = torch.Generator().manual_seed(0)
    return StackedHead(3, 4, 1, HeadConfig(hidden=(8,), pooling=pooling), generator)


def test_scaled_deviations_change_the_output_in_the_block_only() -> None:
    network, x = head(), torch.randn(3, 5, 4, generator=torch.Generator().manual_seed(1))
    full, added = network(x), network.deviation(x)
    with scaled_deviations({"actor": network}, torch.tensor([0.0, 0.5, 1.0])):
        kept = torch.tensor([0.0, 0.5, 1.0])[:, None, None] * added
        torch.testing.assert_close(network(x), full - added + kept)
    assert torch.equal(network(x), full)
    with (
        pytest.raises(RuntimeError, match="on the way"),
        scaled_deviations({"a": network}, torch.zeros(3)),
    ):
        raise RuntimeError("on the way")
    assert torch.equal(network(x), full)


@pytest.mark.parametrize(
    ("pooling", "shrinks", "considered"),
    [
        ("partial", False, ["shared", "half", "full"]),
        ("partial", True, ["shared", "full"]),  # shrunk in training: not halved again by luck
        ("pooled", False, ["full"]),
    ],
)
def test_forms_that_are_considered(pooling: str, shrinks: bool, considered: list[str]) -> None:
    network, task = head(pooling), SimpleNamespace(agent_names=("a", "b", "c"))
    learner = SimpleNamespace(
        networks=lambda: {"actor": network}, task=task, act=None, shrinks_deviations=shrinks
    )
    # Halving looks best, by luck.
    play = iter([Earned(drawn(mean, agents=3), drawn(mean, agents=3)) for mean in (5.0, 9.0, 7.0)])

    found = decide(learner, lambda _: next(play), CONFIG)

    assert [*found.gain] == considered


def test_applied_shrinkage_stays() -> None:
    network = head()
    before = network.deviations.detach().clone()
    found = shrink({form: drawn(5.0, agents=3) * (1 + 0.1 * FORMS[form]) for form in FORMS}, CONFIG)
    apply({"actor": network}, found)
    assert torch.equal(network.deviations, before * found.scale[:, None])
    apply({"actor": head("pooled")}, found)


@pytest.mark.parametrize(
    ("spec", "nothing"),
    [
        (ActionSpec("box", low=0.0), 0.0),
        (ActionSpec("box", low=-1.0), 0.0),
        (ActionSpec("box", low=0.2), 0.2),
        (ActionSpec("discrete", n_actions=7), 0),
    ],
)
def test_agents_that_stay_out_do_nothing(spec: ActionSpec, nothing: float) -> None:
    seen = Observation(torch.zeros(2, 3), torch.zeros(2, 3, 1), torch.zeros(2, 3, 0))
    chosen = torch.full((2, 3), 5 if spec.kind == "discrete" else 0.7)
    act = staying_out(lambda _: chosen, torch.tensor([True, False]), spec)
    found = act(seen)
    assert found.dtype == chosen.dtype
    assert torch.equal(found[0], chosen[0])
    assert (found[1] == nothing).all()


def test_alpha_of_rounding_lets_nobody_in() -> None:
    held = 1e-18 * (1.0 + 0.1 * torch.randn(480, 5, generator=torch.Generator().manual_seed(1)))

    assert not shrink({"full": held.double()}, ShrinkageConfig()).trades.any()
