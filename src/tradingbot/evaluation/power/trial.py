"""One pipeline on bars with a planted signal: plant, train, let validation decide, judge."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tradingbot.data.sources.source import Progress, ignore_progress
from tradingbot.domain.seeding import stream
from tradingbot.evaluation.analyses.retraining.spec import RetrainingSpec
from tradingbot.evaluation.analyses.retraining.training import prepare_retraining, retrain
from tradingbot.evaluation.dossier.power import PowerTrial
from tradingbot.evaluation.power.request import PowerSettings
from tradingbot.evaluation.power.spiked_data import SpikeSubject
from tradingbot.evaluation.statistics.policy_intervals import net_bps_interval


@dataclass(frozen=True)
class TrialSpec:
    """Everything that a trial depends on besides bars and configuration."""

    kappa: float
    phi: float
    repetition: int
    signal_seed: int
    training_seed: int
    steps_share_frac: float

    @property
    def name(self) -> str:
        """Name of its file, and in messages."""
        return f"kappa-{self.kappa:g}-repetition-{self.repetition}"


def lay_out_trials(settings: PowerSettings) -> list[TrialSpec]:
    """Return the trials, one repetition of every strength after another.

    A repetition has one signal and one training seed at all strengths, so that the strengths differ
    in nothing else; the same root seed gives the same repetitions, however many there are.
    """
    found = []
    for repetition in range(settings.repetitions):
        draw = stream(settings.seed, "power", "repetition", repetition)
        signal, training = (int(seed) for seed in draw.integers(0, 2**62, 2))
        found += [
            TrialSpec(kappa, settings.phi, repetition, signal, training, settings.steps_share_frac)
            for kappa in settings.kappas
        ]
    return found


def run_trial(
    subject: SpikeSubject, spec: TrialSpec, workspace: Path, progress: Progress = ignore_progress
) -> PowerTrial:
    """Plant, train, decide, judge.

    Raises:
        UserError: If the configuration cannot be trained on these bars.
    """
    data = subject.spiked(kappa=spec.kappa, phi=spec.phi, seed=spec.signal_seed)
    wanted = RetrainingSpec(spec.training_seed, spec.steps_share_frac)
    trained = retrain(prepare_retraining(wanted, subject.config, data, workspace), progress)
    test = trained.part("test")
    return PowerTrial(
        kappa=spec.kappa,
        repetition=spec.repetition,
        signal_seed=spec.signal_seed,
        training_seed=spec.training_seed,
        trading_agents=trained.trading_agents,
        alpha_bps=net_bps_interval(test.alpha),
        net_bps=test.net_bps_per_bar,
        failed=trained.failed,
    )
