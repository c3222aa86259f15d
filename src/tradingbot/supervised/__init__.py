"""Supervised baselines: classifiers of the next move, and probabilities that are never in sample.

Labels, folds, models, calibration and their files belong here; data of a workspace and commands are
in `app.supervised`, and the policy that trades on probabilities in `agents.baselines`.
"""

import typing

from tradingbot.domain.lazy_names import lazy_names as _lazy_names

if typing.TYPE_CHECKING:
    from tradingbot.supervised.catalogue import CLASSIFIERS, build_classifier
    from tradingbot.supervised.classifier import Classifier, FitRows, FittedClassifier
    from tradingbot.supervised.fitting import FitConfig, FittedModel, FoldConfig, fit_model
    from tradingbot.supervised.labels import CLASSES, UNKNOWN, LabelConfig, label_moves
    from tradingbot.supervised.probability_model import ProbabilityModel
    from tradingbot.supervised.scores import Scores
    from tradingbot.supervised.table import ModelTable, table_of_inputs

__all__ = [
    "CLASSES",
    "CLASSIFIERS",
    "UNKNOWN",
    "Classifier",
    "FitConfig",
    "FitRows",
    "FittedClassifier",
    "FittedModel",
    "FoldConfig",
    "LabelConfig",
    "ModelTable",
    "ProbabilityModel",
    "Scores",
    "build_classifier",
    "fit_model",
    "label_moves",
    "table_of_inputs",
]

__getattr__ = _lazy_names(
    __name__,
    {
        "CLASSES": "labels",
        "CLASSIFIERS": "catalogue",
        "Classifier": "classifier",
        "FitConfig": "fitting",
        "FitRows": "classifier",
        "FittedClassifier": "classifier",
        "FittedModel": "fitting",
        "FoldConfig": "fitting",
        "LabelConfig": "labels",
        "ModelTable": "table",
        "ProbabilityModel": "probability_model",
        "Scores": "scores",
        "UNKNOWN": "labels",
        "build_classifier": "catalogue",
        "fit_model": "fitting",
        "label_moves": "labels",
        "table_of_inputs": "table",
    },
)
