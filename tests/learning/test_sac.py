"""SAC learns what there is to learn, nothing where there is nothing, and as SB3's does."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from fixtures.toy_tasks import SignalTask
from tradingbot.learning.playing import play
from tradingbot.learning.sac.config import SACConfig
from tradingbot.learning.sac.learner import SAC
from tradingbot.learning.schedules import constant
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.view import TableView

HEAD = HeadConfig(hidden=(16,), activation="relu")
CONFIG = SACConfig(
    actor=HEAD,
    critic=HEAD,
    learning_rate=constant(5e-3),
    temperature=0.05,
    temperature_rate=5e-3,
    warm_up=512,
    batch_size=64,
    discount=0.8,
    deviation_penalty=1e-3,
    act_levels=2,
)
N_BARS, PLAY_STEPS = 2_048, 128


class Unseen:
    """Bars that were never trained on, in the same view as those that were."""

    def __init__(self, kappa: float, *, opposed: bool = False) -> None:
        self.train = SignalTask(2, 16, kappa=kappa, opposed=opposed, n_bars=N_BARS, seed=1)
        self.test = SignalTask(2, 64, kappa=kappa, opposed=opposed, n_bars=N_BARS, seed=2)
        self.view = TableView(torch.cat([self.train.table, self.test.table]))

    def learn(self, config: SACConfig, *, n_updates: int) -> SAC:
        sac = SAC(self.train, self.view, config, seed=0)
        for _ in range(n_updates):
            sac.update()
        return sac

    def reward(self, sac: SAC) -> float:
        """Mean reward per step of the deterministic policy out of sample."""
        shift = 2 * N_BARS

        def act(seen):
            return sac.act(seen._replace(row=seen.row + shift))

        return float(play(self.test, act, PLAY_STEPS).reward.mean())

    def known_reward(self) -> float:
        """That of holding while the signal, read with the right sign, is above 0."""
        signal = (self.test.table[..., 0] * self.test.signs[:, None]).reshape(-1)
        played = play(self.test, lambda seen: (signal[seen.row] > 0).float(), PLAY_STEPS)
        return float(played.reward.mean())


def test_sac_with_a_planted_signal_learns_to_trade_unseen_bars():
    bars = Unseen(kappa=0.5)
    sac = bars.learn(CONFIG, n_updates=8)
    assert bars.reward(sac) > 0.85 * bars.known_reward() > 0.1


def test_sac_in_noise_neither_earns_nor_pays_much():
    bars = Unseen(kappa=0.0)
    sac = bars.learn(CONFIG, n_updates=8)
    # 4,096 unseen bars of deviation 1: chance alone makes ± 0.03.
    assert abs(bars.reward(sac)) < 0.06


@pytest.mark.slow
def test_sac_with_opposed_agents_needs_partial_pooling():
    bars = Unseen(kappa=0.5, opposed=True)
    partial = bars.reward(bars.learn(CONFIG, n_updates=16))
    pooled_head = replace(HEAD, pooling="pooled")
    config = replace(CONFIG, actor=pooled_head, critic=pooled_head)
    pooled = bars.reward(bars.learn(config, n_updates=16))
    assert partial > 0.7 * bars.known_reward()
    assert pooled < 0.3 * bars.known_reward()


def test_sac_computes_the_losses_and_gradients_of_sb3():
    pytest.importorskip("stable_baselines3")
    from reference.sb3_agreement.sac import compare_losses
    from tradingbot_benchmarks.learning.sac.reference import CommonSetting

    agreement = compare_losses(SignalTask(1, 4), CommonSetting(hidden=(32, 16), batch_size=64))
    # SB3 adds 1e-6 inside the logarithm of the squashing; ours needs no such help.
    assert max(agreement) < 1e-3


@pytest.mark.slow
def test_sac_learns_the_curves_of_sb3_within_the_interval_of_seeds():
    pytest.importorskip("stable_baselines3")
    from tradingbot_benchmarks.learning.sac.reference import (
        CommonSetting,
        compare_learning,
        difference_interval,
        interquartile_mean,
    )

    setting = CommonSetting(
        hidden=(32, 32), learning_rate=3e-3, warm_up=200, batch_size=64, discount=0.8
    )
    curves = compare_learning(
        lambda seed: SignalTask(1, 8, kappa=0.5, seed=seed),
        setting,
        range(10),
        n_steps=8_000,
        play_steps=128,
    )
    low, high = difference_interval(curves)
    learned = interquartile_mean(curves.sb3)
    assert learned > 0.05
    assert low <= 0.0 <= high or max(abs(low), abs(high)) < 0.1 * learned
