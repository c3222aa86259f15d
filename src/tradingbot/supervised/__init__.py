"""Supervised baselines: classifiers of the next move, and probabilities that are never in sample.

Labels, folds, models, calibration and their files belong here; data of a workspace and commands are
in `app.supervised`, and the policy that trades on probabilities in `agents.baselines`.
"""

from tradingbot.supervised.calibration import Calibration, fit_calibration
from tradingbot.supervised.catalogue import CLASSIFIERS, build_classifier
from tradingbot.supervised.classifier import Classifier, FitRows, FittedClassifier
from tradingbot.supervised.fitting import FitConfig, FittedModel, fit_model
from tradingbot.supervised.forward_folds import FoldConfig, forward_folds
from tradingbot.supervised.labels import CLASSES, UNKNOWN, LabelConfig, label_moves
from tradingbot.supervised.probability_model import ModelStage, ProbabilityModel
from tradingbot.supervised.scores import Scores, base_rates, score
from tradingbot.supervised.table import ModelTable, table_of_inputs, table_of_panel

__all__ = [
    "CLASSES",
    "CLASSIFIERS",
    "UNKNOWN",
    "Calibration",
    "Classifier",
    "FitConfig",
    "FitRows",
    "FittedClassifier",
    "FittedModel",
    "FoldConfig",
    "LabelConfig",
    "ModelStage",
    "ModelTable",
    "ProbabilityModel",
    "Scores",
    "base_rates",
    "build_classifier",
    "fit_calibration",
    "fit_model",
    "forward_folds",
    "label_moves",
    "score",
    "table_of_inputs",
    "table_of_panel",
]
