"""One training of a dossier as a piece: counted in the ledger, made once for all who need it."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import numpy as np

from tradingbot.app.evaluation.piece import Given, Piece
from tradingbot.app.evaluation.retraining import Trained, carry_out, prepare_training
from tradingbot.app.evaluation.training_order import Order
from tradingbot.app.training.counting import data_key
from tradingbot.evaluation.metrics.returns import annual_sharpe
from tradingbot.runs.ledger import Ledger

_HEAVY = 10.0


def training_piece(order: Order, workspace: Path) -> Piece:
    """Return the piece that an order is."""
    return Piece(
        name=order.name,
        record=Trained,
        settings=order,
        measure=partial(_train, order=order, workspace=workspace),
        weight=_HEAVY,
    )


def _train(given: Given, *, order: Order, workspace: Path) -> Trained:
    """Train, and write down in the ledger that it was tried; what is refused was not tried.

    Other settings are trials: somebody may choose among them. Other seeds and periods of the run's
    own settings are checks, which the deflated Sharpe does not count.
    """
    subject = given.subject
    prepared = prepare_training(order, subject.config, subject.data, workspace)
    ledger = Ledger(workspace)
    entry = ledger.begin(
        "tuning" if order.changes else "check",
        data=data_key(subject.run.record.data),
        run=subject.run.id,
        config_hash=prepared.config.config_hash,
        at=datetime.now(UTC),
    )
    ledger.leave_witness(subject.run.path, entry)
    trained = carry_out(prepared, given.progress)
    returns = np.array(trained.parts[-1].returns)
    sharpe = annual_sharpe(returns, bars_per_year=1.0)
    result = ledger.finish(entry, sharpe, at=datetime.now(UTC))
    ledger.leave_witness(subject.run.path, result)
    return trained
