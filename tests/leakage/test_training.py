"""No bar teaches before its time: `tradingbot train` on markets that differ after a bar only.

Synthetic data. The market itself is changed, so that everything made of it could differ: prices,
covariates, features, regimes, scalers, labels of pre-training.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fixtures.tiny_training import tiny_config
from tradingbot.app.cli.application import run
from tradingbot.data.sources.synthetic import SyntheticSource
from tradingbot.data.synthetic.market import SyntheticMarket
from tradingbot.evaluation.performance.record import PartPerformance
from tradingbot.features.panel import Panel
from tradingbot.training import data as training_data
from tradingbot.training.data import TrainingData, open_data
from tradingbot.training.result_file import TrainResult
from tradingbot.training.session import begin_run

SHORT: dict[str, object] = {
    "threads": 1,
    "splits__train": 0.65,
    "splits__validation": 0.2,
    "splits__test": 0.15,
    "task__rules__episode__episode_bars": 24,
    "learner__direct__chunk_bars": 8,
    "budget__n_envs": 32,
    "budget__steps_per_agent": 1536,
    "validation__every_updates": 3,
}
"""Six updates; episodes so short and many that some reach the last bars of training. Features are
scaled on less than what `TRAIN_FRAC` would take."""
SETTINGS: dict[str, dict[str, object]] = {
    "direct": {},
    "pre-trained encoder": {
        "encoder__preset": "mlp",
        "pretraining__updates": 2,
        "pretraining__segment_bars": 16,
    },
}
_PRICES = ("opens", "highs", "lows", "closes", "vwaps")


def changed_from(market: SyntheticMarket, bar: int) -> SyntheticMarket:
    """Return the market with everything visible changed from a bar on; NaN stays NaN."""
    factor = np.ones(market.shape)
    steps = np.random.default_rng(99).normal(0.01, 0.05, (len(factor) - bar, factor.shape[1]))
    factor[bar:] = 3.0 * np.exp(np.cumsum(steps, axis=0))
    later = (np.arange(len(factor)) >= bar)[:, None]
    return replace(
        market,
        **{name: getattr(market, name) * factor for name in _PRICES},
        volumes=market.volumes * np.where(later, 7.0, 1.0),
        covariates={
            name: np.where(later, 5.0 - 3.0 * values, values)
            for name, values in market.covariates.items()
        },
    )


@dataclass(frozen=True)
class ChangedSource(SyntheticSource):
    """Generates the market of its settings, changed from a bar on."""

    bar: int = 0

    def generate(self) -> SyntheticMarket:
        return changed_from(super().generate(), self.bar)


@dataclass(frozen=True, eq=False)
class Trained:
    """A run and what it learned from."""

    data: TrainingData
    result: TrainResult

    def part(self, name: str) -> PartPerformance:
        return next(part for part in self.result.parts if part.part == name)


Train = Callable[[str, int | None], Trained]


@pytest.fixture(scope="module")
def train(tmp_path_factory: pytest.TempPathFactory) -> Train:
    """Train with a setting on a market changed from a bar on; None changes nothing."""
    made: dict[tuple[str, int | None], Trained] = {}

    def once(setting: str, bar: int | None) -> Trained:
        if (setting, bar) not in made:
            made[setting, bar] = _run(setting, bar, tmp_path_factory.mktemp("training"))
        return made[setting, bar]

    return once


def _run(setting: str, bar: int | None, workspace: Path) -> Trained:
    config = tiny_config(**SHORT | SETTINGS[setting])
    with pytest.MonkeyPatch.context() as patch:
        if bar is not None:
            plain = training_data.synthetic_source

            def changed(asked: object) -> ChangedSource:
                source = plain(asked)  # type: ignore[arg-type]
                return ChangedSource(**vars(source), bar=bar)

            patch.setattr(training_data, "synthetic_source", changed)
        data = open_data(config, workspace)
        session = begin_run(config, workspace)
    assert session.result is not None
    return Trained(data, session.result)


@pytest.fixture(params=SETTINGS)
def plain(request: pytest.FixtureRequest, train: Train) -> tuple[str, Trained]:
    return request.param, train(request.param, None)


def test_bars_after_validation_change_nothing_but_the_test_figures(
    train: Train, plain: tuple[str, Trained]
) -> None:
    setting, expected = plain
    changed = train(setting, expected.data.split.validation.stop)

    assert changed.data.split == expected.data.split
    assert changed.result.final_weights_sha256 == expected.result.final_weights_sha256
    assert changed.result.weights_sha256 == expected.result.weights_sha256
    assert changed.result.best_mean_sharpe == expected.result.best_mean_sharpe
    assert changed.result.decision == expected.result.decision
    assert changed.result.trading_agents == expected.result.trading_agents
    assert changed.part("validation") == expected.part("validation")
    assert changed.part("test") != expected.part("test")


def test_bars_after_training_leave_what_was_seen_and_the_final_weights(
    train: Train, plain: tuple[str, Trained]
) -> None:
    """Which weights are best is for validation to say; those at the end are not."""
    setting, expected = plain
    stop = expected.data.split.train.stop
    changed = train(setting, stop)

    for name in ("prices", "features", "regimes", "probabilities", "usable"):
        found, before = (getattr(each.data.world, name) for each in (changed, expected))
        np.testing.assert_array_equal(found[:, :stop], before[:, :stop], err_msg=name)
    assert not np.array_equal(changed.data.world.features, expected.data.world.features)
    assert changed.result.final_weights_sha256 == expected.result.final_weights_sha256
    assert changed.result.best_mean_sharpe != expected.result.best_mean_sharpe


def test_bars_of_training_change_the_final_weights(train: Train) -> None:
    """Or the tests above would pass for runs that learn nothing."""
    expected = train("direct", None)
    changed = train("direct", expected.data.split.train.stop - 100)

    assert changed.result.final_weights_sha256 != expected.result.final_weights_sha256


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a dataset `stored` and its panel, which nobody proved. Synthetic."""
    workspace = tmp_path_factory.mktemp("stored")
    place = ["--workspace", str(workspace)]
    days = ["--start", "2025-06-10", "--end", "2025-10-01", "--universe", "prototype10"]
    assert run([*place, "data", "generate", "--name", "stored", "--market", "planted", *days]) == 0
    assert run([*place, "features", "build", "stored"]) == 0
    return workspace


def open_stored(workspace: Path, bar: int | None, patch: pytest.MonkeyPatch) -> TrainingData:
    """Open the dataset with the tensors of its panel changed from a bar on."""

    def open_changed(folder: Path) -> Panel:
        panel = Panel.open(folder, require_certificate=False)
        arrays = {name: np.array(array) for name, array in panel.arrays.items()}
        for name in ("features", "covariates", "prices"):
            arrays[name][:, bar:] = 2.0 + 3.0 * arrays[name][:, bar:]
        return panel if bar is None else replace(panel, arrays=arrays)

    patch.setattr(training_data, "Panel", SimpleNamespace(open=open_changed))
    return open_data(tiny_config(**SHORT, dataset="stored"), workspace)


def test_scaler_of_a_stored_dataset_knows_training_bars_only(
    stored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = open_stored(stored, None, monkeypatch)
    stop = plain.split.train.stop

    later = open_stored(stored, stop, monkeypatch)
    earlier = open_stored(stored, stop - 1, monkeypatch)

    assert later.split == plain.split
    for name, expected in plain.normaliser.items():
        assert torch.equal(later.normaliser[name], expected), name
        assert not torch.equal(earlier.normaliser[name], expected), name
    for name in ("features", "regimes", "prices"):
        found, expected = (getattr(each.world, name)[:, :stop] for each in (later, plain))
        np.testing.assert_array_equal(found, expected, err_msg=name)
    assert not np.array_equal(later.world.features, plain.world.features)
