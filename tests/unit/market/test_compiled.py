"""Compiled steps: what compiling needs, one program for the same rules and sizes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from fixtures.streams import profit, scene
from tradingbot.domain.errors import ConfigError
from tradingbot.market import EpisodeRules, SimulatorParams, compiled
from tradingbot.market.compiled import compiled_step, missing_compiler, packed_step
from tradingbot.market.native.step import native_step, tensor_exact_step
from tradingbot.market.packing import pack, pack_rates

Program = Callable[..., object]
RULES = SimulatorParams(episode=EpisodeRules(episode_bars=30, window_bars=8))


def test_steps_of_the_same_rules_and_sizes_share_a_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[bool] = []

    def as_it_is(function: Program, arguments: object, *, differentiable: bool) -> Program:
        made.append(differentiable)
        return function

    monkeypatch.setattr(compiled, "_PROGRAMS", {})
    monkeypatch.setattr(compiled, "_compile", as_it_is)
    where = scene(RULES, "retail", 6, n_lanes=4, n_steps=2)
    batch = (pack_rates(where.rates), pack(where.open()), where.actions[0])
    expected = packed_step(RULES, profit, where.market, where.starts)(*batch)
    for options in ({}, {}, {"differentiable": True}):
        program = compiled_step(RULES, profit, where.market, where.starts, **options)
        for _ in range(2):
            found = program(*batch)
            assert all(map(torch.equal, found.account, expected.account))
            assert all(map(torch.equal, found[1:], expected[1:]))
    assert made == [False, True]  # once each, whatever they are called
    with pytest.raises(ConfigError, match="the batch it was compiled for"):
        program(*batch[:2], where.actions[0][:-1])


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
