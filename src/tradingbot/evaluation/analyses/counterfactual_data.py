"""A run on its own bars, changed: features computed anew, scaled as in training.

Only bars from some bar on may change; what lies before them must come out the same to the last bit,
so the scale, the past that encoders remember, and what was learned are the run's own. Whether it
does is what the leak check asks: `another_future` changes later bars and refuses nothing.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tradingbot.data.bar_moves import BarArrays
from tradingbot.data.store import BarStore
from tradingbot.domain.errors import DataError
from tradingbot.domain.seeding import stream
from tradingbot.envs.build_world import world_from_inputs, world_from_panel
from tradingbot.envs.synthetic_market import inputs_of_market
from tradingbot.envs.world import World
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.features.causality.perturbations import perturb_symbols
from tradingbot.features.inputs import BAR_FIELDS, MarketInputs
from tradingbot.features.panel import Panel, panel_specs, panel_tensors
from tradingbot.features.pipeline import panel_of, read_inputs
from tradingbot.supervised.joined_world import show_probabilities
from tradingbot.supervised.model_files import open_model
from tradingbot.supervised.model_names import NO_MODEL, models_folder, split_models
from tradingbot.supervised.table import table_of_inputs


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
            return self._assembled(perturb_symbols(self._inputs, cuts, number, rng))

    def _assembled(self, inputs: MarketInputs) -> World:
        """Compute features, scale them, and ask the run's model of probabilities."""
        subject = self._subject
        whole = self._scaled(inputs)
        names, folder = subject.config.task.probabilities, models_folder(subject.workspace)
        if names == NO_MODEL:
            return whole
        fitted = [open_model(folder, name)[0] for name in split_models(names)]
        table = table_of_inputs(inputs, panel_specs(inputs.covariates, subject.config.features))
        return show_probabilities(whole, fitted, table, names)

    def _scaled(self, inputs: MarketInputs) -> World:
        data, features = self._subject.data, self._subject.config.features
        if self._panel is None:
            label, train = data.whole.label, data.split.train
            return world_from_inputs(
                inputs, label=label, synthetic=True, train=train, feature_set=features
            )
        arrays = panel_tensors(inputs, panel_specs(inputs.covariates, features))
        panel = replace(self._panel, arrays=arrays)
        # The run's own: fitted on its training bars, which no counterfactual changes.
        scaler, *more = data.whole.scalers
        return world_from_panel(
            panel, train=data.split.train, scaler=scaler, covariate_scaler=more[0] if more else None
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
