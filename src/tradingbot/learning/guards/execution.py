"""What agents choose beside what is carried out: telemetry of every update."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from tradingbot.learning.guards.measures import BOX_BINS, n_bins
from tradingbot.learning.learner import Experience
from tradingbot.learning.playing import bins_of
from tradingbot.learning.task import ActionSpec

TELEMETRY_STEPS = 120
"""Steps of an environment in which different actions are counted."""


def measure_execution(experience: Experience, action: ActionSpec) -> dict[str, Tensor]:
    """Measure how many actions agents choose from, and whether those are executed, (N,) each.

    Different actions are of the last `TELEMETRY_STEPS` steps of an environment, on the mean;
    unknown where an update has fewer, or actions are vectors. The rest is of codes alone.
    """
    unknown = torch.full_like(experience.reward[0, :, 0], torch.nan, dtype=torch.float64)
    told = dict.fromkeys(
        ("rollout/distinct_actions", "rollout/executed_gap", "rollout/violations"), unknown
    )
    selected = experience.selected
    if len(selected) >= TELEMETRY_STEPS and not action.n_components:
        bins = bins_of(selected[-TELEMETRY_STEPS:], action, BOX_BINS)
        used = functional.one_hot(bins, n_bins(action)).amax(0).sum(-1)
        told["rollout/distinct_actions"] = used.double().mean(-1)
    if action.kind == "discrete":
        shares = [
            functional.one_hot(codes.long(), action.n_actions).double().mean((0, 2))
            for codes in (selected, experience.executed)
        ]
        told["rollout/executed_gap"] = 0.5 * (shares[0] - shares[1]).abs().sum(-1)
        told["rollout/violations"] = (selected != experience.executed).double().mean((0, 2))
    return told
