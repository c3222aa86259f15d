from __future__ import annotations

import pytest
import torch

from tradingbot.domain.errors import ConfigError
from tradingbot.learning.entropy import begin_entropy, entropy_coefficient, watch_entropy
from tradingbot.learning.entropy_config import EntropyConfig

CONFIG = EntropyConfig()


def test_coefficient_adapts_toward_the_target_within_its_bounds() -> None:
    normalised_entropy = torch.tensor([0.55, 0.20, 0.0, 0.90, 1.0])
    state = begin_entropy(5)._replace(normalised_entropy=normalised_entropy)

    got = entropy_coefficient(CONFIG, state, steps=0)
    strict = entropy_coefficient(EntropyConfig(max_factor=1.5), state, steps=0)

    assert got.tolist() == pytest.approx([0.08, 0.16, 0.08 * (1 + 0.55 / 0.35), 0.02, 0.02])
    assert strict.max().item() == pytest.approx(0.12)


def test_floor_is_not_above_the_schedule() -> None:
    config = EntropyConfig(coefficient=EntropyConfig().coefficient.__class__("constant", 0.001))
    state = begin_entropy(1)

    assert entropy_coefficient(config, state, 0).item() == pytest.approx(0.001)


def test_target_of_zero_leaves_the_schedule_alone() -> None:
    state = begin_entropy(2)._replace(normalised_entropy=torch.tensor([0.0, 1.0]))

    got = entropy_coefficient(EntropyConfig(target=0.0), state, steps=60_000)

    assert got.tolist() == pytest.approx([0.03, 0.03])


def watch(spreads: list[float], every: int, config: EntropyConfig = CONFIG, start: int = 4_000):
    state = begin_entropy(1)
    boosts = []
    for number, normalised_entropy in enumerate(spreads):
        state = watch_entropy(
            config, state, torch.tensor([normalised_entropy]), start + number * every
        )
        boosts.append(round(state.boost.item(), 4))
    return boosts, state


def test_guard_boosts_after_patience_and_rests_for_the_cooldown() -> None:
    boosts, _ = watch([0.1] * 8, every=2_000)

    # Two updates of patience at 4,000 and 6,000; then 6,000 steps of rest; 1.7² is held to 3.
    assert boosts == [1.0, 1.7, 1.7, 1.7, 2.89, 2.89, 2.89, 3.0]


def test_guard_waits_for_the_warm_up() -> None:
    boosts, _ = watch([0.1] * 4, every=1_000, start=0)

    assert boosts == [1.0] * 4


def test_one_healthy_update_resets_the_patience() -> None:
    boosts, _ = watch([0.1, 0.5, 0.1, 0.5], every=2_000)

    assert boosts == [1.0] * 4


def test_boost_ends_when_the_spread_is_back_at_its_target() -> None:
    boosts, _ = watch([0.1, 0.1, 0.6, 0.6, 0.6], every=2_000)

    assert boosts == [1.7 if i in (1, 2, 3) else 1.0 for i in range(5)]


def test_guard_asks_to_halt_only_at_full_boost_and_if_told_to() -> None:
    halting = EntropyConfig(guard_halts=True, guard_cooldown=0)
    _, early = watch([0.1] * 4, every=100, config=halting)
    _, late = watch([0.1] * 8, every=100, config=halting)
    _, silent = watch([0.1] * 8, every=100, config=EntropyConfig(guard_cooldown=0))

    assert [s.halts.item() for s in (early, late, silent)] == [False, True, False]


def test_spread_that_is_no_number_counts_as_fallen() -> None:
    boosts, _ = watch([float("nan")] * 2, every=2_000)

    assert boosts == [1.0, 1.7]


def test_bonus_adapts_after_its_warm_up() -> None:
    state = begin_entropy(1)._replace(normalised_entropy=torch.tensor([0.2]))
    config = EntropyConfig(warm_up=4_000)

    got = [entropy_coefficient(config, state, steps).item() for steps in (3_999, 4_000)]

    assert got == pytest.approx([0.08, 0.16])


def test_bonus_comes_down_by_its_decay_and_goes_up_at_once() -> None:
    config, state = EntropyConfig(decay=0.12), begin_entropy(1)
    adapts_by = []
    for entropy in (0.2, 0.6, 0.6, 0.1):
        state = watch_entropy(config, state, torch.tensor([entropy]), steps=0)
        adapts_by.append(state.normalised_entropy.item())

    assert adapts_by == pytest.approx([0.2, 0.248, 0.29024, 0.1])


def test_bonus_follows_at_once_where_no_decay_is_set() -> None:
    state = begin_entropy(2)._replace(normalised_entropy=torch.tensor([0.1, float("nan")]))
    seen = torch.tensor([0.7001, 0.3])

    assert watch_entropy(CONFIG, state, seen, 0).normalised_entropy.equal(seen)


def test_agents_are_guarded_one_by_one() -> None:
    state = begin_entropy(2)
    for steps in (4_000, 6_000):
        state = watch_entropy(CONFIG, state, torch.tensor([0.1, 0.5]), steps)

    assert state.boost.tolist() == pytest.approx([1.7, 1.0])


@pytest.mark.parametrize(
    "fields", [{"target": 1.2}, {"scale": 0.0}, {"guard_boost": 1.0}, {"guard_patience": 0}]
)
def test_nonsense_is_refused(fields: dict) -> None:
    with pytest.raises(ConfigError, match=next(iter(fields))):
        EntropyConfig(**fields)
