"""Actors learn to do what a rule does, agent by agent, and resume bit for bit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
import torch
from torch import Tensor

from fixtures.toy_tasks import SignalTask
from tradingbot.domain.errors import ConfigError
from tradingbot.learning.cloning.config import CloningConfig
from tradingbot.learning.cloning.learner import Cloner
from tradingbot.learning.generators import make_generator
from tradingbot.learning.playing import play
from tradingbot.learning.task import Observation
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.heads import StackedHead
from tradingbot.networks.view import TableView

PAGE = Path(__file__).resolve().parents[4] / "docs" / "algorithms" / "cloning.md"
Kind = Literal["box", "discrete"]
HEAD = HeadConfig(hidden=(32,))


class SignalRule:
    """Codes: all when the signal is high, nothing when it is low, else HOLD. Numbers: a ramp.

    A function of the row; half of the agents may read the signal upside down.
    """

    def __init__(self, task: SignalTask) -> None:
        self.signal = task.table[..., 0].reshape(-1) * task.signs.repeat_interleave(task.n_bars)
        self.discrete = bool(task.action.n_actions)

    def __call__(self, seen: Observation) -> Tensor:
        signal = self.signal[seen.row]
        if self.discrete:  # HOLD, NONE, HALF, ALL
            return torch.where(signal > 0.5, 3, torch.where(signal < -0.5, 1, 0))
        return (0.5 + 0.5 * signal).clamp(0.0, 1.0)


def cloner(
    kind: Kind = "discrete",
    config: CloningConfig | None = None,
    *,
    n_outputs: int = 0,
    opposed: bool = False,
    head: HeadConfig = HEAD,
    seed: int = 0,
) -> Cloner:
    task = SignalTask(n_agents=4, n_envs=16, kind=kind, opposed=opposed)
    outputs = n_outputs or task.action.n_actions or 2
    actor = StackedHead(4, 4, outputs, head, make_generator(seed, "actor"))
    config = config or CloningConfig(updates=12)
    return Cloner(task, TableView(task.table), actor, SignalRule(task), config, seed=seed)


def agreement_on_fresh_play(made: Cloner) -> Tensor:
    """Let the expert act on other steps than those that were learned from; (N,) matches."""
    task, rule = made.task, SignalRule(made.task)  # type: ignore[arg-type]
    matches = []

    def act(seen: Observation) -> Tensor:
        expert, chosen = rule(seen), made.act(seen)
        matches.append(((chosen - expert).abs() <= 0.1).float().mean(1))
        return expert

    play(task, act, 200)
    return torch.stack(matches).mean(0)


@pytest.mark.parametrize(
    ("kind", "n_outputs"), [("discrete", 0), ("box", 2), ("box", 1)], ids=["codes", "two", "one"]
)
def test_rule_of_the_row_is_copied_by_90_percent_for_every_agent(
    kind: Kind, n_outputs: int
) -> None:
    made = cloner(kind, n_outputs=n_outputs)
    before = agreement_on_fresh_play(made)

    made.complete()

    assert bool((agreement_on_fresh_play(made) > 0.9).all())
    assert bool((before < 0.8).all())


def test_likelihood_of_numbers_copies_the_rule_too() -> None:
    made = cloner("box", CloningConfig(updates=40, number_loss="log_prob"))

    made.complete()

    assert bool((agreement_on_fresh_play(made) > 0.9).all())


def test_agents_that_differ_need_deviations_of_their_own() -> None:
    config = CloningConfig(updates=12, deviation_penalty=0.0)
    partial = cloner(opposed=True, config=config)
    pooled = cloner(opposed=True, config=config, head=replace(HEAD, pooling="pooled"))

    partial.complete()
    pooled.complete()

    assert bool((agreement_on_fresh_play(partial) > 0.9).all())
    assert agreement_on_fresh_play(pooled).mean() < 0.7


def test_metrics_tell_what_the_actor_would_do_before_it_learned() -> None:
    made = cloner()
    first = made.update()
    for _ in range(8):
        last = made.update()

    for name in ("clone/agreement", "clone/balanced_agreement", "clone/loss"):
        assert first[name].shape == (4,)
    assert bool((last["clone/agreement"] > first["clone/agreement"]).all())
    assert bool((last["clone/agreement"] > last["clone/base_agreement"]).all())
    assert bool((last["clone/loss"] < first["clone/loss"]).all())


def test_forbidden_codes_of_the_expert_are_left_out() -> None:
    made = cloner()
    made._expert = lambda seen: torch.full_like(seen.row, 2)  # HALF is forbidden when all is held
    made.task.observe = _never_half(made.task.observe)  # type: ignore[method-assign]
    made._observation = made.task.observe(made._state)
    before = {name: t.clone() for name, t in made.actor.state_dict().items()}
    made.config = replace(made.config, deviation_penalty=0.0)
    for group in made._optimiser.param_groups:
        group["weight_decay"] = 0.0

    metrics = made.update()

    assert bool((metrics["clone/forbidden"] == 1.0).all())
    assert bool((metrics["clone/loss"] == 0.0).all())
    assert all(torch.equal(before[name], t) for name, t in made.actor.state_dict().items())


def _never_half(observe: object) -> object:
    def changed(state: object) -> Observation:
        seen = observe(state)  # type: ignore[operator]
        allowed = seen.allowed.clone()
        allowed[..., 2] = False
        return seen._replace(allowed=allowed)

    return changed


def test_student_that_acts_visits_other_states_than_the_expert() -> None:
    watching = cloner("box", CloningConfig(updates=3, steps=40))
    acting = cloner("box", CloningConfig(updates=3, steps=40, student_frac=1.0))

    watching.update()
    acting.update()

    assert not torch.equal(watching._state[2], acting._state[2])  # what is held


def test_resumed_run_ends_with_the_same_bits() -> None:
    config = CloningConfig(updates=6, student_frac=0.3)
    straight = cloner(config=config)
    straight.update()
    straight.update()
    kept = straight.state()
    straight.complete()

    resumed = cloner(config=config, seed=9)
    resumed.load_state(kept)
    resumed.complete()

    end, other = straight.state(), resumed.state()
    assert all(torch.equal(end[name], other[name]) for name in end)
    assert (resumed.updates, resumed.steps) == (6, 6 * 64 * 16)


def test_same_seed_gives_the_same_actor_and_another_seed_another() -> None:
    config = CloningConfig(updates=2)
    runs = [cloner(config=config, seed=seed) for seed in (0, 0, 1)]
    for run in runs:
        run.complete()

    first, again, other = (run.actor.state_dict()["weights.0"] for run in runs)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.parametrize(
    ("kind", "n_outputs", "number_loss"),
    [("discrete", 3, "huber"), ("box", 3, "huber"), ("box", 1, "log_prob")],
)
def test_actor_whose_outputs_do_not_fit_is_refused(
    kind: Kind, n_outputs: int, number_loss: Literal["huber", "log_prob"]
) -> None:
    with pytest.raises(ConfigError, match="the actor must have"):
        cloner(kind, CloningConfig(number_loss=number_loss), n_outputs=n_outputs)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("updates", 0),
        ("steps", 0),
        ("epochs", 0),
        ("minibatches", 0),
        ("learning_rate", 0.0),
        ("weight_decay", -1.0),
        ("max_gradient_norm", 0.0),
        ("deviation_penalty", -0.1),
        ("balance", 1.5),
        ("student_frac", -0.1),
        ("tolerance_frac", 2.0),
        ("huber_width", 0.0),
        ("squash_gain", 0.0),
        ("number_loss", "squared"),
        ("train_view", 1),
    ],
)
def test_setting_that_cannot_be_is_refused(field: str, value: object) -> None:
    with pytest.raises(ConfigError, match=field):
        CloningConfig(**{field: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["discrete", "box"])
def test_every_metric_is_explained_in_the_docs(kind: Kind) -> None:
    page = PAGE.read_text(encoding="utf-8")

    for name in cloner(kind, CloningConfig(updates=1)).update():
        assert f"`{name}`" in page, name
