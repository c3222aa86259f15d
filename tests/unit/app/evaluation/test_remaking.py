"""A run on its own bars, changed: features follow, the past stays, the scale is the run's."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from fixtures.tiny_training import tiny_config
from tradingbot.app.cli.application import run
from tradingbot.app.evaluation.leak_check_piece import compare_past
from tradingbot.app.evaluation.remaking import Remaker
from tradingbot.app.evaluation.subject import Subject
from tradingbot.app.training import data as training_data
from tradingbot.app.training.data import open_data
from tradingbot.domain.errors import DataError
from tradingbot.evaluation.stress import gap
from tradingbot.features import panel as panel_module
from tradingbot.features.compute import compute_features
from tradingbot.features.panel import Panel

_ARRAYS = ("prices", "present", "features", "regimes", "probabilities", "usable")


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """What a remaker reads of a run on a stored dataset, whose panel nobody proved. Synthetic."""
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
    kind: str, ppo_subject: Subject, request: pytest.FixtureRequest
) -> None:
    subject = ppo_subject if kind == "generated" else request.getfixturevalue("stored")
    remaker = Remaker(subject)
    world = remaker.world(remaker.bars, first_bar=subject.data.split.test.start, words="as it was")
    for name in _ARRAYS:
        np.testing.assert_array_equal(
            getattr(world, name), getattr(subject.data.whole, name), err_msg=name
        )


@pytest.mark.parametrize("kind", ["generated", "stored"])
def test_features_follow_changed_bars_and_only_from_there_on(
    kind: str, ppo_subject: Subject, request: pytest.FixtureRequest
) -> None:
    subject = ppo_subject if kind == "generated" else request.getfixturevalue("stored")
    at = subject.data.split.test.start + 9
    remaker = Remaker(subject)
    world = remaker.world(gap(remaker.bars, at, move_frac=-0.3), first_bar=at, words="gap")
    whole = subject.data.whole
    for name in _ARRAYS:
        np.testing.assert_array_equal(getattr(world, name)[:, :at], getattr(whole, name)[:, :at])
    moved = (world.features[:, at] != whole.features[:, at]).mean(axis=0)
    assert moved[whole.feature_names.index("return_1")] == 1.0
    assert moved.mean() > 0.5
    # The signal of the market is no function of bars: it stays.
    assert moved[whole.feature_names.index("signal")] == 0.0
    assert world.label.endswith("gap")


def test_change_before_the_bar_it_is_said_to_begin_at_is_refused(ppo_subject: Subject) -> None:
    at = ppo_subject.data.split.test.start
    remaker = Remaker(ppo_subject)
    with pytest.raises(DataError, match="must not move what lies before"):
        remaker.world(gap(remaker.bars, at, move_frac=-0.3), first_bar=at + 1, words="gap")


def test_change_of_training_bars_would_move_the_scale_and_is_refused(ppo_subject: Subject) -> None:
    at = ppo_subject.data.split.train.stop - 20
    remaker = Remaker(ppo_subject)
    with pytest.raises(DataError, match="other features before"):
        remaker.world(gap(remaker.bars, at, move_frac=-0.3), first_bar=at, words="gap")


@pytest.mark.parametrize("kind", ["generated", "stored"])
def test_another_future_moves_what_follows_and_nothing_before(
    kind: str, ppo_subject: Subject, request: pytest.FixtureRequest
) -> None:
    subject = ppo_subject if kind == "generated" else request.getfixturevalue("stored")
    whole, cut = subject.data.whole, subject.data.split.test.start + 9

    other = Remaker(subject).another_future(cut, number=0)

    found = compare_past(whole, other, cut)
    assert found.features > 10_000
    assert (found.features_changed, found.offenders) == (0, ())
    # Bars that cannot be used show 0 everywhere: look at those that can.
    kept = other.usable[:, cut + 1] & whole.usable[:, cut + 1]
    moved = (other.features[kept, cut + 1] != whole.features[kept, cut + 1]).any(axis=0)
    assert moved[whole.feature_names.index("return_1")]
    assert moved[whole.feature_names.index("signal")]  # covariates have another future as well
    assert compare_past(whole, other, cut + 1).features_changed > 0


@pytest.mark.parametrize("kind", ["generated", "stored"])
def test_feature_of_the_next_bar_moves_before_another_future(
    kind: str,
    ppo_subject: Subject,
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
    remaker = Remaker(subject)
    whole = remaker.another_future(subject.data.whole.n_bars - 1, number=0)  # nothing changed

    found = compare_past(whole, remaker.another_future(cut, number=0), cut)

    assert found.offenders == ("atr_14", "usable")
    assert compare_past(whole, remaker.another_future(cut, number=0), cut - 1).offenders == ()


def test_policy_sees_what_was_changed(ppo_subject: Subject) -> None:
    at = ppo_subject.data.split.test.start + 9
    remaker = Remaker(ppo_subject)
    other = remaker.on(gap(remaker.bars, at, move_frac=-0.3), first_bar=at, words="gap")
    before, after = ppo_subject.backtest("test").action, other.backtest("test").action
    decided = at - ppo_subject.bars("test").start
    np.testing.assert_array_equal(before[:decided], after[:decided])
    assert (before[decided] != after[decided]).all()
