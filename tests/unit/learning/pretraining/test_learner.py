"""The pre-trainer learns what can be learned, peeks at nothing, and resumes bit for bit."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.learning.generators import make_generator
from tradingbot.learning.pretraining.config import AuxiliaryWeights, PretrainingConfig
from tradingbot.learning.pretraining.learner import Pretrainer
from tradingbot.learning.pretraining.targets import AuxiliaryTarget
from tradingbot.networks.embedding import weights_hash
from tradingbot.networks.encoders.catalogue import EncoderConfig, build_encoder
from tradingbot.networks.encoders.encoder import Encoder

PAGE = Path(__file__).resolve().parents[4] / "docs" / "algorithms" / "pretraining.md"
N_SERIES, N_BARS, TRAIN_BARS = 4, 400, 320
WEIGHTS = AuxiliaryWeights(volatility=0.0, volume_class=0.0, expert_action=0.0)
CONFIG = PretrainingConfig(
    weights=WEIGHTS,
    updates=60,
    segments=8,
    segment_bars=64,
    learning_rate=1e-2,
    warm_up_updates=5,
    evaluate_every=10,
)


def encoder(seed: int = 0, kind: str = "mlp") -> Encoder:
    config = EncoderConfig(kind=kind, n_layers=2, width=16, n_heads=2, lookback_bars=6)  # type: ignore[arg-type]
    return build_encoder(config, 3, make_generator(seed, "encoder"))


def problem() -> tuple[Tensor, dict[str, AuxiliaryTarget]]:
    """The number to tell is the mean of the last four rows; the class is its sign."""
    generator = torch.Generator().manual_seed(5)
    table = torch.randn(N_SERIES, N_BARS, 3, generator=generator)
    column = table[..., 0]
    mean = torch.stack([column.roll(k, 1) for k in range(4)]).mean(0)
    valid = torch.zeros(N_SERIES, N_BARS, dtype=torch.bool)
    valid[:, 8:TRAIN_BARS] = True
    return table, {
        "next_return": AuxiliaryTarget(mean, valid, 1),
        "regime": AuxiliaryTarget((mean > 0).long(), valid, 3, n_classes=2),
    }


def made(config: PretrainingConfig = CONFIG, seed: int = 0) -> Pretrainer:
    table, targets = problem()
    return Pretrainer(encoder(seed), table, targets, config, seed=seed)


@pytest.mark.parametrize("kind", ["mlp", "transformer"])
def test_tasks_that_need_memory_are_learned_out_of_sample(kind: str) -> None:
    table, targets = problem()
    pretrainer = Pretrainer(encoder(kind=kind), table, targets, CONFIG, seed=0)

    pretrainer.complete()
    metrics = pretrainer.evaluate()

    assert metrics["pretrain/held_out/next_return/skill_low"] > 0.8
    assert metrics["pretrain/held_out/next_return/correlation_low"] > 0.9
    assert metrics["pretrain/held_out/regime/accuracy_low"] > 0.85
    assert metrics["pretrain/held_out/regime/base_accuracy"] < 0.6


def test_task_with_weight_zero_is_not_computed() -> None:
    config = replace(CONFIG, weights=replace(WEIGHTS, regime=0.0))

    names = made(config).update()

    assert "pretrain/train/next_return/loss" in names
    assert not any("regime" in name for name in names)


def test_task_with_a_weight_but_no_targets_is_refused() -> None:
    with pytest.raises(ConfigError, match="none for volatility"):
        made(replace(CONFIG, weights=replace(WEIGHTS, volatility=0.1)))


def test_resumed_run_ends_with_the_same_bits() -> None:
    config = replace(CONFIG, input_noise=0.1)
    straight = made(config)
    for _ in range(17):
        straight.update()
    kept = straight.state()
    expected = straight.complete()

    resumed = made(config, seed=3)
    resumed.load_state(kept)

    assert resumed.updates == 17
    assert resumed.complete() == expected
    end, other = straight.state(), resumed.state()
    assert all(torch.equal(end[name], other[name]) for name in end)


def test_state_does_not_change_while_training_goes_on() -> None:
    pretrainer = made()
    pretrainer.update()
    kept = pretrainer.state()
    before = {name: tensor.clone() for name, tensor in kept.items()}
    pretrainer.update()

    assert all(torch.equal(kept[name], before[name]) for name in kept)


def test_state_of_another_size_is_refused() -> None:
    state = made().state()
    state.pop("stale_looks")

    with pytest.raises(ConfigError, match="stale_looks"):
        made().load_state(state)


def test_same_seed_gives_the_same_hash_and_another_seed_another() -> None:
    config = replace(CONFIG, updates=12)

    first, again, other = made(config), made(config), made(config, seed=1)

    assert first.complete() == again.complete() != other.complete()
    assert first.take_best() == weights_hash(first.encoder)


def test_held_out_bars_are_never_learned_from() -> None:
    config = replace(CONFIG, evaluate_every=1_000, updates=1_001)
    table, targets = problem()
    boundary = Pretrainer(encoder(), table, targets, config, seed=0).period.held_out
    other_table = table.clone()
    other_table[:, boundary:] = 5.0
    other_targets = {}
    for name, target in targets.items():
        values = target.values.clone()
        values[:, boundary - target.horizon_bars :] = 0  # these look at bars that are held out
        other_targets[name] = replace(target, values=values)

    one = Pretrainer(encoder(), table, targets, config, seed=0)
    other = Pretrainer(encoder(), other_table, other_targets, config, seed=0)
    for _ in range(15):
        one.update()
        other.update()

    assert weights_hash(one.encoder) == weights_hash(other.encoder)


def test_rows_after_the_training_period_are_not_read() -> None:
    config = replace(CONFIG, updates=20)
    table, targets = problem()
    expected = Pretrainer(encoder(), table, targets, config, seed=0).complete()
    table = table.clone()
    table[:, TRAIN_BARS:] = float("nan")

    assert Pretrainer(encoder(), table, targets, config, seed=0).complete() == expected


def overfitting(seed: int = 0) -> Pretrainer:
    """Noise to learn by heart: the held-out loss is best at the beginning."""
    table, targets = problem()
    noise = torch.randn(N_SERIES, N_BARS, generator=torch.Generator().manual_seed(1))
    targets["next_return"] = replace(targets["next_return"], values=noise)
    weights = AuxiliaryWeights(1.0, 0.0, 0.0, 0.0, 0.0)
    config = replace(CONFIG, updates=400, patience=3, weights=weights)
    return Pretrainer(encoder(seed), table, targets, config, seed=seed)


def test_best_weights_before_a_stop_survive_it() -> None:
    straight = overfitting()
    while straight._stale_looks < 2:
        straight.update()
    kept = straight.state()
    resumed = overfitting(seed=4)
    resumed.load_state(kept)

    assert resumed.complete() == straight.complete()


def test_training_ends_when_the_held_out_loss_gets_no_better_and_keeps_the_best() -> None:
    pretrainer = overfitting()
    losses: dict[int, float] = {}

    def keep(update: int, metrics: dict[str, Tensor]) -> None:
        if "pretrain/held_out/loss" in metrics:
            losses[update] = float(metrics["pretrain/held_out/loss"])

    pretrainer.complete(keep)

    best = min(losses, key=lambda update: losses[update])
    assert pretrainer.updates == best + 30 < 400
    assert float(pretrainer.evaluate()["pretrain/held_out/loss"]) == losses[best]


def test_weights_that_became_nan_are_never_the_best() -> None:
    pretrainer = made()
    for _ in range(10):
        pretrainer.update()
    healthy = {name: t.clone() for name, t in pretrainer.encoder.state_dict().items()}
    with torch.no_grad():
        next(pretrainer.encoder.parameters()).fill_(float("nan"))

    pretrainer.complete()

    kept = pretrainer.encoder.state_dict()
    assert all(torch.equal(healthy[name], kept[name]) for name in healthy)


def test_mixed_precision_learns_too() -> None:
    pretrainer = made(replace(CONFIG, mixed_precision=True))

    pretrainer.complete()

    assert pretrainer.evaluate()["pretrain/held_out/next_return/skill"] > 0.7
    assert all(p.dtype == torch.float32 for p in pretrainer.encoder.parameters())


def test_table_of_another_width_is_refused() -> None:
    table, targets = problem()
    with pytest.raises(DataError, match=r"must be \(M, T, 3\)"):
        Pretrainer(encoder(), table[..., :2], targets, CONFIG, seed=0)


def test_targets_of_another_length_are_refused() -> None:
    table, targets = problem()
    with pytest.raises(DataError, match="next_return"):
        Pretrainer(encoder(), table[:, :-1], targets, CONFIG, seed=0)


def test_table_that_is_not_finite_is_refused() -> None:
    table, targets = problem()
    table[0, 20, 0] = float("nan")
    with pytest.raises(DataError, match="finite"):
        Pretrainer(encoder(), table, targets, CONFIG, seed=0)


def test_every_metric_is_explained_in_the_docs() -> None:
    pretrainer = made(replace(CONFIG, evaluate_every=1))
    page = PAGE.read_text(encoding="utf-8")

    for name in pretrainer.update():
        general = re.sub(r"/(next_return|regime)/", "/TASK/", name)
        assert f"`{general.removesuffix('_low').removesuffix('_high')}`" in page, name
