"""A policy or a feature that looks one bar ahead is caught; one that does not is not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from fixtures.example_backtest import example_tear_sheet
from fixtures.example_dossier import example_dossier
from fixtures.tiny_training import tiny_config
from tradingbot.agents.baselines.probability_threshold import LIFTS, THRESHOLDS
from tradingbot.agents.policy import PolicyInputs
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import StorageError
from tradingbot.domain.seeding import stream
from tradingbot.envs import build_world
from tradingbot.envs.world import World
from tradingbot.evaluation.analyses import evaluated_run as subject_module
from tradingbot.evaluation.analyses import leak_check as leak_check_piece
from tradingbot.evaluation.analyses.analysis import AnalysisInputs
from tradingbot.evaluation.analyses.counterfactual_data import CounterfactualData
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun, open_evaluated_run
from tradingbot.evaluation.analyses.leak_check import (
    beats_oracle,
    compare_features,
    compare_replays,
    measure_leak_check,
    staggered_cuts,
    with_other_future,
)
from tradingbot.evaluation.analyses.past_comparison import Compared
from tradingbot.evaluation.analyses.performance import Performance, Series, measure_performance
from tradingbot.evaluation.analyses.settings import LeakCheckSettings, PerformanceSettings
from tradingbot.evaluation.dossier.evidence import LeakCheck
from tradingbot.evaluation.gates.measurements import MEASUREMENTS
from tradingbot.evaluation.performance.record import AGENTS, ORACLE
from tradingbot.evaluation.pipeline.config import load_evaluate_config
from tradingbot.evaluation.report.sections.placebos import leak_section
from tradingbot.features import panel as panel_module
from tradingbot.features import proof_subjects
from tradingbot.features.compute import compute_features
from tradingbot.features.inputs import MarketInputs
from tradingbot.features.scaling import Scaler, fit_scaler
from tradingbot.supervised import FitConfig, FoldConfig, LabelConfig
from tradingbot.supervised.boosting import FittedTrees
from tradingbot.supervised.model_files import open_model
from tradingbot.supervised.model_names import models_folder
from tradingbot.supervised.table import ModelTable
from tradingbot.training.data import TrainingData, open_data
from tradingbot.training.session import begin_run
from tradingbot.training.supervised.fit import ModelRequest, train_model

QUICK = load_evaluate_config("quick", {}).leak_check

Features = dict[str, np.ndarray]
Change = Callable[[MarketInputs, Features], None]


@dataclass(frozen=True, eq=False)
class Looking:
    """Wants a position where the first feature is above 0, so many bars from now."""

    world: World
    ahead: int

    def __call__(self, seen: PolicyInputs) -> Tensor:
        features = torch.from_numpy(np.array(self.world.features[..., 0])).reshape(-1)
        row = (seen.row + self.ahead).clamp(max=len(features) - 1)
        return (features[row] > 0.0).to(seen.private.dtype)


def looking(subject: EvaluatedRun, ahead: int, monkeypatch: pytest.MonkeyPatch) -> EvaluatedRun:
    def open_policy(_run: object, data: TrainingData, **_: object) -> Looking:
        return Looking(data.world, ahead)

    monkeypatch.setattr(subject_module, "open_policy", open_policy)
    return replace(subject, policy=Looking(subject.data.world, ahead))


def plant_leak(subject: EvaluatedRun, name: str, monkeypatch: pytest.MonkeyPatch) -> EvaluatedRun:
    """Have a registered feature computed one bar too early."""

    def peek(_: MarketInputs, found: Features) -> None:
        if name in found:
            found[name] = np.concatenate([found[name][1:], found[name][-1:]])

    return plant(subject, peek, monkeypatch)


def replays(subject: EvaluatedRun, cuts: int) -> Compared:
    return compare_replays(AnalysisInputs(subject), cuts, CounterfactualData(subject))


def measured(subject: EvaluatedRun, settings: LeakCheckSettings) -> LeakCheck:
    performance = measure_performance(AnalysisInputs(subject), PerformanceSettings(draws=100))
    return measure_leak_check(
        AnalysisInputs(subject, results={"performance": performance}), settings
    )


def plant(subject: EvaluatedRun, change: Change, monkeypatch: pytest.MonkeyPatch) -> EvaluatedRun:
    """Have features changed after they are computed, and the run opened on such data."""

    def changed(inputs: MarketInputs, *rest: object, **options: object) -> Features:
        found = compute_features(inputs, *rest, **options)  # type: ignore[arg-type]
        change(inputs, found)
        return found

    monkeypatch.setattr(panel_module, "compute_features", changed)
    return subject.with_world(open_data(subject.config, subject.workspace))


def test_trained_policy_does_not_depend_on_the_future(subject: EvaluatedRun) -> None:
    found = replays(subject, 3)

    test, world = subject.bars("test"), subject.data.whole
    columns = world.features.shape[2] + world.regimes.shape[2] + 3 + 1
    cuts = [test.start + int(share * (len(test) - 2)) for share in (1 / 3, 2 / 3, 1)]
    assert found.features == sum(cut + 1 for cut in cuts) * world.n_symbols * columns
    n_agents = len(subject.data.world.symbols)
    assert found.actions == sum(cut + 1 - test.start for cut in cuts) * n_agents
    assert found == Compared(actions=found.actions, features=found.features)
    assert found.words() == ()


def test_encoder_and_policy_together_do_not_depend_on_the_future(ppo_subject: EvaluatedRun) -> None:
    found = replays(ppo_subject, 1)

    assert found.actions > 0 < found.features
    assert (found.actions_changed, found.features_changed) == (0, 0)


@pytest.mark.parametrize(("ahead", "is_caught"), [(0, False), (1, True)])
def test_policy_is_caught_if_and_only_if_it_looks_ahead(
    subject: EvaluatedRun, ahead: int, is_caught: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = replays(looking(subject, ahead, monkeypatch), 6)

    assert bool(found.actions_changed) == is_caught
    assert found.features_changed == 0


@pytest.mark.parametrize("name", ["return_1", "trend_regime"])
def test_feature_that_looks_one_bar_ahead_is_suspicious_and_named(
    subject: EvaluatedRun, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    leaking = plant_leak(subject, name, monkeypatch)

    found = replays(leaking, 4)

    assert found.features_changed >= 4 * subject.data.whole.n_symbols  # four cuts
    assert found.offenders == (name, "usable")
    assert f"{found.features_changed:,} of {found.features:,} feature values" in found.words()[0]
    assert name in found.words()[0]


def test_leaking_feature_moves_actions_and_the_record_says_so(
    subject: EvaluatedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = LeakCheckSettings(cuts=2, most_delay_bars=0, feature_rounds=1)
    clean = measured(subject, few)
    leak = measured(looking(plant_leak(subject, "open", monkeypatch), 0, monkeypatch), few)

    assert clean.is_clean
    assert clean.features_compared > 10_000
    assert clean.features_changed == clean.actions_changed == 0
    assert not leak.is_clean
    assert leak.features_compared > 10_000
    assert leak.features_changed > 0 < leak.actions_changed
    assert "feature values depend on bars" in leak.words[0]
    assert "actions depend on bars" in leak.words[1]


def test_other_future_changes_everything_later_and_nothing_before(subject: EvaluatedRun) -> None:
    world = subject.data.world
    cut = world.n_bars // 2

    other = with_other_future(world, cut)

    for name in ("prices", "features", "regimes", "probabilities", "present", "usable"):
        before, after = getattr(world, name), getattr(other, name)
        np.testing.assert_array_equal(before[:, : cut + 1], after[:, : cut + 1])
    assert (other.prices[:, cut + 1 :, 3] != world.prices[:, cut + 1 :, 3]).mean() > 0.99
    assert (other.features[:, cut + 1] != world.features[:, cut + 1]).mean() > 0.5


def found_by_other_futures(subject: EvaluatedRun, monkeypatch: pytest.MonkeyPatch) -> Compared:
    """Compare without going bar by bar, which alone would find everything."""
    monkeypatch.setattr(CounterfactualData, "bar_by_bar", lambda _: subject.data.whole)
    return compare_features(AnalysisInputs(subject), QUICK, CounterfactualData(subject))


@pytest.mark.parametrize("name", ["return_1", "market_breadth"])
@pytest.mark.parametrize("phase", range(7))
def test_feature_that_looks_ahead_at_every_seventh_bar_is_found_whatever_its_phase(
    subject: EvaluatedRun, phase: int, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def peek(_: MarketInputs, found: Features) -> None:
        if name in found:
            found[name][phase:-1:7] = found[name][phase + 1 :: 7]

    leaking = plant(subject, peek, monkeypatch)

    found = found_by_other_futures(leaking, monkeypatch)

    assert found.features_changed > 0
    assert {name, "usable"} >= set(found.offenders) > set()


@pytest.mark.parametrize("phase", [0, 7, 14, 19])
def test_symbols_cut_one_after_another_find_leaks_of_long_periods(
    subject: EvaluatedRun, phase: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def peek(_: MarketInputs, found: Features) -> None:
        if "return_1" in found:
            found["return_1"][phase:-1:20] = found["return_1"][phase + 1 :: 20]

    leaking = plant(subject, peek, monkeypatch)

    found = found_by_other_futures(leaking, monkeypatch)

    assert found.features_changed > 0


@pytest.mark.parametrize("column", [1, 5])  # neither has that kind in the first round
def test_leak_that_one_kind_of_future_shows_in_one_symbol_is_found(
    subject: EvaluatedRun, column: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def peek(inputs: MarketInputs, found: Features) -> None:
        if "return_1" in found:
            is_huge = inputs.bars["close"][1:, column] == 1e300
            found["return_1"][:-1, column][is_huge] += 1.0

    leaking = plant(subject, peek, monkeypatch)

    found = found_by_other_futures(leaking, monkeypatch)

    assert found.offenders == ("return_1",)


def test_sound_features_are_the_same_in_every_round(subject: EvaluatedRun) -> None:
    found = compare_features(AnalysisInputs(subject), QUICK, CounterfactualData(subject))

    assert found == Compared(features=found.features)
    assert found.features > 12 * 450 * subject.data.whole.n_symbols * 38


SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 12))]
FEW = LeakCheckSettings(cuts=1, most_delay_bars=0, feature_rounds=1)


def features_found(subject: EvaluatedRun) -> Compared:
    return compare_features(AnalysisInputs(subject), FEW, CounterfactualData(subject))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("part", ["train", "validation", "test"])
@pytest.mark.parametrize("name", ["return_1", "market_breadth"])
def test_feature_that_looks_ahead_at_one_bar_of_any_part_is_named(
    subject: EvaluatedRun, name: str, part: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    bars = subject.bars(part) if part != "train" else subject.data.split.train
    usable = np.flatnonzero(subject.data.whole.usable[:2, bars.start : bars.stop - 1].all(axis=0))
    row = bars.start + int(stream(seed, part).choice(usable))

    def peek(_: MarketInputs, found: Features) -> None:
        if name in found and len(found[name]) > row + 1:
            found[name][row, :2] = found[name][row + 1, :2] + 1.0

    found = features_found(plant(subject, peek, monkeypatch))

    assert found.features_changed >= 2
    assert name in found.offenders


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("place", ["fitted past training", "one bar in a hundred"])
def test_scaler_of_a_generated_market_that_looks_ahead_is_found(
    subject: EvaluatedRun, place: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = stream(seed, "scaler")
    if place == "fitted past training":
        more = int(drawn.integers(1, 100))

        def fit(kind: Any, features: Any, valid: Any, train: slice, **names: Any) -> Scaler:
            return fit_scaler(kind, features, valid, slice(train.start, train.stop + more), **names)

        for module in (build_world, proof_subjects):
            monkeypatch.setattr(module, "fit_scaler", fit)
    else:
        honest, rows = Scaler.transform, drawn.random(10_000) < 0.01
        rows[subject.data.split.test.start + seed] = True

        def early(self: Scaler, features: Any, valid: Any = None, **names: Any) -> Any:
            scaled = honest(self, features, valid, **names)
            at = np.flatnonzero(rows[: scaled.shape[1] - 1])
            scaled[:, at] = scaled[:, at + 1]
            return scaled

        monkeypatch.setattr(Scaler, "transform", early)
    leaking = subject.with_world(open_data(subject.config, subject.workspace))

    found = features_found(leaking)

    assert found.features_changed > 0
    assert set(found.offenders) <= {*leaking.data.whole.feature_names}


def test_world_made_bar_by_bar_is_the_run_s_own(subject: EvaluatedRun) -> None:
    whole, made = subject.data.whole, CounterfactualData(subject).bar_by_bar()

    for name in ("features", "regimes", "probabilities", "usable"):
        np.testing.assert_array_equal(getattr(made, name), getattr(whole, name))
    assert [each.sha256 for each in made.scalers] == [each.sha256 for each in whole.scalers]


def test_cuts_lie_before_every_part_and_on_half_days(subject: EvaluatedRun) -> None:
    split, closed_at = subject.data.split, subject.data.whole.closed_at.astype("datetime64[us]")
    days, rows = np.unique(closed_at.astype("datetime64[D]"), return_counts=True)
    half = days[1:-1][rows[1:-1] < 7]  # of New York, whose sessions end on the same day in UTC
    last = int(np.flatnonzero(closed_at.astype("datetime64[D]") == half[-1])[-1])

    cuts = CounterfactualData(subject).special_cuts()

    before = {split.train.stop - 1, split.validation.start - 1, split.test.start - 1}
    assert set(cuts) == {*before, last, last - 1}
    assert cuts == sorted(cuts)


@pytest.mark.parametrize(
    ("bars", "symbols", "rounds"), [(1_300, 10, 12), (103, 10, 12), (900, 143, 7)]
)
def test_rounds_meet_every_phase_of_every_short_period_in_every_symbol(
    bars: int, symbols: int, rounds: int
) -> None:
    cuts = staggered_cuts(IndexRange(500, 500 + bars), symbols, rounds)

    assert cuts.shape == (rounds, symbols)
    assert cuts.min() >= 500
    assert cuts.max() == 500 + bars - 2
    assert ((cuts == cuts.min(axis=1, keepdims=True)).mean(axis=1) >= 0.5).all()
    assert len(np.unique(cuts[0])) == symbols // 2 + 1
    assert len(np.unique(cuts)) >= min(rounds * symbols, bars) // 6
    for period in range(2, rounds + 1):
        for column in (*cuts.T, cuts.min(axis=1)):
            assert len(np.unique(column % period)) == period


@pytest.mark.parametrize("bars", [2, 3, 4, 12])
def test_part_of_few_bars_has_cuts_that_lie_in_it(bars: int) -> None:
    cuts = staggered_cuts(IndexRange(500, 500 + bars), 10, 12)
    assert cuts.shape[1] == 10
    assert len(cuts) >= 1
    assert cuts.min() >= 500
    assert cuts.max() <= 500 + bars - 2


@pytest.fixture(scope="module")
def seer(tmp_path_factory: pytest.TempPathFactory) -> EvaluatedRun:
    """A run whose agents see the probabilities of a model."""
    folder = tmp_path_factory.mktemp("seer")
    fit = FitConfig(LabelConfig(horizon_bars=3), FoldConfig(n_blocks=3, embargo_bars=2), seed=4)
    trees = {"max_rounds": 8, "patience": 3}
    train_model(
        tiny_config(), ModelRequest("trees", "lightgbm", trees, fit, proof_rounds=1), folder
    )
    begin_run(tiny_config(task__probabilities="trees"), folder, name="seer")
    return open_evaluated_run("seer", folder)


def test_probabilities_of_a_sound_model_are_made_anew_and_the_same(seer: EvaluatedRun) -> None:
    assert len(np.unique(seer.data.whole.probabilities)) > 10
    counterfactual, cut = CounterfactualData(seer), seer.data.split.test.start + 9
    cuts = np.full(seer.data.whole.n_symbols, cut)

    remade = counterfactual.another_future(cuts, number=0)
    found = replays(seer, 1) + compare_features(AnalysisInputs(seer), QUICK, counterfactual)

    later = seer.data.whole.probabilities[:, cut + 1 :] != remade.probabilities[:, cut + 1 :]
    assert later.any()  # they follow the bars
    assert (found.features_changed, found.actions_changed, found.offenders) == (0, 0, ())


def test_model_is_traded_by_itself_at_levels_that_it_reaches(seer: EvaluatedRun) -> None:
    performance = measure_performance(AnalysisInputs(seer), PerformanceSettings(draws=100))

    rows = [row for row in performance.parts[-1].policies if row.kind == "supervised"]
    assert len(rows) == len(LIFTS) + len(THRESHOLDS)
    assert rows[0].exposure_frac > 0.0  # the base rate of a rise
    assert [row.policy for row in rows[-5:]] == [f"P(up) ≥ {level:.2f}" for level in THRESHOLDS]


def test_model_that_looks_one_bar_ahead_is_named(
    seer: EvaluatedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted, _ = open_model(models_folder(seer.workspace), "trees")
    honest = type(fitted).probabilities

    def early(model: object, table: ModelTable) -> np.ndarray:
        found = honest(model, table)  # type: ignore[arg-type]
        return np.concatenate([found[:, 1:], found[:, -1:]], axis=1)

    monkeypatch.setattr(type(fitted), "probabilities", early)
    leaking = seer.with_world(open_data(seer.config, seer.workspace))

    assert replays(leaking, 1).offenders == ("probabilities",)


@pytest.mark.parametrize("seed", SEEDS)
def test_model_that_looks_ahead_at_one_bar_in_a_hundred_is_named(
    seer: EvaluatedRun, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest, shown = FittedTrees.probabilities, seer.data.whole.probabilities
    moves = np.flatnonzero((shown[:, 1:] != shown[:, :-1]).any(axis=(0, 2)))
    rows = stream(seed, "model").choice(moves, size=6, replace=False)

    def early(self: FittedTrees, table: ModelTable, part: IndexRange | None = None) -> np.ndarray:
        found, start = honest(self, table, part), part.start if part else 0
        at = rows[(rows >= start) & (rows < start + found.shape[1] - 1)] - start
        found[:, at] = found[:, at + 1]
        return found

    monkeypatch.setattr(FittedTrees, "probabilities", early)
    leaking = seer.with_world(open_data(seer.config, seer.workspace))

    assert features_found(leaking).offenders == ("probabilities",)


def test_run_whose_bars_are_gone_is_replayed_but_its_gate_is_not_measured(
    subject: EvaluatedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(_: EvaluatedRun) -> None:
        raise StorageError("bars must be there", was="none")

    monkeypatch.setattr(leak_check_piece, "CounterfactualData", gone)

    found = measured(subject, LeakCheckSettings(cuts=2, most_delay_bars=0))

    assert found.actions_compared > 0
    assert found.features_compared == found.features_changed == found.actions_changed == 0
    dossier = replace(example_dossier(), leak_check=found)
    gate = MEASUREMENTS["suspicious_findings"].read(dossier)
    assert gate.value is None
    assert gate.reason.startswith("features could not be computed anew: bars must be there")
    assert "not everything was looked at" in leak_section(dossier).finding
    suspicious = replace(found, words=("something",))
    worse = MEASUREMENTS["suspicious_findings"].read(replace(dossier, leak_check=suspicious))
    assert worse.value == 1.0  # what was found counts, whatever was not looked at


@pytest.mark.parametrize(
    ("mine", "oracle", "market", "suspicious"),
    [
        pytest.param(0.0, -2e-3, 0.0, False, id="idle while the oracle loses"),
        pytest.param(-1e-3, -3e-3, 0.0, False, id="loses less than the oracle"),
        pytest.param(3e-3, 1e-3, 0.0, True, id="earns more than the oracle"),
        pytest.param(1e-3, 1e-3, 0.0, False, id="earns as much"),
        pytest.param(3e-3, 1e-3, 2.5e-3, False, id="holds more of a market that rises"),
    ],
)
def test_only_agents_that_earn_more_than_the_oracle_are_suspicious(
    mine: float, oracle: float, market: float, suspicious: bool
) -> None:
    noise = np.random.default_rng(3).normal(0.0, 1e-3, 200) * (mine != 0.0)

    def series(policy: str, mean: float, market: float) -> Series:
        returns = mean + noise - noise.mean()
        net, alpha = tuple(returns.tolist()), tuple((returns - market).tolist())
        return Series(policy, "oracle" if policy == ORACLE else "agents", net, net, alpha)

    both = (series(AGENTS, mine, market), series(ORACLE, oracle, 0.0))
    measured = Performance((), both, example_tear_sheet(3))

    assert beats_oracle(measured) is suspicious
