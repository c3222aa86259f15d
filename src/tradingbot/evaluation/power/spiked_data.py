"""What a configuration learns from, with a signal planted in it: bars, features and parts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tradingbot.data.bar_moves import BarArrays
from tradingbot.data.calendar import time_zone_of
from tradingbot.data.manifest import Provenance
from tradingbot.data.splits import Split
from tradingbot.data.store import BarStore
from tradingbot.data.synthetic.planted_dataset import PLANTED_SIGNAL
from tradingbot.data.synthetic.spike_in import causal_volatility, plant_signal
from tradingbot.domain.errors import ConfigError
from tradingbot.envs.build_world import USUAL_SCALING, Scaling, world_from_inputs
from tradingbot.envs.synthetic_market import inputs_of_market, known_at_close
from tradingbot.evaluation.oracle.action_rule import ActionRule, Information
from tradingbot.evaluation.oracle.result import Terms
from tradingbot.evaluation.oracle.varying_strength import tabulate_strengths
from tradingbot.features.inputs import BAR_FIELDS, MarketInputs, build_inputs
from tradingbot.features.pipeline import split_rows, synthetic_source
from tradingbot.supervised.model_names import NO_MODEL
from tradingbot.training.config import TrainConfig
from tradingbot.training.data import (
    TrainingData,
    data_of_world,
    market_provenance,
    require_parts,
)
from tradingbot.training.data_hashes import bars_sha256
from tradingbot.training.setup import env_config

_WEAKEST, _NODES = 1e-3, 151
"""Strengths whose worth is solved: the weakest ÷ the strongest, and points of the signal's grid,
which are within 0.001 bp of four times as many."""


@dataclass(frozen=True, eq=False)
class SpikeSubject:
    """Bars that signals are planted in, and how they are learned from."""

    config: TrainConfig
    inputs: MarketInputs
    split: Split
    provenance: Provenance
    scaling: Scaling
    label: str
    """Of the bars as they are."""
    bars_sha256: str
    """Of the dataset or the generated market."""

    @property
    def data_sha256(self) -> str:
        """Hash of the bars and the symbols taken of them."""
        seen = f"{self.bars_sha256} {' '.join(self.inputs.symbols)}"
        return hashlib.sha256(seen.encode()).hexdigest()

    @property
    def is_observed(self) -> bool:
        """The bars are observed ones."""
        return not self.provenance.synthetic

    @property
    def spiked_label(self) -> str:
        """What every figure must be labelled with: a planted signal is never presented as real."""
        kind = "observed" if self.is_observed else "generated"
        return f"synthetic signal in {kind} bars: {self.label}"

    def spiked(self, *, kappa: float, phi: float, seed: int) -> TrainingData:
        """Plant a signal in every symbol and compute features anew.

        Raises:
            DataError: If a part has too few bars, or a symbol has none.
        """
        inputs, config = self.inputs, self.config
        bars = BarArrays(*(inputs.bars[name] for name in BAR_FIELDS))
        planted = plant_signal(bars, inputs.symbols, kappa=kappa, phi=phi, seed=seed)
        event = known_at_close({PLANTED_SIGNAL: planted.signal}, inputs.closed_at)
        changed = replace(
            inputs,
            bars=dict(zip(BAR_FIELDS, planted.bars, strict=True)),
            covariates={**inputs.covariates, **event},
        )
        whole = world_from_inputs(
            changed,
            label=f"{self.spiked_label} (κ {kappa:g})",
            synthetic=True,
            train=self.split.train,
            feature_set=config.features,
            scaling=self.scaling,
        )
        data = data_of_world(
            whole,
            self.split,
            config,
            provenance=self.provenance,
            covariates=tuple(changed.covariates),
        )
        require_parts(data, decides=config.validation.shrink)
        return data

    def test_volatility(self) -> NDArray[np.float64]:
        """Return the volatility (S, N) that strengths are in units of, at the closes of test."""
        part, symbols = self.split.test, self.config.symbols or self.inputs.symbols
        columns = [self.inputs.symbols.index(symbol) for symbol in symbols]
        found = causal_volatility(self.inputs.bars["close"][:, columns])
        return np.asarray(found[part.start : part.stop])


def worth_of(subject: SpikeSubject, *, strongest: float, phi: float) -> Callable[[float], float]:
    """Return what a strength κ is worth: net bp per bar that the oracle expects on the test bars.

    Positions of up to `max_position_frac` of equity are worth that share of whole ones, costs
    included; where targets are neutral, that share of the gross budget, which is always in reach.

    Args:
        subject: Whose test bars, costs and rules.
        strongest: The largest κ that will be asked for, above 0.
        phi: Persistence of the signal.
    """
    env = env_config(subject.config)
    rule = ActionRule.LONG_SHORT if env.rules.limits.allow_short else ActionRule.LONG_ONLY
    terms = Terms(env.costs.one_way_frac, rule, Information.ATTAINABLE)
    volatility = subject.test_volatility()
    highest = strongest * float(volatility.max())
    if highest <= 0.0:
        return lambda _kappa: 0.0
    table = tabulate_strengths(highest * _WEAKEST, highest, phi=phi, terms=terms, nodes=_NODES)
    size = env.rules.limits.max_position_frac * (env.rules.action.neutral_gross_frac or 1.0)
    return lambda kappa: 1e4 * size * float(table.at(kappa * volatility).gain.mean())


def open_subject(config: TrainConfig, workspace: Path, symbols: Sequence[str] = ()) -> SpikeSubject:
    """Read the bars that a configuration learns from.

    Args:
        config: Of a run, or of a preset and a dataset.
        workspace: Where datasets are.
        symbols: The only ones that are read, where it shall be quick: the market is theirs alone.
            All of the data by default, whatever symbols of it are traded.

    Raises:
        ConfigError: If agents would see a supervised model, which knows nothing of a new signal.
        DataError: If a symbol has no bars.
    """
    if config.task.probabilities != NO_MODEL:
        raise ConfigError(
            "power must be asked without a supervised model: it knows nothing of a planted signal",
            was=config.task.probabilities,
            where="task.probabilities",
            remedy=f"Use --set task.probabilities={NO_MODEL}",
        )
    if config.dataset is None:
        market = synthetic_source(config.market).generate()
        provenance, scaling = market_provenance(config), USUAL_SCALING
        inputs, digest = inputs_of_market(market), bars_sha256(market)
        label = f"synthetic market {market.name!r}, seed {market.seed}"
    else:
        dataset = BarStore(workspace).open(config.dataset)
        provenance, digest = dataset.manifest.provenance, dataset.manifest.content_sha256
        zone, label = time_zone_of(provenance.calendar), f"dataset {config.dataset} ({dataset.id})"
        frames = dataset.load_bars(), dataset.load_covariates()
        inputs = build_inputs(*frames, symbols=symbols or None, time_zone=zone)
        if len(inputs.symbols) < len(dataset.manifest.symbols):
            label += f", {len(inputs.symbols)} of its {len(dataset.manifest.symbols)} symbols alone"
        scaling = (config.scaling.kind, config.scaling.pooling)
    split = split_rows(inputs.closed_at, config.splits)
    return SpikeSubject(config, inputs, split, provenance, scaling, label, digest)
