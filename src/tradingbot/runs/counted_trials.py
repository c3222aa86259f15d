"""Which trials of the ledger count: what verdicts are deflated by, and what a page shows."""

from __future__ import annotations

from collections.abc import Sequence

from tradingbot.runs.ledger import Trial


def counted_trials(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """Return the trials that count, in their order.

    The first evaluation of a run belongs to its own training; every further one, under other
    settings, is another trial.
    """
    evaluated: set[str] = set()
    found = []
    for trial in trials:
        is_own_training = trial.kind == "evaluation" and trial.run not in evaluated
        if trial.kind == "evaluation":
            evaluated.add(trial.run)
        if not is_own_training:
            found.append(trial)
    return tuple(found)


def counted_sharpes(trials: Sequence[Trial]) -> list[float | None]:
    """Return the Sharpe ratio per bar of every trial that counts; None where it came to none.

    It is that of alpha, which is what is deflated by it; of the net return where a version before
    noted nothing else.
    """
    return [trial.judged_sharpe_per_bar for trial in counted_trials(trials)]
