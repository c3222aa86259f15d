"""What is asked of a campaign; read before torch is imported."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tradingbot.configuration.files import preset_folder, read_merged
from tradingbot.data.sources.files import FileImport
from tradingbot.domain.errors import ConfigError
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import load_train_config, override_config

CAMPAIGNS_FOLDER = "campaigns"
NO_MASTER = "none"
PROTOTYPE_AGENTS = 10
"""Symbols of the prototype; a dataset with no more has none."""
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,49}")


@dataclass(frozen=True)
class CampaignRequest:
    """One campaign: data, training, evaluation and gates."""

    name: str
    """Its folder below `campaigns`; runs and studies begin with it."""
    config: TrainConfig
    """Of the training on all symbols; its dataset is that of the campaign."""
    preset: str
    options: tuple[tuple[str, object], ...] = ()
    """Keys and values laid over the preset."""
    bars: FileImport | None = None
    """Files to import as the dataset; one that is stored must come from them."""
    generates: bool = False
    """Generate the market of the configuration as the dataset; one that is stored must be of it."""
    accept: tuple[str, ...] = ()
    """Codes of errors in the bars that were looked at and are no defects."""
    evaluation: str = "full"
    """Preset or file of the evaluation of all symbols."""
    evaluation_options: tuple[tuple[str, object], ...] = ()
    gates: str = "product"
    benches: tuple[Path, ...] = ()
    """JSON of `tradingbot bench`, for gates that ask for it."""
    tune_trials: int = 0
    """Trials on the prototype's symbols before all are trained; 0: none."""
    master: str = "master"
    """Training preset of the master."""

    @property
    def dataset(self) -> str:
        """Name of the dataset."""
        assert self.config.dataset is not None  # the command line sets it
        return self.config.dataset

    @property
    def identity(self) -> str:
        """Hash of everything that results follow from; gates and benchmarks judge them alone.

        Files of presets count by their content: what is edited under its name is something else.
        """
        asked = self.asked  # in its order: campaigns that began before are known by it
        options = list(map(list, self.evaluation_options))
        parts = asked | {"config": self.config.config_hash, "evaluation options": options}
        values = list(parts.values())
        values.insert(1, None)  # bars are compared by what is stored, with a file or without one
        text = json.dumps(values, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def asked(self) -> dict[str, Any]:
        """The same in full, to say what differs where the hashes do."""
        master = self.master if self.master == NO_MASTER else _content_of(self.master, "training")
        return {
            "config": self.config.as_mapping(),
            "generates": self.generates,
            "accept": list(self.accept),
            "evaluation": _content_of(self.evaluation, "evaluation"),
            "evaluation options": dict(self.evaluation_options),
            "tune": self.tune_trials,
            "master": master,
        }

    @property
    def terms(self) -> str:
        """What figures hold for, in words."""
        config = self.config
        rates = [f"{key} {rate:g}" for key, rate in sorted(config.task.cost_rates.items())]
        return (
            f"{config.learner.name}, {config.budget.steps_per_agent:,} steps per agent, seed "
            f"{config.seed}, costs {', '.join([config.task.costs, *rates])}, preset {self.preset}, "
            f"evaluation {self.evaluation}, gates {self.gates}"
        )

    def folder(self, workspace: Path) -> Path:
        """Return where status and report are."""
        return workspace / CAMPAIGNS_FOLDER / self.name

    def run_name(self, phase: str) -> str:
        """Return the id of a phase's training run."""
        return f"{self.name}-{phase}"


def _content_of(preset: str, kind: str) -> str:
    """Return the name of a packaged preset, and of a file the hash of what it says."""
    folder = preset_folder(kind)
    if (folder / f"{preset}.yaml").is_file():
        return preset
    values = read_merged(preset, folder)[0].values
    text = json.dumps(values, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def campaign_config(
    preset: str | Path, options: Mapping[str, object], dataset: str, *, generates: bool
) -> TrainConfig:
    """Return the configuration of a campaign's trainings, which learn from a stored dataset.

    Args:
        preset: Name of a preset, or a file.
        options: Keys and values laid over it.
        dataset: Name of the dataset.
        generates: The dataset is the market of the configuration: its settings act, and the dates
            of its splits are those of its bars.

    Raises:
        ConfigError: Naming the first broken rule.
    """
    if not generates:
        return load_train_config(preset, {**options, "dataset": dataset})
    return override_config(load_train_config(preset, options), {"dataset": dataset})


def require_campaign_name(name: str) -> None:
    """Refuse a name that no campaign can have.

    Raises:
        ConfigError: Naming one that could be.
    """
    if not _NAME.fullmatch(name):
        rule = "campaign name must be 1-50 of a-z 0-9 . _ - and start with a letter or digit"
        raise ConfigError(rule, was=repr(name[:60]), remedy="Give one with --name, e.g. us143")
