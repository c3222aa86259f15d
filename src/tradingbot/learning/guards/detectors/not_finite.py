"""NaN or infinity in rewards, actions, losses or gradients; or updates refused because of them."""

from __future__ import annotations

import torch

from tradingbot.learning.guards.config import GuardConfig
from tradingbot.learning.guards.detector import Detection, Detector, Scene, grade_levels
from tradingbot.learning.guards.history import History

_COUNTS = {
    "rollout/bad_rewards": "rewards",
    "rollout/bad_actions": "actions",
    "loss/bad_losses": "losses or gradients",
}


def check(history: History, config: GuardConfig) -> Detection:
    """Count what is not a number; one is too many.

    It is a warning where the learner kept it from the weights, unless that goes on and on.
    """
    total = history["update/skipped"].clone()
    for name in _COUNTS:
        total += history[name]
    bad = total > 0.0
    contained = (history["update/skipped"] > 0.0) & (history["loss/bad_losses"] == 0.0)
    # Bad in each of the last updates, as many as patience has.
    goes_on = bad.unfold(0, config.patience, 1).all(-1) if len(bad) >= config.patience else bad[:0]
    lasting = torch.cat((torch.zeros_like(bad[: len(bad) - len(goes_on)]), goes_on))
    return Detection(grade_levels(bad, bad & (~contained | lasting)), total[-1], 0.0)


def words(scene: Scene) -> str:
    """Tell what is not a number, and how many."""
    parts = [f"{scene.now(name):,.0f} {what}" for name, what in _COUNTS.items() if scene.now(name)]
    said = f"NaN or infinite: {', '.join(parts)}" if parts else "an update was not finite"
    others = scene.history["rollout/bad_rewards"][-1] > 0.0
    if not others[scene.agent] and others.any():
        culprit = scene.names.agents[int(others.long().argmax())]
        said += f", by way of what it shares with {culprit}"
    skipped = scene.now("update/skipped")
    return said + (
        f"; the learner skipped {skipped:,.0f} steps of its optimiser" if skipped else ""
    )


RULE = Detector(
    "NOT_FINITE",
    check,
    words,
    "Find the first NaN: rewards point to the data or a division by zero, losses with sound "
    "rewards to the learning rate. Nothing since may be kept as best.",
    cure="restart",
    patience=lambda config: 1,
    warms_up=False,
)
