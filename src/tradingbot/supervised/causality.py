"""The proof that probabilities know nothing of the future, as subjects of the causality prover.

`fitted_subject` takes the fitted stages as they are: it proves that features and stages read no
later bar. `judge_refits` compares stages with stages that were fitted without the bars that they
are asked about: it proves that labels, folds, early stopping and calibration kept to the past.
Stored models take part in the proof of the panel that they judge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tradingbot.features.causality.subject import (
    Offence,
    Output,
    ProofContext,
    ProofSubject,
    ProofVerdict,
    Rows,
    Status,
    register_subject,
    unregister_subject,
)
from tradingbot.features.causality.tally import differs
from tradingbot.features.inputs import MarketInputs
from tradingbot.features.panel import Panel
from tradingbot.features.spec import FeatureSpec
from tradingbot.supervised.classifier import ProbabilityArray
from tradingbot.supervised.model_files import open_model
from tradingbot.supervised.model_manifest import list_models
from tradingbot.supervised.model_names import models_folder
from tradingbot.supervised.probability_model import END_BARS, ModelStage, ProbabilityModel
from tradingbot.supervised.table import ModelTable, table_of_inputs, table_of_panel

OUTPUT = "probabilities"


def fitted_subject(
    name: str, model: ProbabilityModel, specs: Sequence[FeatureSpec]
) -> ProofSubject:
    """Claim the probabilities (T, N, 3) of a fitted model, whose weights are constants.

    That the weights themselves keep to the past is what `judge_refits` asks.
    """

    def compute(inputs: MarketInputs) -> Mapping[str, Output]:
        chances = model.probabilities(table_of_inputs(inputs, specs))
        return {OUTPUT: Rows(np.ascontiguousarray(chances.swapaxes(0, 1)))}

    def prefixes(inputs: MarketInputs) -> Callable[[int], tuple[int, dict[str, ProbabilityArray]]]:
        table = table_of_inputs(inputs, specs)

        def give(stop: int) -> tuple[int, dict[str, ProbabilityArray]]:
            ends = model.probabilities_at_the_end(table.until(stop), END_BARS)
            return stop - ends.shape[1], {OUTPUT: ends.swapaxes(0, 1)}

        return give

    return ProofSubject(name, compute, prefixes=prefixes)


def judge_refits(
    name: str,
    refits: Iterable[tuple[ModelStage, ModelStage | None]],
    table: ModelTable,
    closed_at: NDArray[np.datetime64],
) -> ProofVerdict:
    """Judge stages by those that were fitted without the bars they speak for (`refit_stages`).

    Args:
        name: Of the subject.
        refits: Stages in order, each with the one that was fitted instead.
        table: All bars.
        closed_at: (T,) UTC.

    Returns:
        A verdict on the output `stages`: causal where both give every bar of the table that they
        speak for the same probabilities, bit for bit.
    """
    pairs = list(refits)
    stops = [stage.from_bar for stage, _ in pairs[1:]] + [table.n_bars]
    compared = differing = 0
    offence = None
    for (stage, refit), stop in zip(pairs, stops, strict=True):
        known, start = table.until(stop), stage.from_bar
        was = ProbabilityModel((stage,), table.names).probabilities(known)[:, start:]
        made = np.full(was.shape, np.nan, np.float32)  # where nothing can be learned
        if refit is not None:
            made = ProbabilityModel((refit,), table.names).probabilities(known)[:, start:]
        marked = differs(np.ascontiguousarray(was), np.ascontiguousarray(made))
        compared, differing = compared + marked.size, differing + int(marked.sum())
        if offence is None and marked.any():
            place = tuple(int(i) for i in np.argwhere(marked)[0])
            offence = Offence(
                symbol=table.symbols[place[0]],
                closed_at=str(closed_at[start + place[1]]),
                cut_at=str(closed_at[start - 1]),
                perturbation=f"stage fitted again without bars from {start} on",
                expected=repr(float(was[place])),
                got=repr(float(made[place])),
            )
    status: Status = "leaks" if offence else "causal"
    return ProofVerdict(name, "stages", "fitted", 0, status, compared, differing, offence)


def register_model(name: str, model: ProbabilityModel) -> str:
    """Have a fitted model proved in every later proof of a panel; return the subject's name."""
    subject = f"supervised/{name}"

    def factory(context: ProofContext) -> ProofSubject:
        return fitted_subject(subject, model, context.specs)

    register_subject(subject, factory)
    return subject


@contextmanager
def registered_models(panel: Panel, workspace: Path) -> Iterator[tuple[str, ...]]:
    """Register the models of a workspace that were fitted on a panel, for as long as it is proved.

    Models of other data cannot be joined to this panel, and one whose manifest cannot be read to
    none at all: neither has anything to be proved here.

    Args:
        panel: Whose features they were fitted on; it needs no certificate yet.
        workspace: Where models are stored.

    Yields:
        Names of the subjects.

    Raises:
        StorageError: If a model of this panel is damaged.
    """
    lines = [line for line in list_models(workspace) if line.manifest is not None]
    sha256 = table_of_panel(panel).sha256 if lines else ""
    subjects: list[str] = []
    try:
        for line in lines:
            if line.manifest is not None and line.manifest.data.data_sha256 == sha256:
                model, _ = open_model(models_folder(workspace), line.name)
                subjects.append(register_model(line.name, model))
        yield tuple(subjects)
    finally:
        for subject in subjects:
            unregister_subject(subject)
