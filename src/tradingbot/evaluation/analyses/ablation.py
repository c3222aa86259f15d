"""Ablations: what single settings of the configuration contribute, by training without them.

Figures are of the validation part: settings are chosen by them, and the test part chooses nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tradingbot.configuration.decoding import document_of_options
from tradingbot.configuration.files import rename_old_keys
from tradingbot.configuration.option_values import read_values
from tradingbot.domain.errors import ConfigError
from tradingbot.evaluation.analyses.analysis import AnalysisInputs, CannotMeasureError
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.analyses.retraining.spec import (
    RetrainingResult,
    RetrainingSpec,
    Value,
    retraining_config,
)
from tradingbot.evaluation.analyses.seeds import other_seeds
from tradingbot.evaluation.analyses.settings import AUTOMATIC, AblationSettings, split_variant
from tradingbot.evaluation.dossier.analysis import Ablation, AblationRow
from tradingbot.evaluation.statistics.shared_bars import runs_interval
from tradingbot.networks.encoders.catalogue import encoder_preset
from tradingbot.networks.head_config import HeadConfig
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import OLD_KEYS, override_config
from tradingbot.training.inert_settings import check_effects
from tradingbot.training.setup import env_config

_PART = "validation"


def automatic_variants(config: TrainConfig) -> tuple[str, ...]:
    """Return what is worth leaving out of a configuration, the most telling first."""
    name, settings = config.learner.name, config.learner.settings
    actor, found = getattr(settings, "actor", None), []
    if isinstance(actor, HeadConfig):
        other = "partial" if actor.pooling == "independent" else "independent"
        found.append(f"learner.{name}.actor.pooling={other}")
    if config.encoder.preset != "row":
        found.append("encoder.preset=row")
        if config.encoder.pretrain:
            found.append("encoder.pretrain=false")
        if config.auxiliary.weight:
            found.append("auxiliary.weight=0")
    if config.validation.shrink:
        found.append("validation.shrink=false")
    if getattr(settings, "act_levels", 0):
        found.append(f"learner.{name}.act_levels=0")
    return tuple(found)


def chosen_variants(config: TrainConfig, settings: AblationSettings) -> tuple[str, ...]:
    """Return the variants of a run, each once."""
    automatic = automatic_variants(config)[: settings.most_automatic]
    chosen = [
        each
        for variant in settings.variants
        for each in (automatic if variant == AUTOMATIC else (variant,))
    ]
    return tuple(dict.fromkeys(chosen))


def ablation_specs(
    subject: EvaluatedRun, settings: AblationSettings
) -> dict[str, tuple[RetrainingSpec, ...]]:
    """Return variant → its trainings, one per seed; the empty name is the base.

    Raises:
        ConfigError: If a variant does not fit the configuration, or changes nothing in training.
    """
    seeds, share = other_seeds(subject, settings.seeds), settings.steps_share_frac
    specs = {"": tuple(RetrainingSpec(seed, share) for seed in seeds)}
    for variant in chosen_variants(subject.config, settings):
        changes = _changes(variant)
        _require_effect(changes, subject.config)
        _require_buildable(retraining_config(RetrainingSpec(0, share, changes), subject.config))
        specs[variant] = tuple(RetrainingSpec(seed, share, changes) for seed in seeds)
    return specs


def measure_ablation(inputs: AnalysisInputs, settings: AblationSettings) -> Ablation:
    """Compare every variant with the base, seed by seed."""
    specs = ablation_specs(inputs.subject, settings)
    require_variant(specs)
    trained = {name: [inputs.need(spec.name) for spec in some] for name, some in specs.items()}
    base = _net(trained[""])
    rows = []
    for variant, some in trained.items():
        if not variant:
            continue
        axis, setting = _axis_and_setting(variant)
        net = _net(some)
        gaps = _returns(trained[""]) - _returns(some)
        contribution = runs_interval(gaps, aggregate="mean").scaled(1e4)
        rows.append(AblationRow(axis, setting, net, contribution))
    return Ablation(
        steps_per_agent=trained[""][0].steps_per_agent,
        seeds=other_seeds(inputs.subject, settings.seeds),
        base_net_bps=base,
        rows=tuple(rows),
    )


def require_variant(specs: Mapping[str, tuple[RetrainingSpec, ...]]) -> None:
    """Refuse an ablation that leaves nothing out.

    Raises:
        CannotMeasureError: If there is nothing but the base.
    """
    if len(specs) < 2:
        raise CannotMeasureError("an ablation must have a variant", was="none")


def _require_buildable(config: TrainConfig) -> None:
    """Refuse names that only the library knows now, not in an hour."""
    env_config(config)
    encoder_preset(config.encoder.preset)


def _require_effect(changes: tuple[tuple[str, Value], ...], base: TrainConfig) -> None:
    """Refuse what trains the same as the base, for minutes: its contribution is 0 by construction.

    Raises:
        ConfigError: Naming the key of the variant.
    """
    config = override_config(base, dict(changes))
    options = rename_old_keys(document_of_options(dict(changes)), OLD_KEYS)
    check_effects(config, options.places, before=base)
    if config.as_mapping() == base.as_mapping():
        raise ConfigError(
            "a variant of an ablation must change what is trained",
            was=", ".join(f"{key}={value}" for key, value in changes),
            remedy="Name another value or setting in ablation.variants",
        )


def _changes(variant: str) -> tuple[tuple[str, Value], ...]:
    texts = {key: text for key, _, text in (each.partition("=") for each in split_variant(variant))}
    changes = []
    for key, value in read_values(texts).items():
        assert isinstance(value, str | int | float | bool)
        changes.append((key, value))
    return tuple(changes)


def _axis_and_setting(variant: str) -> tuple[str, str]:
    """Return what a variant changes, and to what; several keys and values are joined by `+`."""
    keys, _, values = zip(*(each.partition("=") for each in split_variant(variant)), strict=True)
    return " + ".join(keys), " + ".join(values)


def _returns(trained: list[RetrainingResult]) -> NDArray[np.float64]:
    """Return the mean sleeve's return per bar of each training, (R, S)."""
    return np.array([each.part(_PART).sleeve_returns for each in trained])


def _net(trained: list[RetrainingResult]) -> tuple[float, ...]:
    return tuple(each.part(_PART).net_bps_per_bar for each in trained)
