"""Compiled steps: what compiling needs, one program for the same rules and sizes, gradients."""

from __future__ import annotations

import pytest
import torch

from fixtures.streams import profit, scene
from tradingbot.domain.errors import ConfigError
from tradingbot.market import EpisodeRules, SimulatorParams, compiled
from tradingbot.market.compiled import compiled_step, missing_compiler, packed_step
from tradingbot.market.native.step import native_step, tensor_exact_step
from tradingbot.market.packing import pack, pack_rates

RULES = SimulatorParams(episode=EpisodeRules(episode_bars=30, window_bars=8))


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> list[torch.fx.GraphModule]:
    """Programs that were compiled: recorded graphs, run as they are."""
    made: list[torch.fx.GraphModule] = []

    def as_it_is(graph: torch.fx.GraphModule, *_: object, **__: object) -> torch.fx.GraphModule:
        made.append(graph)
        return graph

    monkeypatch.setattr("torch._inductor.compile", as_it_is)
    monkeypatch.setattr(compiled, "_PROGRAMS", {})
    monkeypatch.setattr(compiled, "keep_torch_programs", lambda: None)
    return made


def test_steps_of_the_same_rules_and_sizes_share_a_program(
    graphs: list[torch.fx.GraphModule],
) -> None:
    where = scene(RULES, "retail", 6, n_lanes=4, n_steps=2)
    rates, account = pack_rates(where.rates), pack(where.open())
    expected = packed_step(RULES, profit, where.market, where.starts)(
        rates, account, where.actions[0]
    )
    for _ in range(2):
        program = compiled_step(RULES, profit, where.market, where.starts)
        for _ in range(2):
            found = program(rates, account, where.actions[0])
            assert torch.equal(found.account.money, expected.account.money)
            assert torch.equal(found.reward, expected.reward)
            assert not found.reward.requires_grad
    assert len(graphs) == 1
    with pytest.raises(ConfigError, match="the batch it was compiled for"):
        program(rates, account, where.actions[0][:-1])


def test_gradients_flow_where_they_are_asked_for(graphs: list[torch.fx.GraphModule]) -> None:
    where = scene(RULES, "retail", 6, n_lanes=4, n_steps=2)
    rates, account = pack_rates(where.rates), pack(where.open())
    action = torch.full((4,), 0.9, dtype=torch.float64, requires_grad=True)
    slopes = []
    for made in (
        packed_step(RULES, profit, where.market, where.starts),
        compiled_step(RULES, profit, where.market, where.starts, differentiable=True),
    ):
        reward = made(rates, account, action).reward.sum()
        slopes.append(torch.autograd.grad(reward, action)[0])
    assert torch.equal(slopes[0], slopes[1])
    assert slopes[0].abs().sum() > 0.0


def test_missing_compiler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr("shutil.which", lambda name: "/bin/c" if name == "g++" else None)
    assert missing_compiler(torch.device("cpu")) is None
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert missing_compiler(torch.device("cuda")) == "package 'triton'"
    assert missing_compiler(torch.device("cpu")) is None
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    assert missing_compiler(torch.device("cuda")) is None
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert missing_compiler(torch.device("cpu")) == "a C++ compiler"


def test_native_step_is_for_the_cpu_and_rewards_with_an_identity() -> None:
    where = scene(RULES, "retail", 6, n_lanes=4, n_steps=2)
    elsewhere = where.market.to("meta")
    assert native_step(RULES, profit, elsewhere, None) is None
    assert tensor_exact_step(RULES, profit, elsewhere, None, identity="profit") is None
    assert tensor_exact_step(RULES, profit, where.market, None, identity="") is None
