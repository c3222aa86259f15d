"""The configuration of an evaluation: settings of every analysis.

Presets are in `configuration/presets/evaluation`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tradingbot.configuration.decoding import NOT_SPELLED, decode
from tradingbot.configuration.files import lay_options, preset_folder, read_merged
from tradingbot.domain.plain_values import as_plain_values
from tradingbot.evaluation.analyses.settings import (
    AblationSettings,
    EnsembleSettings,
    LeakCheckSettings,
    PerformanceSettings,
    PlaceboSettings,
    PolicyAnalysisSettings,
    RegimeSettings,
    RewardSettings,
    SeedsSettings,
    SensitivitySettings,
    StatisticsSettings,
    StressSettings,
    WalkForwardSettings,
)
from tradingbot.evaluation.pipeline.analysis_names import OPTIONAL, require_analyses

DEFAULT_PRESET = "full"
OLD_KEYS = {"pieces": "analyses"}


@dataclass(frozen=True)
class EvaluateConfig:
    """Everything that an evaluation needs to know."""

    analyses: tuple[str, ...] = OPTIONAL
    """Analyses beside the required ones; those that do not fit the run are left out, and why."""
    performance: PerformanceSettings = field(default_factory=PerformanceSettings)
    statistics: StatisticsSettings = field(default_factory=StatisticsSettings)
    leak_check: LeakCheckSettings = field(default_factory=LeakCheckSettings)
    walk_forward: WalkForwardSettings = field(default_factory=WalkForwardSettings)
    regimes: RegimeSettings = field(default_factory=RegimeSettings)
    stress: StressSettings = field(default_factory=StressSettings)
    sensitivity: SensitivitySettings = field(default_factory=SensitivitySettings)
    seeds: SeedsSettings = field(default_factory=SeedsSettings)
    ensemble: EnsembleSettings = field(default_factory=EnsembleSettings)
    policy: PolicyAnalysisSettings = field(default_factory=PolicyAnalysisSettings)
    rewards: RewardSettings = field(default_factory=RewardSettings)
    placebos: PlaceboSettings = field(default_factory=PlaceboSettings)
    ablation: AblationSettings = field(default_factory=AblationSettings)

    def __post_init__(self) -> None:
        """Refuse unknown analyses."""
        require_analyses(self.analyses, where="analyses")

    @property
    def config_hash(self) -> str:
        """SHA-256 of everything that can move a figure."""
        text = json.dumps(as_plain_values(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def load_evaluate_config(
    reference: str | Path = DEFAULT_PRESET,
    overrides: Mapping[str, object] | None = None,
    spelled: Mapping[str, str] = NOT_SPELLED,
) -> EvaluateConfig:
    """Read a preset by name or a file by path, follow `extends:`, lay options over it, check.

    Args:
        reference: Name of a preset, or a .yaml file.
        overrides: Dotted key → value, e.g. `seeds.count` → 3; they go before what files say.
        spelled: Dotted key → its option of the command line, for messages.

    Raises:
        ConfigError: Naming the key that is unknown or whose value breaks a rule.
    """
    document, files = read_merged(reference, preset_folder("evaluation"), old_keys=OLD_KEYS)
    document = lay_options(document, overrides, spelled, old_keys=OLD_KEYS)
    where = "" if overrides else str(files[0])
    return decode(EvaluateConfig, document, name="evaluation", where=where)
