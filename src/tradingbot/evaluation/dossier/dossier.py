"""The whole dossier of one run."""

from __future__ import annotations

from dataclasses import dataclass

from tradingbot.evaluation.dossier.allocation import Allocation
from tradingbot.evaluation.dossier.analysis import Ablation, Ensemble, Health, PolicyAnalysis, Seeds
from tradingbot.evaluation.dossier.evidence import LeakCheck, Placebos, Statistics
from tradingbot.evaluation.dossier.rewards import RewardAnalysis
from tradingbot.evaluation.dossier.robustness import Regimes, Sensitivity, Stress, WalkForward
from tradingbot.evaluation.dossier.training_facts import TrainingFacts
from tradingbot.evaluation.performance.record import PartPerformance
from tradingbot.evaluation.performance.tear_sheet.record import TearSheet

DOSSIER_FORMAT = 13
"""Of `dossier.json`; `version_1` reads those before."""


@dataclass(frozen=True)
class Header:
    """What was evaluated, and how to do it again."""

    run: str
    label: str
    """Data and period in words."""
    synthetic: bool
    learner: str
    encoder: str
    agents: int
    steps_per_agent: int
    seed: int
    costs: str
    """The cost profile in words, one way."""
    data_sha256: str
    config_hash: str
    weights_sha256: str
    evaluated_at: str
    """ISO, UTC."""
    version: str
    """Of the product."""
    command: str
    """That makes this dossier again."""
    caveats: tuple[str, ...]
    """What every figure is to be read with."""
    decision: str
    """What validation kept of the policy, in words."""
    actions: str = ""
    """What the size of an action means, in words; empty in files of format 2."""


@dataclass(frozen=True)
class Dossier:
    """Everything; an analysis that was not made is None, and the reason is told."""

    header: Header
    parts: tuple[PartPerformance, ...]
    """Validation and test."""
    statistics: Statistics
    health: Health
    leak_check: LeakCheck
    walk_forward: WalkForward | None = None
    regimes: Regimes | None = None
    stress: Stress | None = None
    sensitivity: Sensitivity | None = None
    seeds: Seeds | None = None
    ensemble: Ensemble | None = None
    ablation: Ablation | None = None
    policy: PolicyAnalysis | None = None
    rewards: RewardAnalysis | None = None
    placebos: Placebos | None = None
    training: TrainingFacts | None = None
    tear_sheet: TearSheet | None = None
    """Of the agents on the test part; None in files before format 10."""
    allocation: Allocation | None = None
    """How a master divided capital; None where each agent has an account of its own, and in files
    before format 11."""
    left_out: tuple[tuple[str, str], ...] = ()
    """Analysis → why it was not made."""
    workers_lost: int = 0
    """Processes of this evaluation that died or fell silent, and were replaced; their analyses
    were made again. 0 in files before format 6."""
    format: int = DOSSIER_FORMAT
    """Of these records, as a file holds them."""

    @property
    def test(self) -> PartPerformance:
        """The part that nothing was chosen by."""
        return self.parts[-1]
