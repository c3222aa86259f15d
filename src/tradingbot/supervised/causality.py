"""The proof that probabilities know nothing of the future, as subjects of the causality prover.

`fitted_subject` takes the fitted stages as they are: it proves that features and stages read no
later bar. `refitted_subject` fits everything again inside, from the market it is given: it also
proves that labels, folds, early stopping and calibration keep to the past.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import DataError
from tradingbot.features.causality.subject import (
    Output,
    ProofContext,
    ProofSubject,
    Rows,
    register_subject,
)
from tradingbot.features.inputs import MarketInputs
from tradingbot.features.spec import FeatureSpec
from tradingbot.supervised.classifier import Classifier, ProbabilityArray
from tradingbot.supervised.fitting import FitConfig, fit_model
from tradingbot.supervised.probability_model import ProbabilityModel
from tradingbot.supervised.table import table_of_inputs

OUTPUT = "probabilities"


def fitted_subject(
    name: str, model: ProbabilityModel, specs: Sequence[FeatureSpec]
) -> ProofSubject:
    """Claim the probabilities (T, N, 3) of a fitted model, whose weights are constants.

    That the weights themselves keep to the past is what `Stage` demands by its bars, and what
    `refitted_subject` proves.
    """

    def compute(inputs: MarketInputs) -> Mapping[str, Output]:
        return {OUTPUT: _rows(model.probabilities(table_of_inputs(inputs, specs)))}

    return ProofSubject(name, compute)


def refitted_subject(
    name: str,
    classifier: Classifier,
    train: IndexRange,
    config: FitConfig,
    specs: Sequence[FeatureSpec],
) -> ProofSubject:
    """Claim the probabilities (T, N, 3) of a model that is fitted on the market it is given."""

    def compute(inputs: MarketInputs) -> Mapping[str, Output]:
        table = table_of_inputs(inputs, specs)
        try:
            model = fit_model(classifier, table, train, config).model
        except DataError:  # too short, or a future without bars: nothing is known
            return {OUTPUT: _rows(np.full((*table.valid.shape, 3), 1.0 / 3.0, np.float32))}
        return {OUTPUT: _rows(model.probabilities(table))}

    return ProofSubject(name, compute)


def register_model(name: str, model: ProbabilityModel) -> str:
    """Have a fitted model proved in every later proof of a panel; return the subject's name."""
    subject = f"supervised/{name}"

    def factory(context: ProofContext) -> ProofSubject:
        return fitted_subject(subject, model, context.specs)

    register_subject(subject, factory)
    return subject


def _rows(chances: ProbabilityArray) -> Rows:
    return Rows(np.ascontiguousarray(chances.swapaxes(0, 1)))
