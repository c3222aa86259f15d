"""A served model: streams, windows, batches agree; backtest and session decide alike."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from fixtures.served_runs import SYMBOLS, make_served_run, raw_bars
from tradingbot.agents.policy import PolicyInputs
from tradingbot.domain.errors import ConfigError, StorageError, TradingError
from tradingbot.networks.actor_layout import Squash
from tradingbot.runs import acting
from tradingbot.runs.policy import load_policy
from tradingbot.serving.export.run_export import ExportedRun, export_run
from tradingbot.serving.served_model import ServedModel
from tradingbot.serving.table_policy import ServedPolicy

N = len(SYMBOLS)
ALL = np.ones(N, bool)


@pytest.fixture(scope="module")
def model(exported: ExportedRun) -> ServedModel:
    return ServedModel.open(exported.path)


def private_numbers(seed: int, count: int = N) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(18, count))


def test_model_says_what_it_is(model: ServedModel, exported: ExportedRun) -> None:
    assert model.symbols == SYMBOLS
    assert model.sha256 == exported.sha256
    assert len(model.feature_ids) == 7
    assert model.lookback_bars == 9
    assert model.manifest.verdict.status == "GO"
    assert model.manifest.session_limits["min_confidence"] == 0.6
    assert model.manifest.periods["test"].bars == 580
    assert model.check().largest_difference == 0.0


def test_stream_begun_in_the_middle_is_warm_after_the_lookback(model: ServedModel) -> None:
    bars = raw_bars(30)
    early, late = model.live(), model.live()
    for bar, features in enumerate(bars):
        early.take(features, ALL)
        if bar >= 10:
            late.take(features, ALL)
            assert late.is_warm == (bar >= 10 + 8)
            answers = [live.act(private_numbers(bar)) for live in (early, late)]
            same = np.array_equal(answers[0].output, answers[1].output)
            assert same or not late.is_warm
    assert not np.array_equal(*[_output_after(model, bars[-n:]) for n in (3, 9)])


def _output_after(model: ServedModel, bars: np.ndarray) -> np.ndarray:
    live = model.live()
    for features in bars:
        live.take(features, ALL)
    return live.act(private_numbers(0)).output


def test_window_is_the_stream_and_batches_are_rows(model: ServedModel) -> None:
    bars = raw_bars(12)
    rows = np.stack([model.scale(features, ALL)[0] for features in bars], axis=1)
    live = model.live()
    for bar in range(rows.shape[1]):
        live.take_row(np.ascontiguousarray(rows[:, bar]))
    window = np.ascontiguousarray(rows[:, -9:])
    embedding = model.embed_windows(window)
    one = model.embed_windows(window[1:2])
    agents = np.array([1, 0, 1, 2, 1])
    private = private_numbers(4, 5)

    many = model.decide(agents, embedding[agents], private)
    single = model.decide(agents[2:3], one, private[:, 2:3])

    np.testing.assert_allclose(one[0], embedding[1], atol=1e-5)
    np.testing.assert_allclose(many.output[2], single.output[0], atol=1e-5)
    streamed = live.act(private_numbers(9))
    by_window = model.decide(np.arange(3), embedding, private_numbers(9))
    np.testing.assert_allclose(streamed.action, by_window.action, atol=1e-5)


def test_backtest_of_a_bundle_decides_by_the_sessions_bits(model: ServedModel) -> None:
    bars = raw_bars(25)
    present = np.random.default_rng(1).random((25, N)) > 0.1
    rows = [model.scale(features, there)[0] for features, there in zip(bars, present, strict=True)]
    table = torch.from_numpy(np.stack(rows, axis=1))
    policy, live = ServedPolicy(model, table, first_bar=5), model.live()
    for bar in range(25):
        live.take(bars[bar], present[bar])
        if bar < 5:
            continue
        private = private_numbers(bar)
        row = torch.arange(N) * 20 + bar - 5
        nothing = torch.empty(N, 0)
        seen = PolicyInputs(row, nothing, nothing, torch.from_numpy(private))
        assert np.array_equal(policy(seen).numpy(), live.act(private).action)


def test_undefined_numbers_are_zeros_as_in_a_table(model: ServedModel) -> None:
    features = raw_bars(1)[0]
    features[0, 2], features[2, 6] = np.nan, np.inf
    rows, valid = model.scale(features, np.array([True, False, True]))

    assert valid.tolist() == [False, False, False]
    assert not rows[:, :6].any()  # scaled features of rows that are not valid
    assert rows[2, 6] == 0.0
    assert rows[0, 6] == np.clip(features[0, 6], -1.0, 1.0)
    np.testing.assert_array_equal(rows[:, 7:], np.float32(1 / 3))
    assert model.scale(np.full((3, 7), 1e38), ALL)[0].max() <= 10.0


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        (
            lambda model: model.live().take(np.zeros((2, 7)), ALL),
            r"features must have shape \(3, 7\)",
        ),
        (lambda model: model.live().take(np.zeros((3, 6)), ALL), r"features must have shape"),
        (lambda model: model.live().take(np.zeros((3, 7)), ALL[:2]), "present must have shape"),
        (lambda model: model.live().act(private_numbers(0)), "a bar must be taken before"),
        (
            lambda model: model.embed_windows(np.zeros((1, 8, 10), np.float32)),
            "must have its shapes",
        ),
        (
            lambda model: model.decide(
                np.arange(3), np.zeros((3, 16), np.float32), np.zeros((17, 3))
            ),
            "private numbers must have shape",
        ),
    ],
)
def test_inputs_of_other_shapes_are_refused(model: ServedModel, call, rule: str) -> None:
    with pytest.raises(ConfigError, match=rule):
        call(model)


def test_S07_answer_that_is_not_finite_is_an_error(model: ServedModel) -> None:
    private = private_numbers(0)
    private[3, 1] = np.nan

    with pytest.raises(TradingError, match="finite numbers, was BBB"):
        model.decide(np.arange(3), np.zeros((3, 16), np.float32), private)


@pytest.mark.parametrize("name", ["embed_windows", "stream"])
@pytest.mark.parametrize("wrong", [1e-3, np.nan])
def test_S10_golden_vectors_compare_every_graph_and_no_nan_passes(
    exported: ExportedRun, monkeypatch: pytest.MonkeyPatch, name: str, wrong: float
) -> None:
    model = ServedModel.open(exported.path)
    right = getattr(model, name)

    def answer(*given: object) -> object:
        found = right(*given)
        return (found[0], found[1] + wrong) if name == "stream" else found + wrong

    monkeypatch.setattr(model, name, answer)
    with pytest.raises((StorageError, TradingError), match=r"difference of|finite"):
        model.check()


def test_agents_that_do_not_trade_want_nothing(tmp_path: Path) -> None:
    run = make_served_run(tmp_path, encoder=None, trades=torch.tensor([True, False, True]))
    model = ServedModel.open(export_run(run, tmp_path / "x.zip", n_hostile=50).path)
    live = model.live()
    live.take(raw_bars(1)[0], ALL)

    actions = live.act(private_numbers(0)).action

    assert actions[1] == 0.0
    assert actions[[0, 2]].all()


def test_goal_is_seen_as_in_training(tmp_path: Path) -> None:
    goal = acting.GoalRecord(
        return_frac=0.02, drawdown_frac=0.05, return_unit_frac=0.03, drawdown_unit_frac=0.05
    )
    run = make_served_run(tmp_path, encoder=None, goal=goal)
    model = ServedModel.open(export_run(run, tmp_path / "x.zip", n_hostile=60).path)
    theirs, ours = load_policy(run).live(), model.live()
    private = private_numbers(2)
    row, _ = model.scale(raw_bars(1)[0], ALL)
    theirs.take(torch.from_numpy(row))
    ours.take_row(row)

    wanted = theirs.act(torch.from_numpy(private)).numpy()

    np.testing.assert_allclose(ours.act(private).action, wanted, atol=1e-6)


def test_confidence_is_what_its_kind_says(tmp_path: Path) -> None:
    kinds = {
        "probability_of_code": (None, 7),
        "distance_from_middle": (Squash("sigmoid"), 1),
        "probability_of_side": (Squash("tanh", low=-1.0), 2),
    }
    allowed = np.ones((7, N), bool)
    allowed[3:] = False
    for kind, (squash, n_outputs) in kinds.items():
        run = make_served_run(tmp_path, kind, encoder=None, squash=squash, n_outputs=n_outputs)
        model = ServedModel.open(export_run(run, tmp_path / f"{kind}.zip", n_hostile=50).path)
        live = model.live()
        live.take(raw_bars(1)[0], ALL)
        answer = live.act(private_numbers(1), allowed)
        out = torch.from_numpy(answer.output).double()
        if kind == "probability_of_code":
            wanted = torch.softmax(out[:, :3], -1).max(-1).values
            with pytest.raises(ConfigError, match="told which are allowed"):
                live.act(private_numbers(1))
        elif kind == "distance_from_middle":
            share = torch.sigmoid(out[:, 0])
            wanted = torch.maximum(share, 1 - share)
        else:
            deviation = torch.exp(-5.0 + 3.5 * (torch.tanh(out[:, 1]) + 1.0))
            wanted = torch.distributions.Normal(0.0, 1.0).cdf(out[:, 0].abs() / deviation)
        assert model.manifest.confidence == kind
        np.testing.assert_allclose(answer.confidence, wanted.numpy(), atol=1e-6)


def test_serving_imports_neither_torch_nor_what_learns(exported: ExportedRun) -> None:
    code = f"""
import sys
from pathlib import Path
import numpy as np
from tradingbot.serving.served_model import ServedModel
from tradingbot.serving.registry import ModelRegistry
live = ServedModel.open(Path({str(exported.path)!r})).live()
live.take(np.zeros((3, 7)), np.ones(3, bool))
live.act(np.zeros((18, 3)))
rooms = {{name.split(".")[1] for name in sys.modules if name.startswith("tradingbot.")}}
print(sorted(rooms & {{"learning", "training", "envs", "evaluation", "app", "agents", "networks"}}))
print([name for name in ("torch", "typer", "gymnasium", "onnxscript") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == ["[]", "[]"]
