"""One term makes up the reward: the others are decoration."""

from __future__ import annotations

from tradingbot.learning.guards.config import GuardConfig
from tradingbot.learning.guards.detector import (
    Detection,
    Detector,
    Scene,
    grade_levels,
    soften_levels,
)
from tradingbot.learning.guards.diagnosis import percent
from tradingbot.learning.guards.history import History


def check(history: History, config: GuardConfig) -> Detection:
    """Compare the largest term's share; of gain and cost alone, gain may be nearly all."""
    share, n_terms = history["rollout/largest_term_share"], history["rollout/active_terms"]
    level = grade_levels((share > config.one_term) & (n_terms > 1.0))
    return Detection(soften_levels(level, n_terms <= 2.0), share[-1], config.one_term)


def words(scene: Scene) -> str:
    """Name the term and its share."""
    term = scene.names.terms[int(scene.now("rollout/largest_term"))]
    share = percent(scene.now("rollout/largest_term_share"))
    return f"{share} of its reward is the term {term} (limit {percent(scene.config.one_term)})"


RULE = Detector(
    "ONE_TERM",
    check,
    words,
    "Weigh the terms so that each is heard, or leave out those that are not.",
    cure="none",
    patience=lambda config: config.term_patience,
)
