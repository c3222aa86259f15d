"""Auxiliary tasks beside a learner's own loss move its encoder, peek at nothing, and resume."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from fixtures.toy_tasks import SignalTask
from tradingbot.learning.catalogue import learner_spec
from tradingbot.learning.generators import make_generator
from tradingbot.learning.learner import Learner
from tradingbot.learning.pretraining.auxiliary_loss import AuxiliaryLoss
from tradingbot.learning.pretraining.config import AuxiliaryLossConfig, AuxiliaryWeights
from tradingbot.learning.pretraining.targets import AuxiliaryTarget
from tradingbot.networks.encoders.catalogue import EncoderConfig, build_encoder
from tradingbot.networks.encoders.encoder import Encoder
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.view import EncoderView

PAGES = Path(__file__).resolve().parents[4] / "docs" / "algorithms"
TRAIN_BARS = 400
TASKS = AuxiliaryWeights(volatility=0.0, volume_class=0.0, expert_action=0.0)
CONFIG = AuxiliaryLossConfig(weight=2.0, tasks=TASKS, segments=4, segment_bars=32)
HEAD = HeadConfig(hidden=(6,))
SMALL: dict[str, dict[str, Any]] = {
    "ppo": {"critic": HEAD, "rollout_steps": 16, "n_epochs": 2, "minibatch": 64, "segment_bars": 8},
    "sac": {
        "critic": HEAD,
        "buffer_size": 256,
        "warm_up": 8,
        "batch_size": 8,
        "steps_per_update": 8,
    },
    "direct": {"chunk_bars": 8},
}


def encoder() -> Encoder:
    config = EncoderConfig(kind="mlp", n_layers=1, width=12, n_heads=2, lookback_bars=4)
    return build_encoder(config, 3, make_generator(3, "encoder"))


def targets_of(table: Tensor) -> dict[str, AuxiliaryTarget]:
    """Two questions about the bars before, whose answers the table holds."""
    mean = table[..., 1] - 0.5 * table[..., 1].roll(1, 1)
    valid = torch.zeros(table.shape[:2], dtype=torch.bool)
    valid[:, 8:TRAIN_BARS] = True
    return {
        "next_return": AuxiliaryTarget(mean, valid, 1),
        "regime": AuxiliaryTarget((mean > 0).long(), valid, 3, n_classes=2),
    }


def build(
    name: str, config: AuxiliaryLossConfig | None, seed: int = 1, n_agents: int = 2, **more: Any
) -> Learner:
    task, spec = SignalTask(n_agents, 4), learner_spec(name)
    view = EncoderView(encoder(), task.table)
    settings = replace(spec.config(), actor=HEAD, **SMALL[name], **more)
    beside = {}
    if config is not None:
        targets = targets_of(task.table)
        beside["auxiliary"] = AuxiliaryLoss(view.encoder, task.table, targets, config, seed=seed)
    return spec.build(task, view, settings, seed=seed, **beside)


def encoder_weights(learner: Learner) -> list[Tensor]:
    return [tensor.clone() for tensor in learner.networks()["view"].state_dict().values()]


def is_same(one: list[Tensor], other: list[Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.fixture(params=("direct", "ppo", "sac"))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_tasks_move_the_encoder_and_are_told_one_by_one(name: str) -> None:
    alone, beside = build(name, None), build(name, CONFIG)
    begun = encoder_weights(alone)

    silent = [alone.update() for _ in range(2)][-1].metrics
    told = [beside.update() for _ in range(2)][-1].metrics

    assert not is_same(encoder_weights(alone), begun)
    assert not is_same(encoder_weights(beside), encoder_weights(alone))
    assert {*told} - {*silent} == {"loss/auxiliary/next_return", "loss/auxiliary/regime"}
    assert all(0.0 < float(told[key]) < 3.0 for key in {*told} - {*silent})
    for page in (name, "pretraining"):
        assert "`loss/auxiliary/TASK`" in (PAGES / f"{page}.md").read_text(encoding="utf-8")
    assert {*beside.networks()} == {*alone.networks()}  # heads do not act
    assert not any("auxiliary" in key for key in alone.state())


def test_weight_is_that_of_the_mean_loss_in_units_of_a_constant_answer() -> None:
    shares = {"next_return": 0.2, "regime": 0.6}
    config = replace(CONFIG, tasks=replace(TASKS, **shares))
    table = SignalTask(2, 4).table
    loss = AuxiliaryLoss(encoder(), table, targets_of(table), config, seed=1)

    drawn = float(loss.draw().detach())

    told = loss.take_metrics()
    mean = sum(share * float(told[f"loss/auxiliary/{name}"]) for name, share in shares.items())
    assert drawn == pytest.approx(2.0 * mean / 0.8, rel=1e-5)


@pytest.mark.parametrize("n_agents", [2, 5])
@pytest.mark.parametrize(
    ("name", "off"),
    [("ppo", {"gradient_clip": 1e9, "weight_decay": 0.0}), ("sac", {"gradient_clip": 0.0})],
)
def test_weight_is_beside_the_mean_over_agents_however_many_they_are(
    name: str, off: dict[str, float], n_agents: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Heads learn from the tasks alone: their gradients tell what the loss was multiplied by.

    PPO divides gradients of what agents share by N; SAC descends the sum over its N agents.
    """
    learner, draw = build(name, CONFIG, n_agents=n_agents, **off), AuxiliaryLoss.draw
    heads, drawn = list[torch.nn.Parameter](), list[tuple[Tensor, ...]]()

    def keep(loss: AuxiliaryLoss) -> Tensor:
        heads[:], made = loss.parameters(), draw(loss)
        drawn.append(torch.autograd.grad(made, heads, retain_graph=True))
        return made

    monkeypatch.setattr(AuxiliaryLoss, "draw", keep)
    for _ in range(2):
        learner.update()  # SAC warms up

    factor = {"ppo": 1.0, "sac": n_agents}[name]
    for head, gradient in zip(heads, drawn[-1], strict=True):
        assert head.grad is not None
        assert gradient.abs().sum() > 0.0
        torch.testing.assert_close(head.grad, factor * gradient)


def test_loss_of_the_tasks_falls_while_agents_learn(name: str) -> None:
    learner = build(name, replace(CONFIG, weight=20.0))
    learner.set_learning_rate_scale({"direct": 5.0, "ppo": 20.0, "sac": 40.0}[name])
    learner.update()  # SAC warms up

    told = [learner.update().metrics for _ in range(12)]

    for key in ("loss/auxiliary/next_return", "loss/auxiliary/regime"):
        first, last = (sum(float(each[key]) for each in part) for part in (told[:3], told[-3:]))
        assert last < 0.9 * first, key


def test_resumed_learner_draws_the_same_bars_and_ends_with_the_same_bits(name: str) -> None:
    whole, resumed = build(name, CONFIG), build(name, CONFIG, seed=9)
    for _ in range(2):
        whole.update()
    resumed.load_state({key: tensor.clone() for key, tensor in whole.state().items()})
    for learner in (whole, resumed):
        for _ in range(2):
            learner.update()

    one, other = whole.state(), resumed.state()

    assert {"auxiliary/generator", "auxiliary/heads/weights.next_return"} <= {*one}
    assert one.keys() == other.keys()
    assert all(torch.equal(one[key], other[key]) for key in one)


def test_where_no_agent_learns_the_tasks_move_nothing(name: str) -> None:
    """What decays without an agent decays as it would without the tasks."""
    alone, beside = build(name, None), build(name, CONFIG)
    for learner in (alone, beside):
        learner.set_agent_weight(torch.zeros(2))
        for _ in range(2):
            learner.update()

    assert is_same(encoder_weights(beside), encoder_weights(alone))


def test_bars_outside_the_training_part_change_neither_loss_nor_gradient() -> None:
    table = SignalTask(2, 4).table
    other = table.clone()
    other[:, TRAIN_BARS:] = float("nan")
    changed = {
        key: replace(target, values=torch.where(target.valid, target.values, 1))
        for key, target in targets_of(table).items()
    }
    found = []
    for rows, targets in ((table, targets_of(table)), (other, changed)):
        own = encoder()
        loss = AuxiliaryLoss(own, rows, targets, CONFIG, seed=1)
        total = torch.stack([loss.draw() for _ in range(20)]).sum()
        total.backward()  # type: ignore[no-untyped-call]
        found.append([total.detach(), *(p.grad for p in own.parameters() if p.grad is not None)])

    assert len(found[0]) > 2
    assert is_same(found[0], found[1])


def test_all_of_the_training_part_is_learned_from() -> None:
    table = SignalTask(2, 4).table
    loss = AuxiliaryLoss(encoder(), table, targets_of(table), CONFIG, seed=1)

    drawn = [loss._tasks.draw(64, 32, loss.generator).bars for _ in range(40)]

    bars = torch.cat(drawn)
    assert (int(bars.min()), int(bars.max())) == (8, TRAIN_BARS - 1)
