"""What each tensor operation is in C: the words that `lane_program` writes with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

SHAPES: Mapping[str, Callable[..., Any]] = {
    "unbind": lambda values, axis=0: list(np.moveaxis(values, axis, 0)),
    "select": lambda values, axis, place: np.take(values, place, axis),
    "slice": lambda values, axis, start, stop, step=1: np.moveaxis(
        np.moveaxis(values, axis, 0)[start:stop:step], 0, axis
    ),
    "stack": lambda parts, axis=0: np.stack(parts, axis),
    "cat": lambda parts, axis=0: np.concatenate(parts, axis),
    "unsqueeze": np.expand_dims,
    "alias": lambda values: values,
    "detach": lambda values: values,
    "clone": lambda values, **_: values,
    "view": lambda values, shape: values.reshape(shape),
    "expand": lambda values, shape: np.broadcast_to(
        values, [values.shape[axis] if size < 0 else size for axis, size in enumerate(shape)]
    ),
}
"""Operations that move numbers and compute none, on arrays of them."""
LIKE = frozenset({"zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full"})
"""Operations that take a tensor and make constants, whatever numbers it holds."""
CASTS = {
    "db": "({} != REAL(0))",
    "ib": "({} != WHOLE(0))",
    "bi": "({} & WHOLE(1))",
    "bd": "SELECT({}, REAL(1), REAL(0))",
    "id": "REALS_OF({})",
    "di": "WHOLES_OF({})",
}
"""From kind and to kind → statement."""
TEXTS: Mapping[str, tuple[str, str]] = {
    "add": ("({} + {})", "result"),
    "sub": ("({} - {})", "result"),
    "mul": ("({} * {})", "result"),
    "div": ("({} / {})", "result"),
    "neg": ("(-{})", "result"),
    "abs": ("ABSOLUTE({})", "result"),
    "sign": ("SIGN({})", "result"),
    "reciprocal": ("(REAL(1) / {})", "result"),
    "round": ("NEAREST({})", "result"),
    "sqrt": ("square_roots({})", "result"),
    "log": ("logarithms({})", "result"),
    "log1p": ("logarithms_of_1_plus({})", "result"),
    "exp": ("exponentials({})", "result"),
    "tanh": ("hyperbolic_tangents({})", "result"),
    "minimum": ("LOWER({}, {})", "result"),
    "maximum": ("HIGHER({}, {})", "result"),
    "clamp_min": ("AT_LEAST({}, {})", "result"),
    "clamp_max": ("AT_MOST({}, {})", "result"),
    "_to_copy": ("", "result"),
    "where": ("SELECT({}, {}, {})", "branches"),
    "eq": ("({} == {})", "common"),
    "ne": ("({} != {})", "common"),
    "lt": ("({} < {})", "common"),
    "le": ("({} <= {})", "common"),
    "gt": ("({} > {})", "common"),
    "ge": ("({} >= {})", "common"),
    "bitwise_and": ("({} & {})", "result"),
    "bitwise_or": ("({} | {})", "result"),
    "bitwise_not": ("(~{})", "result"),
    "logical_and": ("({} & {})", "result"),
    "logical_or": ("({} | {})", "result"),
    "logical_not": ("(~{})", "result"),
    "isfinite": ("FINITE({})", "real"),
    "isnan": ("({0} != {0})", "real"),
}
"""Operation → statement, and what its operands become first: the kind of the result, that of the
widest among them (`common`), floating point (`real`), or of the result but for the first."""
KINDS = {
    **dict.fromkeys(("add", "sub", "mul", "neg", "clamp_min", "clamp_max"), "di"),
    **dict.fromkeys(("abs", "sign", "round", "minimum", "maximum", "div", "reciprocal"), "d"),
    **dict.fromkeys(("sqrt", "log", "log1p", "exp", "tanh"), "d"),
}
"""Operation → kinds of results that it has a statement for, if not all."""
