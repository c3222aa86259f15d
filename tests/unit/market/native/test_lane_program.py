"""Functions of tensors as statements: read one by one they come to what the tensors do."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from tradingbot.market.native.lane_program import LaneProgram, Unwritable, write_lane_program

Function = Callable[..., tuple[Tensor, ...]]
WORDS: dict[str, Callable[..., Any]] = {
    "REAL": float,
    "WHOLE": int,
    "SELECT": lambda mask, chosen, other: chosen if mask else other,
    "REALS_OF": float,
    "WHOLES_OF": int,
    "ABSOLUTE": abs,
    "SIGN": lambda x: float((x > 0) - (x < 0)),
    "LOWER": min,
    "HIGHER": max,
    "AT_LEAST": max,
    "AT_MOST": min,
    "AT_LEAST_WHOLE": max,
    "AT_MOST_WHOLE": min,
    "FINITE": math.isfinite,
    "square_roots": math.sqrt,
    "logarithms": math.log,
    "exponentials": math.exp,
    "INFINITY": math.inf,
    "NAN": math.nan,
}
"""What the words of C mean for one lane; a mask is −1 where it holds, else 0."""


def run(program: LaneProgram, inputs: dict[str, Tensor]) -> list[list[float]]:
    """Carry out the statements of a program."""
    known: dict[str, Any] = dict(WORDS)
    for name, tensor in inputs.items():
        for place, number in enumerate(tensor.ravel().tolist()):
            known[f"{name}_{place}"] = -int(number) if tensor.dtype == torch.bool else number

    def worth(text: str) -> Any:
        plain = re.sub(r"-?0x[0-9a-f.]+p[+-]\d+", lambda m: repr(float.fromhex(m[0])), text)
        found = eval(plain, {}, known)
        return -int(found) if isinstance(found, bool) else found

    for statement in program.written.values():
        known[statement.name] = worth(statement.expression)
    return [
        [-worth(v.text) if v.kind == "b" else worth(v.text) for v in result]
        for result in program.results
    ]


FUNCTIONS: dict[str, Function] = {
    "arithmetic": lambda a, b, n, m: (a + b * 2.0 - a / b, -a, 3.0 - a, a.abs(), a.sign()),
    "whole numbers": lambda a, b, n, m: (n + 3, n * n - 1, 7 - n, n.clamp(0, 5), -n),
    "bounds": lambda a, b, n, m: (
        a.clamp(-1.0, 1.0),
        a.clamp(min=0.25),
        a.clamp(max=0.25),
        torch.clamp(n, min=0),
        torch.minimum(a, b),
        torch.maximum(a, b),
    ),
    "comparisons": lambda a, b, n, m: (a < b, a <= b, a > 0, a >= b, n == 2, n != 2, a == n),
    "masks": lambda a, b, n, m: (m & (a < b), m | (a < b), ~m, m * (n > 0), m + (n > 0)),
    "choices": lambda a, b, n, m: (
        torch.where(m, a, b),
        torch.where(a < b, n, 0),
        torch.where(m, 1.5, a),
        torch.where(n > 0, m, False),
    ),
    "casts": lambda a, b, n, m: (
        a * n,
        a * m,
        n.double() + a,
        m.int() + n,
        (a * 4).int(),
        a.bool(),
    ),
    "functions": lambda a, b, n, m: (b.abs().sqrt(), b.abs().log(), a.exp(), a.reciprocal()),
    "what is not finite": lambda a, b, n, m: (
        torch.isfinite(a / 0.5),
        torch.isnan(a),
        torch.where(m, a, math.inf),
        torch.where(m, -math.inf, a),
    ),
    "shapes": lambda a, b, n, m: (
        torch.stack((a[0], b[1])),
        torch.cat((a, b)),
        a[1:],
        a.unsqueeze(0)[0],
        a[:1].expand(2, 1),
        *a.unbind(),
    ),
    "sums": lambda a, b, n, m: (a.sum(0), n.sum(0), m.any(0), (a * b).sum(0) + a[0], m.sum(0)),
    "constants": lambda a, b, n, m: (
        a * torch.arange(2.0, dtype=torch.float64)[:, None],
        torch.where(torch.tensor([[True], [False]]), a, b),
        n + torch.tensor([[2**40], [-1]]),
        torch.zeros_like(a) + a,
        torch.full_like(a, 2.5),
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_statements_come_to_what_the_tensors_do(name: str) -> None:
    function = FUNCTIONS[name]
    for a, b, n, m in (
        ([0.75, -2.5], [-0.5, 4.0], [2, -3], [True, False]),
        ([-1.0, 0.25], [3.0, 0.125], [0, 9], [False, True]),
    ):
        inputs = {
            "a": torch.tensor(a, dtype=torch.float64)[:, None],
            "b": torch.tensor(b, dtype=torch.float64)[:, None],
            "n": torch.tensor(n)[:, None],
            "m": torch.tensor(m)[:, None],
        }
        expected = function(*inputs.values())
        program = write_lane_program(function, inputs)
        found = run(program, inputs)
        assert found == [[float(x) for x in each.ravel().tolist()] for each in expected]
        kinds = {torch.float64: "d", torch.int64: "i", torch.int32: "i", torch.bool: "b"}
        for result, each in zip(program.results, expected, strict=True):
            assert {value.kind for value in result} == {kinds[each.dtype]}


def test_what_is_computed_twice_is_written_once() -> None:
    one = {"a": torch.ones(1, 1)}
    program = write_lane_program(lambda a: ((a + 1.0) * (a + 1.0), a + 1.0), one)
    assert [each.expression for each in program.written.values()] == [
        "(a_0 + REAL(0x1.0000000000000p+0))",
        "(v0 * v0)",
    ]
    assert program.written["v1"].operands == ("v0", "v0")


REFUSED: dict[str, tuple[Function, str]] = {
    "writes into a tensor": (lambda a: (a.add_(1.0),), "add_, which writes into a tensor"),
    "looks at numbers": (lambda a: (a if a[0, 0] > 0 else -a,), "which looks at numbers"),
    "adds a multiple": (lambda a: (torch.add(a, a, alpha=2),), "add with {'alpha': 2}"),
    "divides to whole numbers": (
        lambda a: (torch.div(a, 2.0, rounding_mode="floor"),),
        "div with",
    ),
    "unknown": (lambda a: (torch.erf(a),), "erf of kind d"),
    "of another kind": (lambda a: (a.int().abs(),), "abs of kind i"),
    "keeps an axis": (lambda a: (a.sum(0, keepdim=True),), "a sum that keeps its axis"),
    "of another format": (lambda a: (a.half(),), "numbers of torch.float16"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_function_that_there_is_no_statement_for_is_refused(name: str) -> None:
    function, reason = REFUSED[name]
    with pytest.raises(Unwritable, match=re.escape(reason)):
        write_lane_program(function, {"a": torch.ones(2, 1)})


def test_numbers_of_another_format_are_refused_as_inputs() -> None:
    with pytest.raises(Unwritable, match=r"numbers of torch\.bfloat16"):
        write_lane_program(lambda a: (a,), {"a": torch.ones(2, 1, dtype=torch.bfloat16)})
