"""`tb.train`: one agent per symbol on one's own bars."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tradingbot.domain.errors import TrainingError
from tradingbot.facade.bars import Bars
from tradingbot.facade.data import as_bars
from tradingbot.facade.panels import RATIO, build_panel
from tradingbot.facade.run import Run
from tradingbot.training.config_files import DEFAULT_PRESET, load_train_config
from tradingbot.training.session import begin_run

_SPLITS = {
    "splits.by": RATIO.by,
    "splits.train": RATIO.train,
    "splits.validation": RATIO.validation,
    "splits.test": RATIO.test,
}


def train(
    data: Bars | str | Path | Any,
    *,
    preset: str | Path = DEFAULT_PRESET,
    seed: int | None = None,
    name: str | None = None,
    settings: Mapping[str, object] | None = None,
    **overrides: object,
) -> Run:
    """Train one agent per symbol; pre-train, train, checkpoint, judge on validation and test.

    The first 60 % of the bars are learned from, the next 20 % choose and decide what is kept, the
    last 20 % are tested on. The panel is built and proved causal first where that was not done.
    The run is in the workspace of the bars, and its ledger counts it as a trial.

    Args:
        data: What `tb.load_bars` returned, or anything it reads.
        preset: quick, prototype10, us143 …, or a YAML file; its market, symbols and dates are not
            used.
        seed: Root of all randomness; drawn and recorded if left out.
        name: Id of the run.
        settings: Dotted key of the configuration → value, e.g. {"budget.n_envs": 4}.
        **overrides: The same with two underscores for a dot: budget__n_envs=4.

    Raises:
        ConfigError: If a key or value is not allowed.
        DataError: If there are too few bars.
        TrainingError: If training was interrupted.

    Example:
        >>> import tradingbot as tb
        >>> bars = tb.generate_bars("planted", symbols=["SPY", "QQQ"], start="2025-04-01")
        >>> run = tb.train(bars, preset="quick", seed=1)  # synthetic
        >>> run.sharpe.low <= run.sharpe.estimate <= run.sharpe.high
        True
    """
    bars = as_bars(data)
    dotted = {key.replace("__", "."): value for key, value in overrides.items()}
    own: dict[str, object] = {"dataset": bars.name, "symbols": [], "seed": seed, **_SPLITS}
    chosen = {**own, **(settings or {}), **dotted}
    config = load_train_config(preset, chosen)
    build_panel(bars, splits=config.splits)
    session = begin_run(config, bars.workspace, name=name)
    if session.result is None:
        raise TrainingError(
            "training must end for its figures",
            was="interrupted",
            where=session.run.id,
            remedy=f"Go on with: tradingbot train --resume {session.run.id}",
        )
    return Run(session.run, bars.workspace, session.result)
