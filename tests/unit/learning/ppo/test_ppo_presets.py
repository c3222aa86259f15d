from __future__ import annotations

from tradingbot.learning.ppo.config import PPO_PRESETS


def test_spec_preset_has_the_numbers_of_the_specification() -> None:
    spec = PPO_PRESETS["spec"]

    assert (spec.rollout_steps, spec.minibatch, spec.n_epochs) == (2048, 64, 10)
    assert (spec.discount, spec.decay, spec.clip.at(0)) == (0.99, 0.95, 0.2)
    assert (spec.value_weight, spec.gradient_clip, spec.kl_stop) == (0.5, 0.5, 0.015)
    assert (spec.learning_rate.at(0), spec.learning_rate.at(10**9)) == (3e-4, 1e-5)
    entropy = spec.entropy
    assert (entropy.coefficient.at(10_000), entropy.coefficient.at(50_000)) == (0.08, 0.03)
    assert (entropy.target, entropy.scale, entropy.max_factor, entropy.floor) == (
        *(0.55, 0.35),
        *(3.0, 0.02),
    )
    assert (entropy.guard_entropy, entropy.guard_boost, entropy.guard_max_boost) == (0.22, 1.7, 3.0)
    assert (entropy.guard_warm_up, entropy.guard_cooldown, entropy.guard_patience) == (
        *(4_000, 6_000),
        2,
    )
