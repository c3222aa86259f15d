"""Our PPO and SB3's: the same losses from the same numbers, the same learning within seeds."""

from __future__ import annotations

import pytest
import torch

from fixtures.toy_tasks import SignalTask

pytest.importorskip("stable_baselines3", reason="the reference is an extra")

from reference.sb3_agreement.ppo import compare_losses
from tradingbot_benchmarks.learning.ppo.quality import time_to_quality
from tradingbot_benchmarks.learning.ppo.reference import PPOSetting, compare_learning, measure_speed
from tradingbot_benchmarks.learning.sac.reference import difference_interval, interquartile_mean

SMALL = PPOSetting(
    hidden=(16,), rollout_steps=32, n_epochs=4, minibatch=64, learning_rate=3e-3, discount=0.9
)


class FreeTask(SignalTask):
    """Every code is allowed: SB3 knows no masks."""

    def observe(self, state):
        seen = super().observe(state)
        return seen._replace(allowed=torch.ones_like(seen.allowed))


@pytest.mark.parametrize("hidden", [(16,), (16, 8)])
@pytest.mark.parametrize("entropy_weight", [0.0, 0.05])
def test_losses_and_gradients_equal_those_of_sb3(hidden, entropy_weight: float) -> None:
    setting = PPOSetting(hidden=hidden, entropy_weight=entropy_weight)

    for seed in range(3):
        agreement = compare_losses(setting, seed=seed)

        assert agreement.losses < 1e-6
        assert agreement.gradients < 1e-5


def test_speed_is_measured_for_both() -> None:
    speed = measure_speed(lambda n: SignalTask(n, 4), SMALL, n_agents=2, updates=1)

    assert min(speed) > 0.0


def test_time_to_quality_stops_at_the_score_and_at_the_limit() -> None:
    scores = iter([0.1, 0.5, 0.4, 0.95])
    steps = iter([10, 20, 30])

    made = time_to_quality(lambda: next(steps), lambda: next(scores), 0.9, limit_s=60.0)
    never = time_to_quality(lambda: 1, lambda: 0.2, 0.9, limit_s=0.0)

    assert (made.reached, made.steps, made.best) == (True, 30, 0.95)
    assert (never.reached, never.steps) == (False, 0)


@pytest.mark.slow
def test_learning_curves_are_the_same_within_seeds() -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    curves = compare_learning(
        lambda seed: FreeTask(1, 8, kappa=0.5, seed=seed, kind="discrete"),
        SMALL,
        range(10),
        updates_per_point=(5, 10, 15),
        play_steps=64,
    )
    torch.set_num_threads(threads)

    for point in curves.points:
        low, high = difference_interval(point)
        assert low < 0.0 < high
    assert interquartile_mean(curves.points[-1].ours) > 0.1
