"""A run on its own bars, changed: features computed anew, scaled as in training.

Only bars from some bar on may change; what lies before them must come out the same to the last bit,
so the scale, the past that encoders remember, and what was learned are the run's own. Whether it
does is what the leak check asks: `another_future` changes later bars and refuses nothing.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tradingbot.data.bar_moves import BarArrays
from tradingbot.data.sources.source import Progress, ignore_progress
from tradingbot.data.store import BarStore
from tradingbot.domain.errors import DataError
from tradingbot.domain.seeding import stream
from tradingbot.envs.build_world import scale_features, world_from_inputs, world_from_panel
from tradingbot.envs.synthetic_market import inputs_of_market
from tradingbot.envs.world import World
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.features.bar_scaling import REGIME_BOUND
from tradingbot.features.causality.cuts import half_day_rows
from tradingbot.features.causality.perturbations import perturb_symbols
from tradingbot.features.causality.prefixes import prefix_cuts
from tradingbot.features.causality.prover import stream_features
from tradingbot.features.inputs import BAR_FIELDS, MarketInputs
from tradingbot.features.panel import Panel, panel_specs, panel_tensors
from tradingbot.features.pipeline import panel_of, read_inputs
from tradingbot.features.proof_subjects import refit_scaler, scale_bar_by_bar
from tradingbot.features.scaling import Scaler
from tradingbot.supervised.joined_world import show_chances, show_probabilities
from tradingbot.supervised.model_files import open_model
from tradingbot.supervised.model_names import NO_MODEL, models_folder, split_models
from tradingbot.supervised.probability_model import ProbabilityModel
from tradingbot.supervised.table import table_of_inputs, table_of_tensors

MODEL_BARS = 400
"""Bars at which a model is asked without the later ones: a leak at one in a hundred is met."""


class CounterfactualData:
    """Makes subjects of one run on changed bars."""

    def __init__(self, subject: EvaluatedRun) -> None:
        """Read the bars that the run's features were computed from.

        Raises:
            StorageError: If its dataset cannot be read any more.
        """
        self._subject, self._panel = subject, None
        name, workspace = subject.config.dataset, subject.workspace
        if name is None:
            assert subject.data.market is not None  # a run without a dataset generates its market
            self._inputs = inputs_of_market(subject.data.market)
        else:
            dataset = BarStore(workspace).open(name)
            self._inputs = read_inputs(dataset)
            self._panel = Panel.open(
                panel_of(dataset, workspace, subject.config.features), require_certificate=False
            )

    @property
    def bars(self) -> BarArrays:
        """Bars of every symbol of the data, (T, N) each; agents may have fewer symbols."""
        return BarArrays(*(self._inputs.bars[name] for name in BAR_FIELDS))

    def on(self, bars: BarArrays, *, first_bar: int, words: str) -> EvaluatedRun:
        """Return the run on other bars; see `world`."""
        return self._subject.on(self.world(bars, first_bar=first_bar, words=words))

    def world(self, bars: BarArrays, *, first_bar: int, words: str) -> World:
        """Return the world of other bars, with every symbol of the data.

        Args:
            bars: Those of `bars`, changed from `first_bar` on and not before.
            first_bar: At or after the end of the training part.
            words: What was done to them, for the label.

        Raises:
            DataError: If anything before `first_bar` came out differently.
        """
        inputs = replace(
            self._inputs,
            bars=dict(zip(BAR_FIELDS, bars, strict=True)),
            present=np.isfinite(bars.close),
        )
        whole = self._assembled(inputs)
        old = self._subject.data.whole
        _require_same_past(old, whole, first_bar)
        return replace(whole, label=f"{old.label}, {words}", synthetic=True)

    @property
    def own_names(self) -> set[str]:
        """Features and regimes that are made of the bars of their symbol alone."""
        specs = panel_specs(self._inputs.covariates, self._subject.config.features)
        return {spec.name for spec in specs if spec.network.stage == 0}

    def another_future(self, cuts: NDArray[np.int64], *, number: int) -> World:
        """Return the world of every symbol with other bars and covariates after a bar of its own.

        They are those of the causality prover: moved, poisoned, shuffled, vanished, another kind
        for each symbol. Nothing is asked of what lies before.

        Args:
            cuts: (N,) the last bar of each symbol that stays as it was.
            number: Of the future; symbols have other kinds in each.
        """
        rng = stream(number, "another future", int(cuts.min()))
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # poison overflows
            changed = perturb_symbols(self._inputs, cuts, number, rng)
            return self._assembled(changed, rescale=False)

    def bar_by_bar(self, *, progress: Progress = ignore_progress) -> World:
        """Return the world made again so that nothing in it can know a later bar.

        Features and regimes come from a stream that is given one bar at a time; scalers are fitted
        on the run's own features, cut off at the end of training, and scale one bar at a time.
        Probabilities are asked for at `MODEL_BARS` bars of tables that end there. What differs from
        the run's world looked ahead.
        """
        inputs, data = self._inputs, self._subject.data
        whole, train = data.whole, data.split.train
        specs = panel_specs(inputs.covariates, self._subject.config.features)
        tensors = panel_tensors(inputs, specs, stream_features(inputs, specs, progress=progress))
        own = panel_tensors(inputs, specs) if self._panel is None else self._panel.arrays
        valid, rows = tensors["valid"], slice(train.start, train.stop)
        scalers, parts = [], []
        for scaler, name in zip(whole.scalers, ("features", "covariates"), strict=False):
            past = own[name][:, : train.stop], own["valid"][:, : train.stop]
            scalers.append(refit_scaler(scaler, *past, rows, inputs.symbols))
            scale = partial(scale_features, scalers[-1], names=scaler.feature_names)
            parts.append(scale_bar_by_bar(scale, tensors[name], valid))
        made = replace(
            whole,
            features=np.concatenate(parts, axis=-1, dtype=np.float32),
            regimes=np.clip(tensors["regimes"], -REGIME_BOUND, REGIME_BOUND),
            usable=tensors["present"] & valid,
            scalers=tuple(scalers),
        )
        models = self._models()
        if not models:
            return made
        table = table_of_tensors(tensors, specs, inputs.symbols)
        bars = prefix_cuts(inputs, MODEL_BARS, stream(0, "bars asked about"))
        chances = [each.probabilities_without_later_bars(table, bars) for each in models]
        return show_chances(made, chances, whole.label)

    def special_cuts(self) -> list[int]:
        """Return the last bars before parts of the split begin, and two bars of a half day."""
        split, last = self._subject.data.split, len(self._inputs.closed_at) - 2
        rows = [split.train.stop - 1, split.validation.start - 1, split.test.start - 1]
        for kind in half_day_rows(self._inputs):
            rows += kind[-1:].tolist()
        return sorted({row for row in rows if row <= last})

    def _models(self) -> list[ProbabilityModel]:
        names, folder = self._subject.config.task.probabilities, self._subject.workspace
        if names == NO_MODEL:
            return []
        return [open_model(models_folder(folder), name)[0] for name in split_models(names)]

    def _assembled(self, inputs: MarketInputs, *, rescale: bool = True) -> World:
        """Compute features, scale them, and ask the run's model of probabilities."""
        subject = self._subject
        whole = self._scaled(inputs, rescale=rescale)
        fitted = self._models()
        if not fitted:
            return whole
        table = table_of_inputs(inputs, panel_specs(inputs.covariates, subject.config.features))
        return show_probabilities(whole, fitted, table, subject.config.task.probabilities)

    def _scaled(self, inputs: MarketInputs, *, rescale: bool) -> World:
        """Scale by the run's own scalers, or fit those of a generated market again."""
        data, features = self._subject.data, self._subject.config.features
        scaler: Scaler | None
        scaler, *more = data.whole.scalers
        covariate_scaler = more[0] if more else None
        if self._panel is None:
            if rescale:
                scaler = covariate_scaler = None
            return world_from_inputs(
                inputs,
                label=data.whole.label,
                synthetic=True,
                train=data.split.train,
                scaler=scaler,
                covariate_scaler=covariate_scaler,
                feature_set=features,
            )
        arrays = panel_tensors(inputs, panel_specs(inputs.covariates, features))
        panel = replace(self._panel, arrays=arrays)
        return world_from_panel(
            panel, train=data.split.train, scaler=scaler, covariate_scaler=covariate_scaler
        )


def _require_same_past(old: World, new: World, first_bar: int) -> None:
    for name in ("prices", "features", "regimes", "probabilities", "usable"):
        before, after = getattr(old, name)[:, :first_bar], getattr(new, name)[:, :first_bar]
        if not np.array_equal(before, after, equal_nan=name == "prices"):
            raise DataError(
                "bars that were changed must not move what lies before them",
                was=f"other {name} before bar {first_bar}",
                where=new.label,
            )
