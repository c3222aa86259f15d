"""`tb.build_panel`: features of bars as tensors, proved free of look-ahead."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from tradingbot.configuration.pipeline import PipelineConfig, SplitsConfig
from tradingbot.domain.errors import UncertifiedPanelError
from tradingbot.facade.bars import Bars
from tradingbot.facade.data import as_bars
from tradingbot.features.panel import Panel
from tradingbot.features.pipeline import build_features, panel_of, prove_features

RATIO = SplitsConfig(by="ratio", train=0.6, validation=0.2, test=0.2)
"""How time is divided by default."""


def build_panel(bars: Bars | str | Path | Any, *, splits: SplitsConfig | None = None) -> Panel:
    """Compute every registered feature of some bars and prove them causal; once for the same bars.

    The proof changes, cuts off and poisons the future at many cuts, and compares the past bit for
    bit. Features that a plugin or `tb.feature` declared are columns behind the package's own.

    Args:
        bars: What `tb.load_bars` returned, or anything it reads.
        splits: How time is divided; features are scaled by the training part. 60, 20 and 20 % of
            the bars by default.

    Raises:
        DataError: If there are too few bars.
        UncertifiedPanelError: If a feature looks ahead, naming it and the first value that moved.

    Example:
        >>> import tradingbot as tb
        >>> bars = tb.generate_bars("noise", symbols=["SPY"], timeframe="1d", start="2021-01-04")
        >>> panel = tb.build_panel(bars)
        >>> panel
        <Panel 1 symbols × 1,192 bars: 23 features, 10 regimes, 1 covariates, proved causal>
    """
    found = as_bars(bars)
    folder = panel_of(found.dataset, found.workspace)
    if folder.exists():
        with suppress(UncertifiedPanelError):
            return Panel.open(folder)
    built = build_features(found.dataset, found.workspace)
    report, certificate = prove_features(built, PipelineConfig(splits=splits or RATIO))
    if certificate is None:
        failure = report.failures[0]
        raise UncertifiedPanelError(
            f"feature {failure.output} must not look ahead",
            was=str(failure.offence or failure.reason),
            where=found.name,
        )
    return Panel.open(folder)
