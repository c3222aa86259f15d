"""A run on its own bars, changed: features follow, the past stays, the scale is the run's."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from fixtures.tiny_training import tiny_config
from tradingbot.app.cli.application import run
from tradingbot.domain.errors import DataError, StorageError
from tradingbot.evaluation.analyses.counterfactual_data import CounterfactualData
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.analyses.past_comparison import compare_own_past, compare_past
from tradingbot.evaluation.analyses.stress.scenarios import gap
from tradingbot.features import panel as panel_module
from tradingbot.features.compute import compute_features
from tradingbot.features.panel import Panel
from tradingbot.training import data as training_data
from tradingbot.training.data import open_data


def same(subject: EvaluatedRun, cut: int) -> np.ndarray:
    return np.full(subject.data.whole.n_symbols, cut)


_ARRAYS = ("prices", "present", "features", "regimes", "probabilities", "usable")


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """Read of a run on a stored dataset, whose panel is not proved. Synthetic."""
    workspace: Path = tmp_path_factory.mktemp("stored")
    place = ["--workspace", str(workspace)]
    days = ["--start", "2025-06-10", "--end", "2025-10-01", "--universe", "prototype10"]
    assert run([*place, "data", "generate", "--name", "stored", "--market", "planted", *days]) == 0
    assert run([*place, "features", "build", "stored"]) == 0
    config = tiny_config(dataset="stored")

    def open_unproved(folder: Path) -> Panel:
        return Panel.open(folder, require_certificate=False)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training_data, "Panel", SimpleNamespace(open=open_unproved))
        data = open_data(config, workspace)
    return SimpleNamespace(config=config, data=data, workspace=workspace)


@pytest.mark.parametrize("kind", ["generated", "stored"])
def test_unchanged_bars_give_the_same_world_to_the_bit(
    kind: str, ppo_subject: EvaluatedRun, request: pytest.FixtureRequest
) -> None:
    subject = ppo_subject if kind == "generated" else request.getfixturevalue("stored")
    counterfactual = CounterfactualData(subject)
    world = counterfactual.world(
        counterfactual.bars, first_bar=subject.data.split.test.start, words="as it was"
    )
    for name in _ARRAYS:
        np.testing.assert_array_equal(
            getattr(world, name), getattr(subject.data.whole, name), err_msg=name
        )


@pytest.mark.parametrize("kind", ["generated", "stored"])
def test_features_follow_changed_bars_and_only_from_there_on(
    kind: str, ppo_subject: EvaluatedRun, request: pytest.FixtureRequest
) -> None:
    subject = ppo_subject if kind == "generated" else request.getfixturevalue("stored")
    at = subject.data.split.test.start + 9
    counterfactual = CounterfactualData(subject)
    world = counterfactual.world(
        gap(counterfactual.bars, at, move_frac=-0.3), first_bar=at, words="gap"
    )
    whole = subject.data.whole
    for name in _ARRAYS:
        np.testing.assert_array_equal(getattr(world, name)[:, :at], getattr(whole, name)[:, :at])
    moved = (world.features[:, at] != whole.features[:, at]).mean(axis=0)
    assert moved[whole.feature_names.index("return_1")] == 1.0
    assert moved.mean() > 0.5
    # The signal of the market is no function of bars: it stays.
    assert moved[whole.feature_names.index("signal")] == 0.0
    assert world.label.endswith("gap")


def test_change_before_the_bar_it_is_said_to_begin_at_is_refused(ppo_subject: EvaluatedRun) -> None:
    at = ppo_subject.data.split.test.start
    counterfactual = CounterfactualData(ppo_subject)
    with pytest.raises(DataError, match="must not move what lies before"):
        counterfactual.world(
            gap(counterfactual.bars, at, move_frac=-0.3), first_bar=at + 1, words="gap"
        )


def test_change_of_training_bars_would_move_the_scale_and_is_refused(
    ppo_subject: EvaluatedRun,
) -> None:
    at = ppo_subject.data.split.train.stop - 20
    counterfactual = CounterfactualData(ppo_subject)
    with pytest.raises(DataError, match="other features before"):
        counterfactual.world(
            gap(counterfactual.bars, at, move_frac=-0.3), first_bar=at, words="gap"
        )


@pytest.mark.parametrize("kind", ["generated", "stored"])
def test_another_future_moves_what_follows_and_nothing_before(
    kind: str, ppo_subject: EvaluatedRun, request: pytest.FixtureRequest
) -> None:
    subject = ppo_subject if kind == "generated" else request.getfixturevalue("stored")
    whole, cut = subject.data.whole, subject.data.split.test.start + 9

    other = CounterfactualData(subject).another_future(same(subject, cut), number=0)

    found = compare_past(whole, other, cut)
    assert found.features > 10_000
    assert (found.features_changed, found.offenders) == (0, ())
    # Bars that cannot be used show 0 everywhere: look at those that can.
    selected = other.usable[:, cut + 1] & whole.usable[:, cut + 1]
    moved = (other.features[selected, cut + 1] != whole.features[selected, cut + 1]).any(axis=0)
    assert moved[whole.feature_names.index("return_1")]
    assert moved[whole.feature_names.index("signal")]  # covariates have another future as well
    assert compare_past(whole, other, cut + 1).features_changed > 0


@pytest.mark.parametrize("kind", ["generated", "stored"])
def test_feature_of_the_next_bar_moves_before_another_future(
    kind: str,
    ppo_subject: EvaluatedRun,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    subject = ppo_subject if kind == "generated" else request.getfixturevalue("stored")
    cut = subject.data.split.test.start + 9

    def peek(*arguments: object, **options: object) -> dict[str, np.ndarray]:
        found = dict(compute_features(*arguments, **options))  # type: ignore[arg-type]
        found["atr_14"] = np.concatenate([found["atr_14"][1:], found["atr_14"][-1:]])
        return found

    monkeypatch.setattr(panel_module, "compute_features", peek)
    counterfactual = CounterfactualData(subject)
    last = subject.data.whole.n_bars - 1
    whole = counterfactual.another_future(same(subject, last), number=0)  # nothing changed
    other = counterfactual.another_future(same(subject, cut), number=0)

    found = compare_past(whole, other, cut)

    assert found.offenders == ("atr_14", "usable")
    assert compare_past(whole, other, cut - 1).offenders == ()


def test_each_symbol_has_another_kind_of_future_in_each_of_nine(ppo_subject: EvaluatedRun) -> None:
    cut, counterfactual = ppo_subject.data.split.test.start + 9, CounterfactualData(ppo_subject)

    vanished = [
        np.flatnonzero(
            ~counterfactual.another_future(same(ppo_subject, cut), number=number)
            .present[:, cut + 1 :]
            .any(axis=1)
        ).tolist()
        for number in range(9)
    ]

    # Symbol n gets kind number + n of nine, and the third of them leaves no bar ("flip" removes
    # those of a market without gaps as well: the fifth).
    assert vanished == [[n for n in range(10) if (number + n) % 9 in (2, 4)] for number in range(9)]


@pytest.mark.parametrize("kind", ["generated", "stored"])
def test_symbols_may_have_futures_that_begin_at_bars_of_their_own(
    kind: str, ppo_subject: EvaluatedRun, request: pytest.FixtureRequest
) -> None:
    subject = ppo_subject if kind == "generated" else request.getfixturevalue("stored")
    whole, counterfactual = subject.data.whole, CounterfactualData(subject)
    cuts = subject.data.split.test.start + 20 - np.arange(whole.n_symbols)

    for number in range(9):
        other = counterfactual.another_future(cuts, number=number)
        found = compare_own_past(whole, other, cuts, counterfactual.own_names)
        assert found.features > 45 * (whole.features.shape[2] + 1)
        assert (found.features_changed, found.offenders) == (0, ())
        assert (
            compare_own_past(whole, other, cuts + 1, counterfactual.own_names).features_changed > 0
        )


def test_what_is_made_of_several_symbols_is_not_one_of_theirs(ppo_subject: EvaluatedRun) -> None:
    own, whole = CounterfactualData(ppo_subject).own_names, ppo_subject.data.whole
    others = set(whole.feature_names + whole.regime_names) - own
    assert others == {"market_breadth", "volatility_index_proxy"}


def test_bars_that_are_gone_are_told(stored: SimpleNamespace, tmp_path: Path) -> None:
    workspace = Path(shutil.copytree(stored.workspace, tmp_path / "copy", symlinks=True))
    for file in (workspace / "datasets").rglob("*.parquet"):
        file.unlink()
    with pytest.raises(StorageError):
        CounterfactualData(SimpleNamespace(**(vars(stored) | {"workspace": workspace})))  # type: ignore[arg-type]


def test_policy_sees_what_was_changed(ppo_subject: EvaluatedRun) -> None:
    at = ppo_subject.data.split.test.start + 9
    counterfactual = CounterfactualData(ppo_subject)
    other = counterfactual.on(
        gap(counterfactual.bars, at, move_frac=-0.3), first_bar=at, words="gap"
    )
    before, after = ppo_subject.backtest("test").action, other.backtest("test").action
    decided = at - ppo_subject.bars("test").start
    np.testing.assert_array_equal(before[:decided], after[:decided])
    assert (before[decided] != after[decided]).all()
