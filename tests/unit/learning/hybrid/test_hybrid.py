"""Gradients and evolution by turns: whose turn it is, what is kept, what is left alone."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor

from fixtures.toy_tasks import SignalTask
from tradingbot.domain.errors import ConfigError
from tradingbot.learning.catalogue import learner_spec
from tradingbot.learning.direct.config import DirectConfig
from tradingbot.learning.es.config import ESConfig
from tradingbot.learning.hybrid.config import HybridConfig
from tradingbot.learning.hybrid.learner import Hybrid
from tradingbot.learning.hybrid.loss import better_share
from tradingbot.learning.ppo.config import PPOConfig
from tradingbot.learning.sac.config import SACConfig
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.view import TableView

HEAD = HeadConfig(hidden=(6,), pooling="partial")
SECTIONS: dict[str, Any] = {
    "ppo": PPOConfig(actor=HEAD, critic=HEAD, rollout_steps=8, n_epochs=1, minibatch=16),
    "sac": SACConfig(
        actor=HEAD, critic=HEAD, buffer_size=64, warm_up=8, batch_size=8, steps_per_update=8
    ),
    "direct": DirectConfig(actor=HEAD, chunk_bars=8),
    "es": ESConfig(population=4, bars=8, sigma=0.1),
}


def build(turns: HybridConfig, **changed: Any) -> Hybrid:
    task = SignalTask(3, 4)
    found = learner_spec("hybrid").resolve(SECTIONS | changed | {"hybrid": turns}, learner_spec)
    made = found.spec.build(task, TableView(task.table), found.settings, seed=1)
    assert isinstance(made, Hybrid)
    return made


def weights(learner: Hybrid) -> dict[str, Tensor]:
    return {name: part.detach().clone() for name, part in learner._actor.named_parameters()}


@pytest.mark.parametrize("name", ["ppo", "sac", "direct"])
def test_learners_take_turns_on_one_actor_and_count_the_steps_of_both(name: str) -> None:
    learner = build(HybridConfig(learner=name, gradient_steps=33, generations=2))  # type: ignore[arg-type]
    evolves, moved, steps = [], [], [0]
    for _ in range(5):
        before = weights(learner)
        evolves.append(float(learner.update().metrics["hybrid/evolves"]))
        moved.append(any(not torch.equal(w, before[key]) for key, w in weights(learner).items()))
        steps.append(learner.steps)

    assert evolves == [0.0, 0.0, 1.0, 1.0, 0.0]
    assert moved[0]
    assert moved[2]
    # 8 bars of 4 environments; 4 members and the mean; twice at the end, to judge.
    assert [b - a for a, b in pairwise(steps)] == [32, 32, 160, 224, 32]
    assert learner._gradient.steps == learner._evolution.steps == learner.steps
    assert learner.act(learner.task.begin()[1]).shape == (3, 4)


def test_entropy_is_that_of_one_learner_alone() -> None:
    learner = build(HybridConfig(gradient_steps=32, generations=1))

    told = [learner.update().metrics for _ in range(2)]

    assert [float(each["hybrid/evolves"]) for each in told] == [0.0, 1.0]
    assert ["policy/normalised_entropy" in each for each in told] == [True, False]


def test_what_evolved_is_kept_or_put_back_by_the_threshold() -> None:
    kept = build(HybridConfig(gradient_steps=1, generations=1, switch_threshold=0.0))
    undone = build(HybridConfig(gradient_steps=1, generations=1, switch_threshold=1.0))
    for learner in (kept, undone):
        learner.update()
        before = weights(learner)
        told = learner.update().metrics

        same = all(torch.equal(part, before[key]) for key, part in weights(learner).items())
        assert same == (learner is undone)
        assert float(told["hybrid/kept_share"]) == float(learner is kept)
        assert 0.0 < float(told["hybrid/better_share"]) < 1.0


@pytest.mark.parametrize("is_better", [True, False])
def test_weights_that_earn_more_are_kept_and_those_that_earn_less_are_not(
    is_better: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner = build(HybridConfig(gradient_steps=1, generations=1, switch_threshold=0.5))
    learner.update()
    before = weights(learner)
    of_others, of_own = (0.0, 1.0) if is_better else (1.0, 0.0)
    earned = torch.stack([torch.full((3, 4), of_others), torch.full((3, 4), of_own)])
    monkeypatch.setattr(learner._evolution, "earnings_beside", lambda _: earned)

    told = learner.update().metrics

    same = all(torch.equal(part, before[key]) for key, part in weights(learner).items())
    assert same is not is_better
    assert float(told["hybrid/better_share"]) == float(is_better)


def test_agents_without_weight_have_no_say_and_a_share_at_the_threshold_is_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    learner = build(HybridConfig(gradient_steps=1, generations=1, switch_threshold=0.5))
    earned = torch.zeros(2, 3, 4)
    earned[1, 1:] = 1.0  # two of three agents earn more; the other one ties
    monkeypatch.setattr(learner._evolution, "earnings_beside", lambda _: earned)
    learner.set_agent_weight(torch.tensor([1.0, 0.0, 0.0]))
    learner.update()
    before = weights(learner)

    told = learner.update().metrics

    assert float(told["hybrid/better_share"]) == 0.5
    assert float(told["hybrid/kept_share"]) == 1.0
    assert not all(torch.equal(part, before[key]) for key, part in weights(learner).items())


def test_judging_plays_both_as_they_are() -> None:
    learner = build(HybridConfig(gradient_steps=1, generations=1, switch_threshold=0.0))
    learner.update()
    other = {name: torch.zeros_like(part) for name, part in weights(learner).items()}

    earned = learner._evolution.earnings_beside(other)

    evolution, state = learner._evolution, learner._evolution._state
    for place, own in enumerate((other, weights(learner))):
        learner._actor.load_state_dict(own)
        at, total = state, torch.zeros(3, 4)
        for _ in range(evolution.config.bars):
            made = learner.task.step(at, learner.act(learner.task.observe(at)))
            at, total = made.state, total + made.reward
        torch.testing.assert_close(earned[place].float(), total, rtol=1e-5, atol=1e-6)


def test_outputs_that_only_samples_need_do_not_evolve() -> None:
    learner = build(HybridConfig(gradient_steps=1, generations=3))
    learner.update()
    before = weights(learner)

    learner.update()

    after = weights(learner)
    for name in ("weights.1", "biases.1"):
        assert torch.equal(after[name][..., 1], before[name][..., 1]), name
        assert not torch.equal(after[name][..., 0], before[name][..., 0]), name
    mixed = [part["directions"].view(6, -1, 2) for part in (before, after)]
    assert torch.equal(mixed[0][..., 1], mixed[1][..., 1])


def test_resumed_within_and_between_phases_ends_with_the_same_bits() -> None:
    turns = HybridConfig(learner="sac", gradient_steps=33, generations=2, switch_threshold=0.5)
    for first in (2, 3, 5):
        whole, resumed = build(turns), build(turns)
        for _ in range(first):
            whole.update()
        resumed.load_state({key: part.clone() for key, part in whole.state().items()})
        for _ in range(4):
            whole.update()
            resumed.update()

        again = resumed.state()
        assert all(torch.equal(part, again[key]) for key, part in whole.state().items())


def test_share_of_accounts_that_earn_more() -> None:
    before = torch.tensor([[1.0, 2.0], [3.0, 4.0], [0.0, 0.0]])
    after = torch.tensor([[2.0, 1.0], [3.0, 5.0], [9.0, 9.0]])

    # Half of the first agent's, ½ + 1 of two of the second's; the third has no weight.
    assert float(better_share(before, after, torch.tensor([1.0, 1.0, 0.0]))) == 0.625
    assert float(better_share(before, after, torch.zeros(3))) == 0.0


def test_settings_are_those_of_the_learners_sections() -> None:
    sections = SECTIONS | {"hybrid": HybridConfig(learner="sac")}

    found = learner_spec("hybrid").resolve(sections, learner_spec)

    assert found.sections == ("hybrid", "sac", "es")
    assert found.settings.gradient is SECTIONS["sac"]
    assert found.spec.action_kinds == ("box",)
    assert found.spec.steps_of_update(found.settings) == 8


def test_folded_deviations_are_refused() -> None:
    folded = replace(SECTIONS["direct"], fold_bars=8)

    with pytest.raises(ConfigError, match="fold_bars must be 0"):
        build(HybridConfig(learner="direct"), direct=folded)
