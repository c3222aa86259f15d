"""The step of `market/simulation.py` as one compiled program over packed accounts.

The step is recorded once as a graph of tensor operations with every rule folded in, and that graph
is compiled. `torch.compile` of the Python function would give the same program, but would check
some five hundred assumptions about the rules before every call: 70 µs, more than the arithmetic of
a thousand accounts.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import NamedTuple

import torch
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

from tradingbot.domain.errors import ConfigError
from tradingbot.market.account import Account
from tradingbot.market.actions.discrete import action_mask, action_values
from tradingbot.market.advance import Advanced
from tradingbot.market.bars import TensorMarket
from tradingbot.market.buying_power import buying_power_of
from tradingbot.market.costs import CostRates
from tradingbot.market.episodes import Starts
from tradingbot.market.packing import PackedAccount, pack, unpack, unpack_rates
from tradingbot.market.params import SimulatorParams
from tradingbot.market.program_cache import keep_torch_programs
from tradingbot.market.simulation import Reward, step


class PackedStep(NamedTuple):
    """What a learner needs of a `Step`; see there."""

    account: PackedAccount
    private: Tensor
    """(18, B) after the reset."""
    final_private: Tensor
    """(18, B) before the reset."""
    reward: Tensor
    terms: Tensor
    """(K, B)"""
    terminated: Tensor
    truncated: Tensor
    executed: Tensor
    """(B,) int32 code of `domain.action.Action` that was carried out."""
    traded: Tensor
    """(B,) bool, whether anything filled."""
    allowed: Tensor
    """(7, B) bool, codes that may be executed after the reset; (0, B) unless discrete."""


PackedStepFunction = Callable[[Tensor, PackedAccount, Tensor], PackedStep]
"""(packed rates, accounts, actions) → step, in a market that is fixed."""

_Program = Callable[..., list[Tensor]]
_Kind = tuple[torch.Size, torch.dtype, torch.device]
_PROGRAMS: dict[tuple[object, ...], _Program] = {}
"""What this interpreter has compiled, by everything that is folded into a program."""


def packed_step(
    rules: SimulatorParams, reward: Reward, market: TensorMarket, starts: Starts | None
) -> PackedStepFunction:
    """Return the step in a market as a function of packed tensors, not compiled."""

    def advance_packed(rates: Tensor, account: PackedAccount, action: Tensor) -> PackedStep:
        costs = unpack_rates(rates)
        whole = step(rules, reward, costs, market, starts, unpack(account), action)
        done = whole.advanced
        return PackedStep(
            pack(whole.account),
            *whole[1:7],
            executed=executed_code(done.after),
            traded=has_traded(done),
            allowed=allowed_codes(rules, costs, whole.account),
        )

    return advance_packed


def has_traded(advanced: Advanced) -> Tensor:
    """Tell whether anything filled, (B,) bool."""
    return (advanced.fill.units != 0.0) | (advanced.exit_fill.units != 0.0)


def executed_code(account: Account) -> Tensor:
    """Return the code (B,) int32 that accounts executed last, before any reset."""
    ages = account.action_ages
    codes = torch.arange(ages.shape[0], dtype=torch.int32, device=ages.device)[:, None]
    return torch.where(ages == 0, codes, 0).sum(0, dtype=torch.int32)


def allowed_codes(rules: SimulatorParams, rates: CostRates, account: Account) -> Tensor:
    """Return which codes accounts may execute, (7, B) bool; (0, B) unless actions are discrete."""
    if rules.action.space != "discrete":
        return torch.zeros((0, len(account.cash)), dtype=torch.bool, device=account.cash.device)
    room = buying_power_of(rules.limits, rates, account, account.equity)
    return action_mask(
        rules.action, rules.limits, account, action_values(rules.action, account, room)
    )


def compiled_step(
    rules: SimulatorParams,
    reward: Reward,
    market: TensorMarket,
    starts: Starts | None,
    *,
    differentiable: bool = False,
) -> PackedStepFunction:
    """Return the step in a market, compiled; the first call takes some twenty seconds.

    A later process finds the program in the compiler's cache on disk, and takes some five.

    The program is for one batch size, number format and device: those of the first call. Markets
    and starts are arguments of it, so another market of the same size costs nothing.

    Args:
        rules: Constants.
        reward: Terms of a step.
        market: Bars.
        starts: Where episodes begin; None: nothing begins anew.
        differentiable: Gradients flow from results to accounts and actions; twice as slow.

    Raises:
        ConfigError: On a later call of another size, format or device.
    """
    programs: list[_Program] = []
    expected: list[_Kind] = []
    constants = (market.rows, *(starts or ()))

    def flat(*tensors: Tensor) -> tuple[Tensor, ...]:
        rows, *begin, rates, money, counts, action = tensors
        given = Starts(*begin) if begin else None
        function = packed_step(rules, reward, market._replace(rows=rows), given)
        result = function(rates, PackedAccount(money, counts), action)
        return (*result.account, *result[1:])

    def advance_compiled(rates: Tensor, account: PackedAccount, action: Tensor) -> PackedStep:
        arguments = (rates, *account, action)
        kinds = [_kind(x) for x in arguments]
        if not programs:
            expected.extend(kinds)
            everything = (*constants, *arguments)
            key = (rules, reward, market[1:], differentiable, *(_kind(x) for x in everything))
            if key not in _PROGRAMS:
                _PROGRAMS[key] = _compile(flat, everything, differentiable=differentiable)
            programs.append(_PROGRAMS[key])
        if kinds != expected:
            rule = "a compiled step must be called with the batch it was compiled for"
            raise ConfigError(rule, was=kinds, remedy="Compile another step for another batch size")
        money, counts, *rest = programs[0](*constants, *arguments)
        return PackedStep(PackedAccount(money, counts), *rest)

    return advance_compiled


def missing_compiler(device: torch.device) -> str | None:
    """Name what compiling for a device would need and is not there; None if nothing is."""
    names = (os.environ.get("CXX"), "c++", "g++", "clang++")
    if not any(name and shutil.which(name) for name in names):
        return "a C++ compiler"
    if device.type == "cuda" and importlib.util.find_spec("triton") is None:
        return "package 'triton'"
    return None


def _kind(tensor: Tensor) -> _Kind:
    return tensor.shape, tensor.dtype, tensor.device


def _compile(
    function: Callable[..., tuple[Tensor, ...]],
    arguments: tuple[Tensor, ...],
    *,
    differentiable: bool,
) -> _Program:
    from torch._inductor import (
        compile as compile_graph,
    )  # two seconds: only where something is compiled

    keep_torch_programs()
    if differentiable:
        *others, money, counts, action = (x.detach() for x in arguments)
        money, action = money.clone().requires_grad_(), action.clone().requires_grad_()
        arguments = (*others, money, counts, action)
    with torch.set_grad_enabled(differentiable):
        graph = make_fx(function)(*arguments)
        for node in graph.graph.nodes:
            node.meta.clear()  # shapes recorded under tracing would clash with the compiler's own
        wrapped = arguments[0].device.type == "cpu" and not differentiable
        with _cached_on_disk():
            program: _Program = compile_graph(
                graph, list(arguments), options={"cpp_wrapper": wrapped}
            )
    return program


def _cached_on_disk() -> AbstractContextManager[object]:
    """Return the context without which the compiler does not look into its cache on disk."""
    from torch._guards import TracingContext, tracing
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    shapes = FakeTensorMode(shape_env=ShapeEnv(assume_static_by_default=True))
    return tracing(TracingContext(shapes))
