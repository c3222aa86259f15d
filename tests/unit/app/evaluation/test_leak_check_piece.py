"""A policy or a feature that looks one bar ahead is caught; one that does not is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from torch import Tensor

from tradingbot.agents.policy import Seen
from tradingbot.app.evaluation import leak_check_piece
from tradingbot.app.evaluation import subject as subject_module
from tradingbot.app.evaluation.leak_check_piece import (
    Compared,
    LeakCheckSettings,
    compare_replays,
    measure_leak_check,
    with_other_future,
)
from tradingbot.app.evaluation.performance_piece import PerformanceSettings, measure_performance
from tradingbot.app.evaluation.piece import Given
from tradingbot.app.evaluation.subject import Subject
from tradingbot.app.training.data import TrainingData, open_data
from tradingbot.domain.errors import StorageError
from tradingbot.envs.world import World
from tradingbot.evaluation.dossier.evidence import LeakCheck
from tradingbot.features import panel as panel_module
from tradingbot.features.compute import compute_features


@dataclass(frozen=True, eq=False)
class Looking:
    """Wants a position where the first feature is above 0, so many bars from now."""

    world: World
    ahead: int

    def __call__(self, seen: Seen) -> Tensor:
        features = torch.from_numpy(np.array(self.world.features[..., 0])).reshape(-1)
        row = (seen.row + self.ahead).clamp(max=len(features) - 1)
        return (features[row] > 0.0).to(seen.private.dtype)


def looking(subject: Subject, ahead: int, monkeypatch: pytest.MonkeyPatch) -> Subject:
    def open_policy(_run: object, data: TrainingData, **_: object) -> Looking:
        return Looking(data.world, ahead)

    monkeypatch.setattr(subject_module, "open_policy", open_policy)
    return replace(subject, policy=Looking(subject.data.world, ahead))


def plant_leak(subject: Subject, name: str, monkeypatch: pytest.MonkeyPatch) -> Subject:
    """Have a registered feature computed one bar too early, and the run opened on such data."""

    def peek(*arguments: object, **options: object) -> Mapping[str, np.ndarray]:
        found = dict(compute_features(*arguments, **options))  # type: ignore[arg-type]
        if name in found:
            found[name] = np.concatenate([found[name][1:], found[name][-1:]])
        return found

    monkeypatch.setattr(panel_module, "compute_features", peek)
    return subject.with_world(open_data(subject.config, subject.workspace))


def test_trained_policy_does_not_depend_on_the_future(subject: Subject) -> None:
    found = compare_replays(Given(subject), cuts=3)

    test, world = subject.bars("test"), subject.data.whole
    columns = world.features.shape[2] + world.regimes.shape[2] + 3 + 1
    cuts = [test.start + int(share * (len(test) - 2)) for share in (1 / 3, 2 / 3, 1)]
    assert found.features == sum(cut + 1 for cut in cuts) * world.n_symbols * columns
    n_agents = len(subject.data.world.symbols)
    assert found.actions == sum(cut + 1 - test.start for cut in cuts) * n_agents
    assert found == Compared(actions=found.actions, features=found.features)
    assert found.words() == ()


def test_encoder_and_policy_together_do_not_depend_on_the_future(ppo_subject: Subject) -> None:
    found = compare_replays(Given(ppo_subject), cuts=1)

    assert found.actions > 0 < found.features
    assert (found.actions_changed, found.features_changed) == (0, 0)


@pytest.mark.parametrize(("ahead", "is_caught"), [(0, False), (1, True)])
def test_policy_is_caught_if_and_only_if_it_looks_ahead(
    subject: Subject, ahead: int, is_caught: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = compare_replays(Given(looking(subject, ahead, monkeypatch)), cuts=6)

    assert bool(found.actions_changed) == is_caught
    assert found.features_changed == 0


@pytest.mark.parametrize("name", ["return_1", "trend_regime"])
def test_feature_that_looks_one_bar_ahead_is_suspicious_and_named(
    subject: Subject, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    leaking = plant_leak(subject, name, monkeypatch)

    found = compare_replays(Given(leaking), cuts=4)

    assert found.features_changed >= 4 * subject.data.whole.n_symbols  # four cuts
    assert found.offenders == (name, "usable")
    assert f"{found.features_changed:,} of {found.features:,} feature values" in found.words()[0]
    assert name in found.words()[0]


def test_leaking_feature_moves_actions_and_the_record_says_so(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measured(of: Subject) -> LeakCheck:
        performance = measure_performance(Given(of), PerformanceSettings(draws=100))
        given = Given(of, results={"performance": performance})
        return measure_leak_check(given, LeakCheckSettings(cuts=2, most_delay_bars=0))

    clean = measured(subject)
    leak = measured(looking(plant_leak(subject, "open", monkeypatch), 0, monkeypatch))

    assert clean.is_clean
    assert clean.features_compared > 10_000
    assert clean.features_changed == clean.actions_changed == 0
    assert not leak.is_clean
    assert leak.features_compared == clean.features_compared
    assert leak.features_changed > 0 < leak.actions_changed
    assert "feature values depend on bars" in leak.words[0]
    assert "actions depend on bars" in leak.words[1]


def test_other_future_changes_everything_later_and_nothing_before(subject: Subject) -> None:
    world = subject.data.world
    cut = world.n_bars // 2

    other = with_other_future(world, cut)

    for name in ("prices", "features", "regimes", "probabilities", "present", "usable"):
        before, after = getattr(world, name), getattr(other, name)
        np.testing.assert_array_equal(before[:, : cut + 1], after[:, : cut + 1])
    assert (other.prices[:, cut + 1 :, 3] != world.prices[:, cut + 1 :, 3]).mean() > 0.99
    assert (other.features[:, cut + 1] != world.features[:, cut + 1]).mean() > 0.5


def test_run_whose_bars_are_gone_is_replayed_without_comparing_features(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(_: Subject) -> None:
        raise StorageError("bars must be there", was="none")

    monkeypatch.setattr(leak_check_piece, "Remaker", gone)

    found = compare_replays(Given(subject), cuts=2)

    assert found.actions > 0
    assert found.features == found.features_changed == found.actions_changed == 0
