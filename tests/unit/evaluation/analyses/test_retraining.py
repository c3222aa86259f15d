"""Trainings of a dossier: the run's own way, to the same bits, never looking ahead."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest
import torch

from fixtures.run_bits import ENCODED
from fixtures.tiny_training import tiny_config
from tradingbot.data.calendar import closing_day
from tradingbot.domain.errors import ConfigError, TrainingError
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.analyses.retraining import training as retraining
from tradingbot.evaluation.analyses.retraining.spec import (
    RetrainingResult,
    RetrainingSpec,
    retraining_config,
)
from tradingbot.evaluation.analyses.retraining.training import (
    _data_part,
    prepare_retraining,
    retrain,
)
from tradingbot.evaluation.analyses.settings import WalkForwardSettings
from tradingbot.evaluation.analyses.walk_forward import walk_forward_specs
from tradingbot.learning.learner import Metrics
from tradingbot.learning.pretraining.learner import Pretrainer
from tradingbot.learning.trainer import Trainer
from tradingbot.networks.embedding import weights_hash
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import override_config
from tradingbot.training.data import TrainingData, open_data
from tradingbot.training.setup import TrainingSetup, build_training_setup

SHORT = RetrainingSpec(seed=9, steps_share_frac=0.2)
WINDOW = RetrainingSpec(
    seed=9,
    steps_share_frac=0.2,
    last_days=("2025-08-15", "2025-09-05", "2025-09-19"),
    windows=(("2025-09-08", "2025-09-12"), ("2025-09-15", "2025-09-19")),
)


def train(
    order: RetrainingSpec, config: TrainConfig, data: TrainingData, workspace: Path
) -> RetrainingResult:
    return retrain(prepare_retraining(order, config, data, workspace))


def test_training_of_the_runs_seed_and_budget_is_the_run(
    subject: EvaluatedRun, tmp_path: Path
) -> None:
    order = RetrainingSpec(seed=subject.run.record.seeds["root"], steps_share_frac=1.0)

    trained = train(order, subject.config, subject.data, tmp_path)

    for part in ("validation", "test"):
        played = subject.backtest(part)  # type: ignore[arg-type]
        np.testing.assert_allclose(trained.part(part).portfolio, played.portfolio, rtol=1e-6)
    assert trained.steps_per_agent == subject.config.budget.steps_per_agent


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[TrainConfig]:
    """Configurations whose data were opened."""
    seen: list[TrainConfig] = []

    def noted(config: TrainConfig, workspace: Path) -> TrainingData:
        seen.append(config)
        return open_data(config, workspace)

    monkeypatch.setattr(retraining, "open_data", noted)
    return seen


def test_equal_orders_give_the_same_and_another_seed_another(
    subject: EvaluatedRun, tmp_path: Path, opened: list[TrainConfig]
) -> None:
    shortest = replace(SHORT, steps_share_frac=0.05)
    first, again, other = (
        train(order, subject.config, subject.data, tmp_path)
        for order in (shortest, shortest, replace(shortest, seed=10))
    )

    assert first == again
    assert first.part("test").portfolio != other.part("test").portfolio
    assert not opened  # they learn from what the run learned from


def test_windows_are_traded_by_agents_that_learned_before_them(
    subject: EvaluatedRun, tmp_path: Path, opened: list[TrainConfig]
) -> None:
    trained = train(WINDOW, subject.config, subject.data, tmp_path)

    assert trained.trained_until <= "2025-09-05"
    assert len(opened) == 1  # the scaler is fitted anew
    assert [(part.first_day, part.last_day) for part in trained.parts][1] == (
        "2025-09-15",
        "2025-09-19",
    )
    assert trained.parts[0].first_day >= "2025-09-08"
    assert all(part.portfolio[0] == 1.0 for part in trained.parts)


def test_window_after_validation_begins_where_the_embargo_ends(
    subject: EvaluatedRun, tmp_path: Path
) -> None:
    prepared = prepare_retraining(WINDOW, subject.config, subject.data, tmp_path)

    split, closed_at = prepared.data.split, prepared.data.world.closed_at
    days = closing_day(closed_at.astype("datetime64[us]"))
    (_, first), (_, second) = prepared.periods
    first_of_day = [
        int(np.searchsorted(days, np.datetime64(day))) for day in ("2025-09-08", "2025-09-15")
    ]
    boundary = split.validation.stop + split.gap.purge_bars
    assert first_of_day[0] == boundary  # the window's first bars are the embargo
    assert first.start == boundary + split.gap.embargo_bars > boundary
    assert second.start == first_of_day[1]


def test_windows_are_laid_over_the_days_that_the_run_may_learn_from(subject: EvaluatedRun) -> None:
    settings = WalkForwardSettings(8, 8, first_share_frac=0.5)
    first_day = date(2025, 7, 25)
    by_day = {
        "splits.by": "date",
        "splits.train_from": first_day,
        "splits.train": date(2025, 8, 29),
        "splits.validation": date(2025, 9, 15),
        "splits.test": date(2025, 9, 30),
    }
    config = override_config(subject.config, by_day)
    late = replace(subject, config=config, data=open_data(config, subject.workspace))

    early, orders = walk_forward_specs(subject, settings), walk_forward_specs(late, settings)

    def first_train_day(order: RetrainingSpec) -> str:
        assert order.last_days is not None
        return order.last_days[0]

    assert first_train_day(early[0]) < str(first_day)  # nothing would be left to learn from
    assert first_train_day(orders[0]) > str(first_day)
    assert orders[0].windows[0][0] > early[0].windows[0][0]


def with_another_future(data: TrainingData, after: int | None = None) -> TrainingData:
    """Turn every rise after a bar, or after validation, into a fall, and every feature around."""
    world, after = data.world, after or data.split.validation.stop
    prices, features = world.prices.copy(), world.features.copy()
    last = prices[:, [after - 1], 3:4]
    opened, high, low, close = np.moveaxis(last**2 / prices[:, after:, :4], -1, 0)
    prices[:, after:, :4] = np.stack([opened, low, high, close], axis=-1)
    features[:, after:] *= -1.0
    return replace(data, world=replace(world, prices=prices, features=features))


def test_weights_are_the_same_whatever_follows_validation(
    subject: EvaluatedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learned: list[TrainingSetup] = []

    def noted(config: TrainConfig, data: TrainingData, *, seed: int) -> TrainingSetup:
        learned.append(build_training_setup(config, data, seed=seed))
        return learned[-1]

    def changed_data(config: TrainConfig, workspace: Path) -> TrainingData:
        return with_another_future(open_data(config, workspace))

    monkeypatch.setattr(retraining, "build_training_setup", noted)
    as_it_was = train(WINDOW, subject.config, subject.data, tmp_path)
    monkeypatch.setattr(retraining, "open_data", changed_data)
    otherwise = train(WINDOW, subject.config, subject.data, tmp_path)

    assert as_it_was.parts != otherwise.parts  # what follows did change
    first, second = (
        {k: n.state_dict() for k, n in each.learner.networks().items()} for each in learned
    )
    for name, weights in first.items():
        for key, tensor in weights.items():
            assert torch.equal(tensor, second[name][key]), f"{name}.{key}"


def test_encoder_is_pretrained_anew_on_the_training_bars_of_the_window_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, learned = tiny_config(**(ENCODED | {"encoder__preset": "skip"})), list[TrainingSetup]()
    data = open_data(config, tmp_path)

    def noted(config: TrainConfig, data: TrainingData, *, seed: int) -> TrainingSetup:
        learned.append(build_training_setup(config, data, seed=seed))
        return learned[-1]

    def changed_data(config: TrainConfig, workspace: Path) -> TrainingData:
        opened = open_data(config, workspace)
        return with_another_future(opened, opened.split.train.stop)

    monkeypatch.setattr(retraining, "build_training_setup", noted)
    train(SHORT, config, data, tmp_path)
    train(WINDOW, config, data, tmp_path)
    monkeypatch.setattr(retraining, "open_data", changed_data)
    train(WINDOW, config, data, tmp_path)

    of_run, of_window, with_other_bars_after = (each.frozen.state_dict() for each in learned)
    for name, weights in of_window.items():
        assert not torch.equal(weights, of_run[name]), name  # equal seeds, other training bars
        assert torch.equal(weights, with_other_bars_after[name]), name


def test_pretraining_that_trainings_have_in_common_is_made_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, learned = tiny_config(**(ENCODED | {"encoder__preset": "skip"})), list[TrainingSetup]()
    data, updates = open_data(config, tmp_path), list[int]()
    variant = replace(SHORT, changes=(("learner.direct.actor.pooling", "independent"),))
    other_seed = replace(variant, seed=10)
    update = Pretrainer.update

    def counted(self: Pretrainer) -> Metrics:
        updates[-1] += 1
        return update(self)

    def noted(config: TrainConfig, data: TrainingData, *, seed: int) -> TrainingSetup:
        learned.append(build_training_setup(config, data, seed=seed))
        updates.append(0)
        return learned[-1]

    monkeypatch.setattr(Pretrainer, "update", counted)
    monkeypatch.setattr(retraining, "build_training_setup", noted)
    alone = train(variant, config, data, tmp_path)
    _, shared, other = (
        retrain(prepare_retraining(order, config, data, tmp_path), shared=tmp_path)
        for order in (SHORT, variant, other_seed)
    )

    assert updates == [5, 5, 0, 5]
    assert shared == alone
    assert other != alone
    of_alone, _, of_shared, _ = (setup.frozen for setup in learned)
    assert weights_hash(of_shared) == weights_hash(of_alone)
    assert of_shared.training == of_alone.training


def test_training_without_the_model_does_not_see_its_probabilities(
    subject: EvaluatedRun, tmp_path: Path, opened: list[TrainConfig]
) -> None:
    shortest = replace(SHORT, steps_share_frac=0.05)
    without = replace(shortest, changes=(("task.probabilities", "none"),))
    world = subject.data.world
    chances = np.full_like(world.probabilities, 0.1)
    chances[..., 2] = np.where(world.features[..., 0] > 0.0, 0.8, 0.2)
    joined = replace(subject.data, world=replace(world, probabilities=chances))
    with_model = override_config(subject.config, {"task.probabilities": "trees"})

    plain = train(shortest, subject.config, subject.data, tmp_path)
    shown = train(shortest, with_model, joined, tmp_path)
    ablated = train(without, with_model, joined, tmp_path)

    assert shown.parts != plain.parts  # the model matters here
    assert ablated.parts == plain.parts
    assert [each.task.probabilities for each in opened] == ["none"]


def test_training_that_is_halted_stays_out_and_says_why(
    subject: EvaluatedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def halt(_: Trainer) -> None:
        raise TrainingError("training must stay healthy", was="a collapse")

    monkeypatch.setattr(Trainer, "run", halt)

    trained = train(SHORT, subject.config, subject.data, tmp_path)

    assert "a collapse" in trained.failed
    assert trained.trading_agents == 0
    assert set(trained.part("test").portfolio) == {1.0}
    assert trained.part("test").net_bps_per_bar == 0.0


def test_budget_schedules_and_evaluations_shrink_together() -> None:
    config = tiny_config()

    short = retraining_config(SHORT, config)

    assert (config.budget.steps_per_agent, short.budget.steps_per_agent) == (96, 24)
    assert (config.learner.direct.learning_rate.over, short.learner.direct.learning_rate.over) == (
        96,
        24,
    )
    assert short.validation.every_updates == 1
    assert short.seed == 9


def test_whole_budget_changes_nothing_but_the_seed() -> None:
    config = tiny_config()

    same = retraining_config(RetrainingSpec(seed=5, steps_share_frac=1.0), config)

    assert same.as_mapping() == config.as_mapping()


def test_change_that_does_not_fit_is_refused() -> None:
    order = replace(SHORT, changes=(("learner.direct.actor.pooling", "none"),))

    with pytest.raises(ConfigError, match="pooling"):
        retraining_config(order, tiny_config())


@pytest.mark.parametrize(
    "change",
    [
        {"features": "relative"},
        {"task.probabilities": "trees"},
        {"validation.factor": "none"},
        {"symbols": ["SPY"]},
    ],
)
def test_data_are_opened_anew_where_an_order_changes_them(change: dict[str, object]) -> None:
    base = tiny_config()

    assert _data_part(override_config(base, change)) != _data_part(base)
