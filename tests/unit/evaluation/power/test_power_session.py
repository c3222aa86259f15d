"""Power from beginning to end: trials are kept, resumed to the same curve, and cited by memos."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest

from fixtures.small_runs import make_run
from fixtures.tiny_training import tiny_config
from tradingbot.app.cli.application import run as run_command
from tradingbot.data.store import BarStore
from tradingbot.data.synthetic.planted_dataset import PLANTED_SIGNAL
from tradingbot.evaluation.dossier.power import PowerTrial
from tradingbot.evaluation.pipeline.stored_power import power_words
from tradingbot.evaluation.power import session
from tradingbot.evaluation.power.request import PowerRequest, PowerSettings
from tradingbot.evaluation.power.session import measure_power
from tradingbot.evaluation.power.spiked_data import open_subject, worth_of
from tradingbot.evaluation.power.trial import lay_out_trials, run_trial
from tradingbot.evaluation.statistics.interval import Interval
from tradingbot.executors import workers
from tradingbot.executors.executor import InlineExecutor
from tradingbot.training.config_files import load_train_config
from tradingbot.training.data import open_data

SETTINGS = PowerSettings((0.0, 0.05, 0.1), 4)
MARKET = {"market.name": "regimes", "market.params": {}, "market.start": "2025-04-01"}


@pytest.fixture(scope="module")
def config():
    return tiny_config(**{key.replace(".", "__"): value for key, value in MARKET.items()})


@pytest.fixture
def quick_trials(monkeypatch):
    """Trials that are found from κ = 0.1 on, and by luck in every other repetition at 0.05."""
    made = []

    def found(subject, spec, workspace, progress):
        made.append((spec.kappa, spec.repetition))
        low = 1.0 if spec.kappa >= 0.1 or (spec.kappa > 0 and spec.repetition % 2) else -1.0
        alpha = Interval(10.0 * spec.kappa, low, 3.0)
        seeds = (spec.signal_seed, spec.training_seed)
        return PowerTrial(spec.kappa, spec.repetition, *seeds, 2, alpha, 0.5)

    monkeypatch.setattr(session, "run_trial", found)
    return made


def test_repetitions_share_seeds_over_strengths_and_stay_when_more_are_asked():
    few, more = lay_out_trials(SETTINGS), lay_out_trials(replace(SETTINGS, repetitions=6))

    assert more[: len(few)] == few
    assert len({spec.signal_seed for spec in few}) == SETTINGS.repetitions
    assert len({(spec.repetition, spec.signal_seed) for spec in few}) == SETTINGS.repetitions


def test_measured_power_has_the_known_curve(config, tmp_path, quick_trials):
    found = measure_power(PowerRequest("market", config, SETTINGS), tmp_path)

    curve = found.curve
    assert [rung.found.estimate for rung in curve.rungs] == [0.0, 0.5, 1.0]
    assert curve.smallest.kappa.estimate == pytest.approx(0.08)
    assert curve.rungs[0].edge_bps == 0.0
    assert curve.rungs[1].edge_bps < curve.smallest.edge_bps.estimate < curve.rungs[2].edge_bps
    assert "would have been found with 80 % probability" in curve.words
    assert "synthetic signal in generated bars" in curve.label
    page = found.page.read_text("utf-8")
    assert "Nothing here was earned on a real market" in page
    assert f"An edge of {curve.smallest.edge_bps.estimate:.2f}" in page


def test_killed_measurement_resumes_to_the_same_curve_without_making_a_trial_twice(
    config, tmp_path, quick_trials, monkeypatch
):
    request = PowerRequest("market", config, SETTINGS)
    whole = measure_power(request, tmp_path / "whole")
    usual = session.run_trial
    quick_trials.clear()

    def killed(*arguments):
        if len(quick_trials) == 5:
            raise KeyboardInterrupt
        return usual(*arguments)

    monkeypatch.setattr(session, "run_trial", killed)
    with pytest.raises(KeyboardInterrupt):
        measure_power(request, tmp_path / "cut")
    monkeypatch.setattr(session, "run_trial", usual)
    resumed = measure_power(request, tmp_path / "cut")

    assert resumed.curve == whole.curve
    assert len(quick_trials) == len(set(quick_trials)) == 12


def test_workers_open_the_same_bars_from_what_is_sent_to_them(
    config, tmp_path, quick_trials, monkeypatch
):
    """What a worker is sent is pickled, and the trials that it keeps are those of one process."""
    started = []

    class Workers(InlineExecutor):
        def __init__(self, open_work, count):
            started.append(count)
            super().__init__(pickle.loads(pickle.dumps(open_work))())

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    request = PowerRequest("market", config, SETTINGS)
    alone = measure_power(request, tmp_path / "alone", jobs=1)
    monkeypatch.setattr(workers, "ProcessExecutor", Workers)
    shared = measure_power(request, tmp_path / "shared", jobs=3)

    assert started == [3]
    assert shared.curve == alone.curve
    assert len(quick_trials) == 2 * len(lay_out_trials(SETTINGS))


@pytest.mark.parametrize(("symbols", "read"), [(None, ()), ("SPY,AAPL", ("SPY", "AAPL"))])
def test_symbols_of_a_preset_are_traded_in_the_whole_market(
    symbols, read, synthetic_store, monkeypatch
):
    """`quick` trades two symbols; the market beside them is every symbol of the dataset."""
    asked = []

    def keep(request, *_, **__):
        asked.append(request)
        raise KeyboardInterrupt

    monkeypatch.setattr(session, "measure_power", keep)
    monkeypatch.setattr("tradingbot.training.early_refusals.refuse_early", lambda *_: None)
    (name, *_) = synthetic_store.names()
    words = ["--workspace", str(synthetic_store.root), "power", name, "--preset", "quick"]

    run_command(words + ([] if symbols is None else ["--symbols", symbols]))

    (request,) = asked
    assert request.config.symbols == ("SPY", "AAPL")
    assert request.symbols == read


def test_a_market_of_some_symbols_alone_says_so(synthetic_store):
    (name, *_) = synthetic_store.names()
    every = BarStore(synthetic_store.root).open(name).manifest.symbols
    config = load_train_config("quick", {"dataset": name, "symbols": every[:2]})

    whole = open_subject(config, synthetic_store.root)
    two = open_subject(config, synthetic_store.root, every[:2])

    assert whole.inputs.symbols == every
    assert "alone" not in whole.label
    assert f"2 of its {len(every)} symbols alone" in two.spiked_label


def test_another_ladder_makes_only_what_is_missing(config, tmp_path, quick_trials):
    measure_power(PowerRequest("market", config, SETTINGS), tmp_path)
    quick_trials.clear()

    wider = replace(SETTINGS, kappas=(0.0, 0.05, 0.1, 0.2))
    measure_power(PowerRequest("market", config, wider), tmp_path)

    assert {kappa for kappa, _ in quick_trials} == {0.2}


def test_an_edited_trial_is_made_again(config, tmp_path, quick_trials):
    request = PowerRequest("market", config, SETTINGS)
    first = measure_power(request, tmp_path)
    path = first.folder / "trials" / "kappa-0-repetition-0.json"
    path.write_text(path.read_text().replace('"low": -1.0', '"low": 1.0'))
    quick_trials.clear()

    again = measure_power(request, tmp_path)

    assert quick_trials == [(0.0, 0)]
    assert again.curve == first.curve


def test_command_measures_a_run_prints_the_answer_and_its_memo_cites_it(
    config, tmp_path, quick_trials, capsys
):
    run = make_run(tmp_path / "runs", "one", config=config.as_mapping())
    assert power_words(run, tmp_path) == ""
    ladder = ["--kappas", "0,0.05,0.1", "--repetitions", "4", "--jobs", "1"]

    assert run_command(["--workspace", str(tmp_path), "power", "one", *ladder, "--json"]) == 0

    said = json.loads(capsys.readouterr().out)
    assert said["smallest"]["kappa"]["estimate"] == pytest.approx(0.08)
    assert (said["run"], said["subject"], len(said["trials"])) == ("one", "one", 12)
    assert said["command"].startswith("tradingbot power one --kappas 0,0.05,0.1 --repetitions 4")
    assert power_words(run, tmp_path) == said["answer"]
    assert run_command(["--workspace", str(tmp_path), "power", "one", *ladder]) == 0
    assert "would have been found with 80 % probability" in capsys.readouterr().out
    path = run.path / "power" / "power.json"
    path.write_text(path.read_text().replace('"kappa": 0.05', '"kappa": 0.01'))
    assert power_words(run, tmp_path) == ""  # edited since: not cited


def test_no_strength_leaves_prices_and_features_and_adds_a_covariate(config, tmp_path):
    plain = open_data(config, tmp_path)
    spiked = open_subject(config, tmp_path).spiked(kappa=0.0, phi=0.9, seed=1)

    np.testing.assert_array_equal(spiked.world.prices, plain.world.prices)
    assert spiked.world.feature_names[-1] == PLANTED_SIGNAL
    width = len(plain.world.feature_names)
    np.testing.assert_array_equal(spiked.world.features[..., :width], plain.world.features)
    assert spiked.split == plain.split
    assert spiked.identity.synthetic
    assert spiked.identity.label.startswith("synthetic signal in generated bars")


def test_a_strength_is_worth_more_the_greater_it_is(config, tmp_path):
    worth = worth_of(open_subject(config, tmp_path), strongest=0.4, phi=0.9)

    values = [worth(kappa) for kappa in (0.0, 0.05, 0.1, 0.2, 0.4)]
    assert values[0] == 0.0
    assert np.all(np.diff(values) > 0)
    assert values[4] > 2.0 * values[3]  # costs weigh less on what is stronger


def test_smaller_positions_are_worth_their_share(config, tmp_path):
    subject = open_subject(config, tmp_path)
    half = load_train_config("quick", {**MARKET, "task.rules.limits.max_position_frac": 0.5})
    smaller = replace(subject, config=half)

    whole, part = (worth_of(each, strongest=0.2, phi=0.9)(0.2) for each in (subject, smaller))

    assert whole > 0.0
    assert part == pytest.approx(0.5 * whole)


def test_pipeline_finds_a_signal_that_nothing_could_miss(tmp_path):
    """The known answer, on synthetic bars: κ = 1 is as strong as the noise."""
    options = {**MARKET, "market.start": "2024-06-03", "learner.direct.learning_rate.first": 0.02}
    subject = open_subject(load_train_config("quick", options), tmp_path)
    (spec, *_) = lay_out_trials(PowerSettings((0.9, 1.0), 2))

    strong = run_trial(subject, replace(spec, kappa=1.0), tmp_path)

    assert strong.is_found
    worth = worth_of(subject, strongest=1.0, phi=0.9)(1.0)
    assert 0.4 * worth < strong.alpha_bps.estimate < 1.3 * worth
