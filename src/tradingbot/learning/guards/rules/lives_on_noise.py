"""Deterministic play shows one action where sampling shows many: diversity that is only noise."""

from __future__ import annotations

from tradingbot.learning.guards.config import GuardConfig
from tradingbot.learning.guards.evidence import stays_out
from tradingbot.learning.guards.history import History
from tradingbot.learning.guards.rule import Finding, Rule, Scene, graded, softened
from tradingbot.learning.guards.verdict import Severity, percent


def check(history: History, config: GuardConfig) -> Finding:
    """Compare the share of the largest deterministic action with its share in sampling."""
    share = history["eval/largest_share"]
    gap = share - history["eval/share_in_sampling"]
    lives = (share >= config.noise_largest) & (gap > config.noise_gap)
    level = softened(graded(lives, lives), stays_out(history, config))
    return Finding(level, gap[-1], config.noise_gap)


def words(scene: Scene) -> str:
    """Tell both shares and what they mean."""
    share, sampled = scene.now("eval/largest_share"), scene.now("eval/share_in_sampling")
    said = f"{percent(share)} {scene.bin_name('eval/largest_code')} in deterministic evaluation "
    said += f"although {percent(sampled)} in sampling: "
    if scene.severity is Severity.INFO:
        return said + "it stays out, and only its exploration trades"
    return said + "the policy lives on its noise"


RULE = Rule(
    "LIVES_ON_NOISE",
    check,
    words,
    "Judge by deterministic evaluation only. More exploration does not help a policy that does not "
    "tell states apart: look at features, reward and learning rate.",
    cure="restart",
)
