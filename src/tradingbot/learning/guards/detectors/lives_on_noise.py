"""Deterministic play shows one action where sampling shows many: diversity that is only noise."""

from __future__ import annotations

from tradingbot.learning.guards.config import GuardConfig
from tradingbot.learning.guards.detector import (
    Detection,
    Detector,
    Scene,
    grade_levels,
    soften_levels,
)
from tradingbot.learning.guards.diagnosis import AlarmLevel, percent
from tradingbot.learning.guards.evidence import is_resting, noise_pays
from tradingbot.learning.guards.history import History


def check(history: History, config: GuardConfig) -> Detection:
    """Compare the share of the largest deterministic action with its share in sampling.

    It is critical where the noise earns more than the policy does without it.
    """
    share = history["eval/largest_share"]
    gap = share - history["eval/share_in_sampling"]
    lives = (share >= config.noise_largest) & (gap > config.noise_gap)
    level = grade_levels(lives, lives & noise_pays(history))
    undecided = history["policy/normalised_entropy"] >= config.undecided
    level = soften_levels(level, undecided | is_resting(history, config, config.noise_largest))
    return Detection(level, gap[-1], config.noise_gap)


def words(scene: Scene) -> str:
    """Tell both shares and what they mean."""
    share, sampled = scene.now("eval/largest_share"), scene.now("eval/share_in_sampling")
    said = f"{percent(share)} {scene.bin_name('eval/largest_code')} in deterministic evaluation "
    said += f"although {percent(sampled)} in sampling: "
    if scene.now("policy/normalised_entropy") >= scene.config.undecided:
        return said + "it is still undecided"
    if scene.severity is AlarmLevel.INFO:
        return said + "it stays out, and only its exploration trades"
    return said + "the policy lives on its noise"


RULE = Detector(
    "LIVES_ON_NOISE",
    check,
    words,
    "Judge by deterministic evaluation only. More exploration does not help a policy that does not "
    "tell states apart: look at features, reward and learning rate.",
    cure="restart",
    patience=lambda config: max(config.patience, config.probe_every + 1),
)
