"""The share of PPO's time that environments take: parts of a whole, whatever the machine."""

from __future__ import annotations

import pytest

from tradingbot.envs.build_world import synthetic_world

pytest.importorskip("stable_baselines3", reason="the extra `train` is not installed")

from tradingbot_benchmarks.simulator.sb3_share import EnvironmentShare, environment_share


def test_environment_share_times_are_parts_of_the_whole() -> None:
    share = environment_share(
        synthetic_world(n_symbols=2, n_bars=800),
        n_envs=4,
        n_steps=8,
        n_rollouts=2,
        batch_size=32,
        n_epochs=1,
        compile=False,
    )

    assert share.env_steps == 64
    assert 0.0 < share.environment_s < share.rollout_s < share.total_s


def test_environment_share_fractions_are_of_total_and_of_rollout() -> None:
    share = EnvironmentShare(n_envs=8, env_steps=64, environment_s=1.0, rollout_s=4.0, total_s=20.0)

    assert share.share_frac == 0.05
    assert share.share_of_rollout_frac == 0.25
