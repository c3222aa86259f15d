"""Direct gradients as a learner: reports, resumes, and draws nothing while learning."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from fixtures.trading_worlds import short_config, small_world
from tradingbot.domain.errors import ConfigError
from tradingbot.envs.population import PopulationTask
from tradingbot.evaluation.rollout import sleeve_config
from tradingbot.learning.direct.config import DirectConfig
from tradingbot.learning.direct.learner import Direct
from tradingbot.learning.schedules import Schedule
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.view import TableView

N, B, BARS = 3, 2, 5
needs_cuda = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="CUDA graphs need a CUDA device"
)


def task_of(seed: int = 0, **where) -> PopulationTask:
    """Return sleeves with short episodes."""
    config = sleeve_config(reward="log_growth")
    episode = replace(config.rules.episode, episode_bars=8)
    config = replace(config, rules=replace(config.rules, episode=episode))
    return PopulationTask(small_world(), config, n_envs=B, seed=seed, **where).showing("size")


def make(
    seed: int = 0, *, captured: bool | None = None, device="cpu", compiled=None, **changes
) -> Direct:
    """Return a small learner."""
    fields = {
        "actor": HeadConfig(hidden=(8,)),
        "chunk_bars": BARS,
        "learning_rate": Schedule("cosine", 3e-3, 0.0, over=100),
    }
    task = task_of(device=device, compiled=compiled)
    config = DirectConfig(**(fields | changes))
    return Direct(task, TableView(task.table), config, seed=seed, captured=captured)


def test_update_counts_and_reports_what_happened() -> None:
    direct = make()
    made = direct.update()
    assert (direct.steps, direct.updates) == (BARS * B, 1)
    for name, values in made.metrics.items():
        assert values.shape in ((N,), ()), name
        assert torch.isfinite(values).all(), name
        assert not values.requires_grad, name
    for field in ("selected", "executed", "traded", "reward"):
        assert getattr(made.experience, field).shape == (BARS, N, B)
    assert made.experience.terms.shape == (1, N, B)
    assert not made.experience.reward.requires_grad


@pytest.mark.parametrize("fold_bars", [0, 3])
def test_learner_resumed_from_its_state_ends_with_the_same_bits(fold_bars: int) -> None:
    seen = task_of().begin()[1]
    whole = make(noise=0.1, fold_bars=fold_bars)
    for _ in range(3):
        whole.update()
    whole.sample(seen)
    half = make(noise=0.1, fold_bars=fold_bars)
    half.update()
    half.sample(seen)
    half.set_learning_rate_scale(1.0)
    half.set_entropy_scale(torch.ones(N))
    resumed = make(seed=9, noise=0.1, fold_bars=fold_bars)
    resumed.load_state(half.state())
    for _ in range(2):
        resumed.update()
    expected, found = whole.state(), resumed.state()
    assert expected.keys() == found.keys()
    for name, value in expected.items():
        assert torch.equal(value, found[name]), name
    assert torch.equal(whole.sample(seen), resumed.sample(seen))


def test_bar_of_ruin_counts_with_what_was_left() -> None:
    config = sleeve_config(reward="log_growth")
    account = replace(config.rules.account, portfolio_loss_frac=0.004)
    episode = replace(config.rules.episode, episode_bars=64)
    rules = replace(config.rules, account=account, episode=episode)
    config = replace(config, rules=rules)
    task = PopulationTask(small_world(), config, n_envs=16, seed=0).showing("size")
    fields = {"actor": HeadConfig(hidden=(8,)), "chunk_bars": 24}
    direct = Direct(task, TableView(task.table), DirectConfig(**fields), seed=0)

    made, growth = direct._play()

    ruined = torch.stack([step.terminated for _, step in made])
    lives = ~ruined & ~torch.stack([step.truncated for _, step in made])
    reward = torch.stack([step.reward for _, step in made])
    assert ruined.sum() > 10
    # The reward is log growth in another unit, and is taken before the account begins anew.
    unit = (reward[lives] / growth[lives]).median()
    torch.testing.assert_close(growth[ruined] * unit, reward[ruined], rtol=1e-2, atol=1e-4)
    assert (growth[ruined] < 0.0).all()
    actions = [action for action, _ in made]
    gradients = torch.autograd.grad(growth[ruined].sum(), actions)
    assert any(bool((gradient != 0.0).any()) for gradient in gradients)


def test_seed_decides_the_weights() -> None:
    weights = [make(seed).state()["actor/weights.0"] for seed in (0, 0, 1)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_chunks_go_on_where_the_last_one_ended() -> None:
    direct = make(learning_rate=Schedule("constant", 1e-12))
    rows = []
    for _ in range(2):
        rows.append(direct.task.observe(direct._state).row)
        last = direct._play()[0][-1][1]
        direct.update()
        for kept, after in zip(direct._state, last.state, strict=True):
            assert torch.equal(kept, after)
            assert not kept.requires_grad
    assert torch.equal(rows[1], rows[0] + BARS)
    direct.update()
    now = direct.task.observe(direct._state)
    assert not torch.equal(now.row, rows[1] + 2 * BARS)  # episodes of 8 bars


@pytest.mark.parametrize(
    ("objective", "fold_bars"), [("log_growth", 0), ("sharpe", 0), ("reward", 0), ("log_growth", 3)]
)
def test_update_on_kept_tensors_equals_the_plain_one_bit_for_bit(
    objective: str, fold_bars: int
) -> None:
    settings = {"objective": objective, "fold_bars": fold_bars, "direction_rate": 3.0}
    plain, kept = make(**settings), make(captured=True, **settings)
    places = [part.data_ptr() for part in kept._state]
    reports = []
    for number in range(4):
        for direct in (plain, kept):
            direct.set_learning_rate_scale(1.0 - 0.1 * number)
            direct.set_agent_weight(torch.tensor([1.0, 0.5, float(number)], dtype=torch.float64))
        expected, found = plain.update(), kept.update()
        reports.append((expected, found))
    assert [part.data_ptr() for part in kept._state] == places  # where a graph would read them
    for expected, found in reports:  # no later update wrote over them
        assert expected.metrics.keys() == found.metrics.keys()
        for name, value in expected.metrics.items():
            assert torch.equal(value, found.metrics[name]), name
        for ours, theirs in zip(found.experience, expected.experience, strict=True):
            assert torch.equal(ours, theirs)
    for name, value in plain.state().items():
        assert torch.equal(value, kept.state()[name]), name


@pytest.mark.parametrize("fold_bars", [0, 3])
def test_update_asks_the_host_for_nothing(monkeypatch: pytest.MonkeyPatch, fold_bars: int) -> None:
    """A CUDA graph cannot: neither numbers that come from the host nor decisions it takes."""
    direct = make(captured=True, fold_bars=fold_bars)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a tensor is made of the host's numbers")

    with monkeypatch.context() as patched, _NothingForTheHost():
        for name in ("tensor", "as_tensor", "from_numpy"):
            patched.setattr(torch, name, refuse)
        made = direct._learn()
    assert torch.isfinite(made.metrics["loss/gradient_norm"])


class _NothingForTheHost(TorchDispatchMode):
    """Refuses operations that wait for the device, or whose result's size depends on numbers."""

    names = ("_local_scalar_dense", "nonzero", "masked_select", "unique", "_unique2", "equal")

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        assert func.overloadpacket.__name__ not in self.names, func
        return func(*args, **(kwargs or {}))


@needs_cuda
@pytest.mark.parametrize(("compiled", "fold_bars"), [(False, 0), (True, 0), (False, 3)])
def test_captured_updates_equal_those_of_one_kernel_at_a_time(
    compiled: bool, fold_bars: int
) -> None:
    how = {"device": "cuda", "compiled": compiled, "fold_bars": fold_bars}
    learners = [make(captured=on, **how) for on in (True, False, True)]
    for learner in learners[:2]:
        for _ in range(3):
            learner.update()
    learners[2].load_state(learners[0].state())
    for learner in learners:
        for _ in range(4):
            learner.update()
    captured, plain, resumed = (learner.state() for learner in learners)
    for name, value in plain.items():
        torch.testing.assert_close(captured[name], value, rtol=1e-5, atol=1e-6, msg=name)
        assert torch.equal(captured[name], resumed[name]), name


def test_deterministic_actions_are_rounded_to_levels_and_samples_are_not() -> None:
    for levels, allowed in ((2, {0.0, 1.0}), (3, {0.0, 0.5, 1.0})):
        direct = make(act_levels=levels)
        seen = direct.task.begin()[1]
        assert set(direct.act(seen).flatten().tolist()) <= allowed
        soft = direct.sample(seen)
        assert ((soft > 0.0) & (soft < 1.0)).all()
        assert torch.equal(soft, direct.sample(seen))
    direct = make(act_levels=0)
    assert torch.equal(direct.act(seen), direct.sample(seen))


def test_noise_is_drawn_by_samples_only_and_scaled_per_agent() -> None:
    direct = make(noise=0.5, act_levels=0)
    seen = direct.task.begin()[1]
    assert not torch.equal(direct.sample(seen), direct.sample(seen))
    direct.set_entropy_scale(torch.tensor([0.0, 1.0, 1.0]))
    noisy = direct.sample(seen)
    assert torch.equal(noisy[0], direct.act(seen)[0])
    assert not torch.equal(noisy[1], direct.act(seen)[1])


def test_learning_rate_of_zero_changes_nothing_and_its_scale_is_obeyed() -> None:
    direct = make()
    direct.set_learning_rate_scale(0.0)
    before = direct.state()["actor/weights.0"]
    direct.update()
    assert torch.equal(before, direct.state()["actor/weights.0"])
    direct.set_learning_rate_scale(1.0)
    direct.update()
    assert not torch.equal(before, direct.state()["actor/weights.0"])


@pytest.mark.parametrize("pooling", ["partial", "pooled", "independent"])
@pytest.mark.parametrize("objective", ["log_growth", "sharpe", "reward"])
def test_every_objective_and_pooling_moves_all_weights(pooling: str, objective: str) -> None:
    direct = make(actor=HeadConfig(hidden=(8,), pooling=pooling), objective=objective)
    before = {name: p.detach().clone() for name, p in direct.networks()["actor"].named_parameters()}
    direct.update()
    for name, parameter in direct.networks()["actor"].named_parameters():
        assert not torch.equal(parameter, before[name]), name


def test_penalty_pulls_deviations_to_zero() -> None:
    sizes = []
    for penalty in (0.0, 1e4):
        direct = make(deviation_penalty=penalty, learning_rate=Schedule("constant", 1e-2))
        for _ in range(4):
            made = direct.update()
        sizes.append(float(made.metrics["policy/deviation"].mean()))
    assert sizes[1] < 0.8 * sizes[0]


def test_deviations_of_two_folds_begin_with_what_the_actor_was_taught() -> None:
    direct = make(fold_bars=3, learning_rate=Schedule("constant", 1e-12))
    before = direct._folds.z.detach().clone()
    taught = torch.arange(float(N))[:, None].expand(N, 4)
    with torch.no_grad():
        direct.networks()["actor"].deviations.add_(taught)

    direct.update()

    torch.testing.assert_close(direct._folds.z.detach(), before + taught)


def test_codes_are_refused() -> None:
    task = PopulationTask(small_world(), short_config("discrete"), n_envs=1, seed=0)
    with pytest.raises(ConfigError, match="actions must be numbers"):
        Direct(task, TableView(task.table), DirectConfig(), seed=0)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("objective", "profit"),
        ("chunk_bars", 0),
        ("noise", -1.0),
        ("act_levels", 1),
        ("squash_gain", 0.0),
        ("weight_decay", -0.1),
        ("direction_rate", 0.0),
        ("fold_bars", -1),
    ],
)
def test_settings_that_cannot_be_are_refused(field: str, value: object) -> None:
    with pytest.raises(ConfigError, match=field):
        DirectConfig(**{field: value})
