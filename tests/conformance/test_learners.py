"""Every learner keeps the same promises: anatomy, documented metrics, seeds, exact resumption."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from fixtures import page_learner
from fixtures.toy_tasks import SignalTask
from tradingbot.domain.errors import ConfigError
from tradingbot.learning.catalogue import (
    known_learners,
    learner_spec,
    register_learner,
    unregister_learner,
)
from tradingbot.learning.learner import Learner
from tradingbot.networks.head_config import HeadConfig, Pooling
from tradingbot.networks.view import TableView

ROOT = Path(__file__).resolve().parents[2]
N_AGENTS, N_ENVS = 3, 4
BUILT_IN = known_learners()
SMALL: dict[str, dict[str, Any]] = {
    "ppo": {"rollout_steps": 8, "n_epochs": 2, "minibatch": 16},
    "sac": {"buffer_size": 256, "warm_up": 8, "batch_size": 8, "steps_per_update": 8},
    "direct": {"chunk_bars": 8},
    "hierarchical_sac": {
        "controller": HeadConfig(hidden=(8,)),
        "buffer_size": 256,
        "warm_up": 8,
        "batch_size": 8,
        "steps_per_update": 8,
    },
    "es": {"population": 4, "bars": 8},
    "impala": {"actors": 2, "in_processes": False, "rollout_steps": 8, "minibatch": 16},
    "hybrid": {"gradient_steps": 32, "generations": 1, "switch_threshold": 1.0},
}
"""Settings that make an update short; a learner without a line here runs with its own."""
DRAWS_NOTHING = ("direct", page_learner.NAME)
"""Learners whose samples are their deterministic actions."""


@pytest.fixture(scope="module", autouse=True)
def _page_learner(tmp_path_factory: pytest.TempPathFactory) -> Any:
    register_learner(page_learner.page_learner(tmp_path_factory.mktemp("learner")))
    yield
    unregister_learner(page_learner.NAME)


def build(name: str, pooling: Pooling, seed: int, kind: type[SignalTask] = SignalTask) -> Learner:
    """Build a learner of the catalogue with small heads."""
    task = kind(N_AGENTS, N_ENVS)
    sections = {each: small_settings(each, pooling) for each in known_learners()}
    found = learner_spec(name).resolve(sections, learner_spec)
    return found.spec.build(task, TableView(task.table), found.settings, seed=seed)


def small_settings(name: str, pooling: Pooling) -> Any:
    """Return settings of a learner with small heads and short updates."""
    kind = learner_spec(name).config
    heads = {field.name for field in dataclasses.fields(kind)} & {"actor", "critic"}
    settings = dict.fromkeys(heads, HeadConfig(hidden=(8,), pooling=pooling))
    return dataclasses.replace(kind(), **settings, **SMALL.get(name, {}))


@pytest.fixture(params=(*BUILT_IN, page_learner.NAME))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_every_learner_of_the_catalogue_is_examined() -> None:
    assert {*BUILT_IN, page_learner.NAME} == set(known_learners())
    assert set(SMALL) == set(BUILT_IN)


def weights(learner: Learner) -> dict[str, Tensor]:
    return {
        f"{part}/{key}": tensor.clone()
        for part, network in learner.networks().items()
        for key, tensor in network.state_dict().items()
    }


def _bits(tensor: Tensor) -> Tensor:
    # As bytes: 0 is not −0 here, and a NaN is the same as itself.
    return tensor.contiguous().reshape(-1).view(torch.uint8)


def assert_same_bits(one: dict[str, Tensor], other: dict[str, Tensor]) -> None:
    assert one.keys() == other.keys()
    for key, tensor in one.items():
        assert tensor.dtype == other[key].dtype, key
        assert torch.equal(_bits(tensor), _bits(other[key])), key


@pytest.mark.parametrize("name", BUILT_IN)
def test_learner_folder_has_its_files_and_a_page(name: str) -> None:
    folder = ROOT / "src" / "tradingbot" / "learning" / name

    assert {"config.py", "loss.py", "learner.py", "spec.py"} <= {
        path.name for path in folder.iterdir()
    }
    assert (ROOT / "docs" / "algorithms" / f"{name}.md").is_file()


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_logged_metric_is_explained_on_the_learners_page(name: str) -> None:
    learner = build(name, "partial", 1)
    page = (ROOT / "docs" / "algorithms" / f"{name}.md").read_text(encoding="utf-8")

    logged = {key for _ in range(3) for key in learner.update().metrics}

    assert sorted(key for key in logged if f"`{key}`" not in page) == []
    assert len(logged) >= 5


@pytest.mark.parametrize("pooling", ["partial", "pooled", "independent"])
def test_metrics_and_experience_have_the_agreed_shapes(name: str, pooling: Pooling) -> None:
    learner = build(name, pooling, 1)

    update = learner.update()

    assert {tuple(metric.shape) for metric in update.metrics.values()} <= {(), (N_AGENTS,)}
    experience = update.experience
    for part in (experience.selected, experience.executed, experience.traded, experience.reward):
        assert part.shape[1:] == (N_AGENTS, N_ENVS)
    assert experience.terms.shape[1:] == (N_AGENTS, N_ENVS)
    assert learner.updates == 1
    made = learner_spec(name).steps_of_update(learner.config)  # type: ignore[attr-defined]
    assert learner.steps == made * N_ENVS
    assert made % len(experience.reward) == 0  # a population's members are not all laid out


@pytest.mark.parametrize("name", BUILT_IN)
def test_learner_tells_an_entropy_where_it_says_so(name: str) -> None:
    learner = build(name, "independent", 1)
    told = {key for _ in range(3) for key in learner.update().metrics}

    assert ("policy/normalised_entropy" in told) == learner_spec(name).tells_entropy


def test_same_seed_gives_the_same_bits_and_another_seed_others(name: str) -> None:
    first, again, other = (build(name, "partial", seed) for seed in (1, 1, 2))

    for learner in (first, again, other):
        for _ in range(3):
            learner.update()

    assert_same_bits(weights(first), weights(again))
    assert any(not torch.equal(a, weights(other)[key]) for key, a in weights(first).items())


@pytest.mark.parametrize("pooling", ["partial", "independent"])
def test_resumed_learner_ends_with_the_same_bits(name: str, pooling: Pooling) -> None:
    whole, resumed = build(name, pooling, 1), build(name, pooling, 99)
    for _ in range(2):
        whole.update()

    stored = {key: tensor.clone() for key, tensor in whole.state().items()}
    resumed.load_state(stored)
    for learner in (whole, resumed):
        for _ in range(3):
            learner.update()

    assert_same_bits(whole.state(), resumed.state())
    assert (whole.steps, whole.updates) == (resumed.steps, resumed.updates)


class OtherReturns(SignalTask):
    """The same, but what the last agent holds pays the opposite."""

    def __init__(self, n_agents: int, n_envs: int) -> None:
        super().__init__(n_agents, n_envs)
        self.next_return[-1] *= -1.0


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_agent_without_weight_moves_nothing_that_is_shared(name: str, weight: float) -> None:
    learned = []
    for kind in (SignalTask, OtherReturns):
        learner = build(name, "partial", 1, kind)
        learner.set_agent_weight(torch.tensor([1.0, 1.0, weight]))
        learner.update()
        found = weights(learner)
        learned.append({key: t for key, t in found.items() if not key.endswith("deviations")})

    moved = [key for key, t in learned[0].items() if not torch.equal(t, learned[1][key])]
    assert bool(moved) == bool(weight), moved


def test_learner_explores_otherwise_when_told_to_and_can_be_resumed(name: str) -> None:
    first, same, other = (build(name, "partial", 1) for _ in range(3))
    first.explore_anew(1)
    same.load_state(first.state())
    other.explore_anew(2)
    _, seen = first.task.begin()

    drawn = first.sample(seen)

    assert torch.equal(drawn, same.sample(seen))
    assert torch.equal(drawn, other.sample(seen)) == (name in DRAWS_NOTHING)


@pytest.mark.parametrize("fault", ["missing", "superfluous", "shape", "format"])
def test_state_that_is_not_its_own_is_refused(name: str, fault: str) -> None:
    learner = build(name, "partial", 1)
    learner.update()
    state = dict(learner.state())
    key = next(key for key, tensor in state.items() if tensor.is_floating_point() and tensor.dim())
    match fault:
        case "missing":
            del state[key]
        case "superfluous":
            state["nonsense"] = torch.zeros(1)
        case "shape":
            state[key] = torch.cat([state[key], state[key]])
        case _:
            state[key] = state[key].to(torch.int64)

    with pytest.raises(ConfigError):
        learner.load_state(state)


def test_deterministic_actions_draw_nothing_and_lie_in_the_range(name: str) -> None:
    learner = build(name, "partial", 1)
    learner.update()
    _, seen = learner.task.begin()
    before = {key: tensor.clone() for key, tensor in learner.state().items()}

    action = learner.act(seen)

    assert torch.equal(action, learner.act(seen))
    assert action.shape == (N_AGENTS, N_ENVS)
    assert bool((action >= learner.task.action.low).all())
    assert bool((action <= learner.task.action.high).all())
    assert_same_bits(before, learner.state())
