"""What is to be trained again for a dossier, and the configuration that says so."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import override_config

Value = str | int | float | bool
_FEWEST_UPDATES = 2
_EVALUATIONS = 2
"""A short training is looked at this often at least."""


@dataclass(frozen=True)
class RetrainingSpec:
    """One training of an evaluation; equal specifications are the same training."""

    seed: int
    steps_share_frac: float
    """Budget ÷ that of the run."""
    changes: tuple[tuple[str, Value], ...] = ()
    """Dotted key of the run's configuration → value."""
    last_days: tuple[str, str, str] | None = None
    """Of training, validation and test; None for the run's own split."""
    windows: tuple[tuple[str, str], ...] = ()
    """First and last day of periods to trade; validation and test where there is none."""

    @property
    def name(self) -> str:
        """Name of the analysis that it is."""
        return f"training-{hashlib.sha256(repr(self).encode()).hexdigest()[:12]}"


def retraining_config(spec: RetrainingSpec, config: TrainConfig) -> TrainConfig:
    """Return the configuration of a training.

    Schedules shrink with the budget; a short training is still looked at a few times.

    Raises:
        ConfigError: If a change does not fit.
    """
    options: dict[str, object] = {"seed": spec.seed, **dict(spec.changes)}
    if config.encoder.transfer_from is not None:
        options["encoder.transfer_from"] = None  # it may have seen the bars that are traded here
    if spec.last_days is not None:
        days = [date.fromisoformat(day) for day in spec.last_days]
        options |= {"splits.by": "date"}
        options |= dict(
            zip(("splits.train", "splits.validation", "splits.test"), days, strict=True)
        )
    changed_config = override_config(config, options)
    return override_config(changed_config, _shorter(changed_config, spec.steps_share_frac))


def _shorter(config: TrainConfig, share: float) -> dict[str, object]:
    name, budget = config.learner.name, config.budget
    section = config.as_mapping()["learner"][name]
    in_update = budget.n_envs * config.learner.spec.steps_of_update(config.learner.settings)
    updates = max(_FEWEST_UPDATES, math.ceil(budget.steps_per_agent * share / in_update))
    if updates * in_update >= budget.steps_per_agent:
        return {}
    steps = updates * in_update
    every = max(1, min(config.validation.every_updates, updates // _EVALUATIONS))
    return {
        "budget.steps_per_agent": steps,
        "validation.every_updates": every,
        **_shorter_schedules(section, f"learner.{name}", steps / budget.steps_per_agent),
    }


def _shorter_schedules(section: Mapping[str, Any], prefix: str, share: float) -> dict[str, object]:
    """Return what `over` and `hold` of every schedule below a section become."""
    found: dict[str, object] = {}
    for key, value in section.items():
        if isinstance(value, Mapping):
            found |= _shorter_schedules(value, f"{prefix}.{key}", share)
        elif key in ("over", "hold") and "kind" in section:
            found[f"{prefix}.{key}"] = math.ceil(value * share)
    return found
