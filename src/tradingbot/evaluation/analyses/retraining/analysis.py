"""One training of a dossier as an analysis: counted in the ledger, made once."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import numpy as np

from tradingbot.evaluation.analyses.analysis import Analysis, AnalysisInputs
from tradingbot.evaluation.analyses.retraining.spec import RetrainingSpec
from tradingbot.evaluation.analyses.retraining.training import (
    RetrainingResult,
    prepare_retraining,
    retrain,
)
from tradingbot.evaluation.metrics.returns import annual_sharpe
from tradingbot.runs.ledger import Ledger
from tradingbot.training.trial_ledger import data_key

_HEAVY = 10.0


def retraining_analysis(spec: RetrainingSpec, workspace: Path) -> Analysis:
    """Return the analysis that an order is."""
    return Analysis(
        name=spec.name,
        record=RetrainingResult,
        settings=spec,
        measure=partial(_train, spec=spec, workspace=workspace),
        weight=_HEAVY,
    )


def _train(inputs: AnalysisInputs, *, spec: RetrainingSpec, workspace: Path) -> RetrainingResult:
    """Train, and write down in the ledger that it was tried; what is refused was not tried.

    Other settings are trials: a choice may be made among them. Other seeds and periods of the run's
    own settings are checks, which the deflated Sharpe does not count.
    """
    subject = inputs.subject
    prepared = prepare_retraining(spec, subject.config, subject.data, workspace)
    ledger = Ledger(workspace)
    entry = ledger.begin(
        "tuning" if spec.changes else "check",
        data=data_key(subject.run.record.data),
        run=subject.run.id,
        config_hash=prepared.config.config_hash,
        at=datetime.now(UTC),
    )
    ledger.write_receipt(subject.run.path, entry)
    trained = retrain(prepared, inputs.progress)
    returns = np.array(trained.parts[-1].returns)
    sharpe = annual_sharpe(returns, bars_per_year=1.0)
    result = ledger.finish(entry, sharpe, at=datetime.now(UTC))
    ledger.write_receipt(subject.run.path, result)
    return trained
