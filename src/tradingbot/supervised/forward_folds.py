"""Folds that only look back: each block of the training part is judged by models of its past.

Ordinary out-of-fold probabilities of an early block come from models fitted on later ones; they are
out of sample and still know the future. Expanding folds lose the first block and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass

from tradingbot.data.folds import Fold
from tradingbot.data.splits import Gap, IndexRange
from tradingbot.domain.checks import require, require_kinds
from tradingbot.domain.errors import ConfigError
from tradingbot.supervised.classifier import FitRows
from tradingbot.supervised.labels import LabelConfig, purge_labels


@dataclass(frozen=True)
class FoldConfig:
    """How the training part is cut."""

    n_blocks: int = 6
    """Equal blocks of the training part; the first has no past and gets thirds."""
    embargo_bars: int = 7
    """Bars left free before a block, on top of the labels' horizon."""
    stop_frac: float = 0.2
    """Later share of what a model learns from that only says when to stop."""

    def __post_init__(self) -> None:
        """Refuse folds that cannot be."""
        require_kinds(self)
        require(2 <= self.n_blocks <= 1_000, "n_blocks must be in [2, 1000]", self)
        require(self.embargo_bars >= 0, "embargo_bars must not be negative", self)
        require(0.0 < self.stop_frac < 1.0, "stop_frac must be in (0, 1)", self)


def forward_folds(train: IndexRange, config: FoldConfig, labels: LabelConfig) -> tuple[Fold, ...]:
    """Cut a training part into expanding folds.

    Fold k learns from everything before block k but for purge (the labels' horizon) and embargo,
    and is asked about block k.

    Args:
        train: The training part.
        config: Blocks and embargo.
        labels: Their horizon is the purge.

    Raises:
        ConfigError: If the blocks are not longer than purge and embargo.
    """
    apart = labels.horizon_bars + config.embargo_bars
    size = len(train) // config.n_blocks
    if size <= 2 * apart + 2:
        raise ConfigError(
            "blocks must be longer than twice purge and embargo",
            was=f"{size} bars",
            where=f"{len(train)} training bars, {config.n_blocks} blocks, {apart} bars apart",
            remedy="Use fewer blocks, a shorter horizon or more data",
        )
    starts = [train.start + size * block for block in range(config.n_blocks)]
    ends = [*starts[1:], train.stop]
    gap = Gap(apart, 0, labels.horizon_bars)
    return tuple(
        Fold(train.stop, (IndexRange(train.start, start - apart),), (IndexRange(start, end),), gap)
        for start, end in zip(starts[1:], ends[1:], strict=True)
    )


def rows_to_learn(part: IndexRange, config: FoldConfig, labels: LabelConfig) -> FitRows:
    """Divide what a model may learn from: earlier bars to fit, later ones to stop by.

    Labels of neither reach past the end of the part, and labels of the earlier bars do not reach
    into the later ones.
    """
    middle = part.stop - max(labels.horizon_bars + 1, round(config.stop_frac * len(part)))
    middle = max(part.start, middle)
    return FitRows(
        fit=purge_labels(IndexRange(part.start, middle), labels),
        stop=purge_labels(IndexRange(middle, part.stop), labels),
    )
