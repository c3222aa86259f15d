"""What is asked of the power of a pipeline: settings and request, read before torch is imported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tradingbot.domain.checks import CheckedFields, bounded, require

if TYPE_CHECKING:
    from tradingbot.runs import RunDirectory
    from tradingbot.training.config import TrainConfig

KAPPAS = (0.0, 0.02, 0.04, 0.06, 0.08, 0.10, 0.15)
QUICK_KAPPAS = (0.0, 0.05, 0.10, 0.20)


@dataclass(frozen=True)
class PowerSettings(CheckedFields):
    """Ladder of strengths, repetitions, and how long each pipeline trains."""

    kappas: tuple[float, ...] = KAPPAS
    """Strengths in units of a symbol's volatility; 0 tells how often nothing is taken for a signal.
    """
    repetitions: int = bounded(10, ">= 2")
    """Pipelines of each strength, each with a signal and a training seed of its own."""
    phi: float = bounded(0.9, "[0, 1)")
    """Persistence of the signal per bar."""
    seed: int = bounded(0, ">= 0")
    """Root of the repetitions' seeds."""
    steps_share_frac: float = bounded(1.0, "(0, 1]")
    """Steps of each training ÷ those of the run or preset."""

    def __post_init__(self) -> None:
        """Refuse a ladder that no curve can be drawn through."""
        super().__post_init__()
        rises = all(a < b for a, b in zip(self.kappas, self.kappas[1:], strict=False))
        fits = len(self.kappas) > 1 and self.kappas[0] >= 0.0 and self.kappas[-1] <= 1.0
        require(rises and fits, "kappas must be two or more that rise within [0, 1]", self)


def quick_settings(seed: int = 0) -> PowerSettings:
    """Return a first look: four strengths, four repetitions, a quarter of the steps."""
    return PowerSettings(QUICK_KAPPAS, 4, seed=seed, steps_share_frac=0.25)


@dataclass(frozen=True)
class PowerRequest:
    """Whose power is asked for, and how."""

    name: str
    """Id of the run, or name of the dataset."""
    config: TrainConfig
    """Of the run, or of a preset for the dataset."""
    settings: PowerSettings
    run: RunDirectory | None = None
    """None where a dataset is asked about."""
    symbols: tuple[str, ...] = ()
    """The only ones that are read; all of the data by default."""
    command: str = ""
    """Measures it again."""
