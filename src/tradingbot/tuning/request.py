"""What is asked of tuning: settings and request, read before torch and Optuna are imported."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from tradingbot.domain.checks import CheckedFields, bounded, require
from tradingbot.domain.errors import ConfigError
from tradingbot.domain.plain_values import as_plain_values
from tradingbot.training.config import TrainConfig
from tradingbot.tuning.search_space import SearchSpace

Sampler = Literal["tpe", "random"]
Pruner = Literal["median", "hyperband", "none"]
TUNING_FOLDER = "tuning"
"""Of the workspace, with a folder for every study."""
_MAY_GROW = ("trials", "top")
"""Settings that may change while a study goes on."""
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,59}")


@dataclass(frozen=True)
class TuneSettings(CheckedFields):
    """How much is tried, by what rule, and what becomes of the best."""

    trials: int = bounded(25, ">= 1")
    """Settings that are tried."""
    wave: int = bounded(5, ">= 1")
    """Trials that are chosen at once, from the results of all waves before; they may run side by
    side, and the result does not depend on how many do."""
    together: int = bounded(5, ">= 1")
    """Trials of a wave that are one item of work: those of which shapes agree learn as one tensor
    program. Sums depend on it in their last bits."""
    sampler: Sampler = "tpe"
    """`tpe` learns from the trials before (tree-structured Parzen estimator); `random` does not."""
    pruner: Pruner = "median"
    """Gives up trials early by their learning curves, beside those of the waves before: below the
    `median`, or by `hyperband`; `none` lets every trial finish."""
    random_trials: int = bounded(8, ">= 1")
    """Trials at the start that are drawn at random."""
    evaluations: int = bounded(5, ">= 2")
    """Points of a trial's learning curve."""
    steps_share_frac: float = bounded(0.5, "(0, 1]")
    """Steps of a trial ÷ those of the configuration, which the best are trained with again."""
    seeds: int = bounded(1, "[1, 100]")
    """Trainings of each trial; its score is their mean."""
    top: int = bounded(3, ">= 1")
    """Trials that are trained again, on all symbols with all steps."""
    seed: int = bounded(0, ">= 0")
    """Root of the sampler and of the trials' training seeds."""

    def __post_init__(self) -> None:
        """Refuse more of the best than there are trials."""
        super().__post_init__()
        require(self.top <= self.trials, "top must be no more than trials", self)

    @property
    def n_waves(self) -> int:
        """How many waves there are."""
        return math.ceil(self.trials / self.wave)


@dataclass(frozen=True)
class TuneRequest:
    """What is tuned, where, and how."""

    name: str
    """Of the study; its folder and, in the ledger, `tuning/` and this."""
    config: TrainConfig
    """What is tuned; the best are trained again with its symbols and steps."""
    space: SearchSpace
    settings: TuneSettings
    symbols: tuple[str, ...] = ()
    """Symbols that trials learn on; those of the configuration by default."""
    storage: str = ""
    """URL of a database; by default SQLite in the folder of the study."""
    preset: str = ""
    """That the configuration was read from, for the preset of the best."""
    options: tuple[tuple[str, object], ...] = ()
    """Keys and values that were laid over the preset."""
    command: str = ""
    """Does the same again."""
    compares: bool = False
    """Train what is tuned once more as it is: the best must be better than that to be used."""

    @property
    def identity(self) -> str:
        """Hash of everything that a trial's result follows from, and how trials are chosen.

        The number of trials and of the best is no part: a study may be made longer. Data and code
        are compared beside it (`study_facts`), for they are known when the data are opened.
        """
        settings, symbols = self._lasting_settings, list(self.symbols)
        parts = (self.config.config_hash, self.space.sha256, symbols, settings)
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    @property
    def asked(self) -> dict[str, Any]:
        """The same in full, to say what differs where the hashes do."""
        space = {each.key: as_plain_values(each) for each in self.space.parameters}
        symbols = list(self.symbols)
        parts = {"config": self.config.as_mapping(), "space": space, "symbols": symbols}
        return parts | self._lasting_settings

    @property
    def _lasting_settings(self) -> dict[str, Any]:
        return {key: each for key, each in asdict(self.settings).items() if key not in _MAY_GROW}

    def folder(self, workspace: Path) -> Path:
        """Return where the study is kept."""
        return workspace / TUNING_FOLDER / self.name


def study_key(name: str) -> str:
    """Return what a study is called in the ledger; no run can have that name."""
    return f"{TUNING_FOLDER}/{name}"


def require_study_name(name: str) -> None:
    """Refuse a name that no study can have.

    Raises:
        ConfigError: Naming one that could be.
    """
    if not _NAME.fullmatch(name):
        rule = "study name must be 1-60 of a-z 0-9 . _ - and start with a letter or digit"
        raise ConfigError(rule, was=repr(name[:70]), remedy="Choose e.g. us143-ppo")


def as_options(params: Mapping[str, object]) -> tuple[tuple[str, object], ...]:
    """Return settings in the order of their keys."""
    return tuple(sorted(params.items()))
