"""The task that learners train and are tested on is the simulator that rollouts run."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from torch import Tensor

from fixtures.trading_worlds import crashed, short_config, small_world
from tradingbot.agents.policy import PolicyInputs
from tradingbot.domain.seeding import stream
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.population import PopulationTask, evaluation_task
from tradingbot.evaluation.rollout import roll_out, sleeve_config
from tradingbot.learning.task import TaskStep
from tradingbot.market.compiled import missing_compiler
from tradingbot.market.params import AccountRules, ActionSpace
from tradingbot.rewards import RewardConfig


@dataclass(frozen=True, eq=False)
class Follow:
    """Wants what is in a table (N · T,), as it is."""

    targets: Tensor

    def __call__(self, seen: PolicyInputs) -> Tensor:
        return self.targets[seen.row]


def halting_config() -> EnvConfig:
    """Return sleeves that stop trading after a loss of a fifth."""
    config = sleeve_config()
    return replace(config, rules=replace(config.rules, account=AccountRules()))


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float64, 1e-9), (torch.float32, 2e-4)], ids=["f64", "f32"]
)
@pytest.mark.parametrize("halts", [False, True])
def test_wealth_of_the_evaluation_task_is_equity_of_the_rollout(
    dtype: torch.dtype, tolerance: float, halts: bool
) -> None:
    world = crashed(small_world(), 1, 320) if halts else small_world()
    config = halting_config() if halts else sleeve_config()
    drawn = stream(4, "targets").choice([0.0, 0.3, 1.0], (3, 420), p=[0.4, 0.2, 0.4])
    targets = torch.from_numpy(drawn)
    expected = roll_out(world, config, {"given": Follow(targets.reshape(-1))}).equity[:, 0]

    task = evaluation_task(world, config, dtype=dtype)
    state, seen = task.begin()
    wealth = [task.wealth(state)]
    for _ in range(task.episode_bars):
        wanted = targets.reshape(-1)[seen.row]
        made = task.step(state, wanted)
        state, seen = made.state, made.observation
        wealth.append(task.wealth(state))
    found = torch.stack(wealth)[..., 0].double().numpy()
    assert found.shape == expected.shape
    assert np.allclose(found, expected / 1e5, rtol=tolerance, atol=0.0)
    assert halts == bool(made.terminated.any())
    assert np.abs(found[-1] - 1.0).max() > 0.01


def delivered(step: TaskStep) -> list[Tensor]:
    """Return all tensors of a step behind state and observation; some it need not deliver."""
    return [part for part in step[2:] if isinstance(part, Tensor)]


@pytest.mark.parametrize("space", ["target", "continuous"])
def test_differentiable_step_has_the_numbers_of_the_step(space: ActionSpace) -> None:
    task = PopulationTask(small_world(), short_config(space), n_envs=4, seed=1)
    state, _ = task.begin()
    for draw in stream(2, space).uniform(-1.0, 1.0, (20, 3, 4)):
        action = torch.from_numpy(draw).float().requires_grad_()
        plain, smooth = task.step(state, action), task.differentiable_step(state, action)
        for a, b in zip(
            (*plain.state, *delivered(plain)), (*smooth.state, *delivered(smooth)), strict=True
        ):
            assert torch.equal(a, b.detach())
        assert not plain.reward.requires_grad
        assert smooth.reward.requires_grad
        state = plain.state


def test_gradient_of_the_differentiable_step_equals_finite_differences() -> None:
    config = sleeve_config()
    rules = replace(
        config.rules,
        limits=replace(config.rules.limits, min_trade_ccy=0.0),
        episode=replace(config.rules.episode, episode_bars=20),
    )
    reward = RewardConfig("log_growth", options={"log_growth": {"scale": 1.0}})
    config = replace(config, rules=rules, reward=reward)
    task = PopulationTask(small_world(), config, n_envs=2, seed=1, dtype=torch.float64)
    rng = stream(6, "targets")
    actions = torch.from_numpy(rng.uniform(0.1, 0.9, (8, 3, 2))).requires_grad_()

    def growth(chosen: Tensor) -> Tensor:
        state, total = task.begin()[0], torch.zeros(3, 2, dtype=torch.float64)
        for action in chosen:
            made = task.differentiable_step(state, action)
            state, total = made.state, total + made.reward
        return total

    growth(actions).sum().backward()
    assert actions.grad is not None
    slopes = torch.zeros_like(actions)
    for bar in range(8):
        moved = torch.zeros_like(actions)
        moved[bar] = 1e-6
        with torch.no_grad():
            slopes[bar] = (growth(actions + moved) - growth(actions - moved)) / 2e-6
    torch.testing.assert_close(actions.grad, slopes, rtol=1e-4, atol=1e-7)
    assert slopes.abs().min() > 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("space", ["target", "discrete"])
def test_compiled_task_equals_the_eager_one(space: ActionSpace) -> None:
    if missing_compiler(torch.device("cpu")):
        pytest.skip("compiling for the CPU needs a C++ compiler, and there is none")
    tasks = [
        PopulationTask(
            small_world(),
            short_config(space),
            n_envs=4,
            seed=1,
            compiled=compiled,
            dtype=torch.float64,
        )
        for compiled in (True, False)
    ]
    state, _ = tasks[1].begin()
    rng = stream(2, space)
    for _ in range(40):
        draw = rng.integers(0, 7, (3, 4)) if space == "discrete" else rng.uniform(-1, 1, (3, 4))
        fast, slow = (task.step(state, torch.from_numpy(draw)) for task in tasks)
        for a, b in zip(
            (*fast.state, *fast.observation, *delivered(fast)),
            (*slow.state, *slow.observation, *delivered(slow)),
            strict=True,
        ):
            torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-6)
        state = slow.state


@pytest.mark.slow
def test_compiled_gradient_equals_the_eager_one() -> None:
    if missing_compiler(torch.device("cpu")):
        pytest.skip("compiling for the CPU needs a C++ compiler, and there is none")
    drawn = torch.from_numpy(stream(3, "actions").uniform(-1.0, 1.0, (20, 3, 4)))
    gradients = []
    for compiled in (True, False):
        task = PopulationTask(
            small_world(),
            short_config("target"),
            n_envs=4,
            seed=1,
            compiled=compiled,
            dtype=torch.float64,
        )
        actions = drawn.clone().requires_grad_()
        state, worth = task.begin()[0], torch.zeros(())
        for action in actions:
            made = task.differentiable_step(state, action)
            state = made.state
            worth = worth + made.reward.sum() + made.observation.private.sum()
        worth.backward()
        gradients.append(actions.grad)
    torch.testing.assert_close(*gradients, rtol=1e-6, atol=1e-7)
    assert gradients[0].abs().sum() > 0.0
