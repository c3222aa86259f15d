"""Roots and logarithms as tensors compute them: the very functions that PyTorch calls.

PyTorch hands them to the vector libraries that are built into it (MKL, SLEEF), which do not round
exactly: of square roots one in six in float32 differs from the exact one in its last bit. A step
whose results must be those of the tensors to the last bit has to call the same functions. Where
they are not found, or do not come to the same, there is no such step.
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

_NAMES = ("sqrt", "log", "log1p", "exp", "tanh")
"""Operations of tensors, in the order in which the C has them."""
_FUNCTIONS = {
    torch.float32: ("vmsSqrt", "vmsLn", "Sleef_log1pf8_u10", "vmsExp", "vmsTanh"),
    torch.float64: ("vmdSqrt", "vmdLn", "Sleef_log1pd4_u10", "vmdExp", "vmdTanh"),
}
TENSOR_FUNCTIONS = """\
/* Functions of the tensors; the mode is PyTorch's: high accuracy, denormal numbers kept. */
typedef void array_function(int64_t n, const real *x, real *y, int64_t mode);
typedef reals vector_function(reals x);
static const int64_t *functions;
void use_functions(const int64_t *addresses) { functions = addresses; }
#define BY_ARRAYS(name, place) \\
  static inline reals name(reals x) \\
  { \\
    reals y; \\
    ((array_function *)(intptr_t)functions[place])(WIDTH, (real *)&x, (real *)&y, 0x140102); \\
    return y; \\
  }
BY_ARRAYS(square_roots, 0)
BY_ARRAYS(logarithms, 1)
BY_ARRAYS(exponentials, 3)
BY_ARRAYS(hyperbolic_tangents, 4)
static inline reals logarithms_of_1_plus(reals x)
{
  return ((vector_function *)(intptr_t)functions[2])(x);
}
void apply_functions(const reals *x, reals *y, int64_t n)
{
  for (int64_t i = 0; i < n; i++) {
    y[i] = square_roots(x[i]);
    y[n + i] = logarithms(x[i]);
    y[2 * n + i] = logarithms_of_1_plus(x[i]);
    y[3 * n + i] = exponentials(x[i]);
    y[4 * n + i] = hyperbolic_tangents(x[i]);
  }
}
"""
"""Defines the functions of `lane_loop` by those of the tensors, and how they are given and tried.
"""
_VECTOR_BYTES = 32
_N_TRIED = 4096


def bind_tensor_functions(library: ctypes.CDLL, dtype: torch.dtype) -> bool:
    """Give a program the tensors' functions; tell whether they come to the same, bit for bit."""
    addresses = _addresses(dtype)
    if addresses is None:
        return False
    library.use_functions.argtypes = [ctypes.c_void_p]
    library.use_functions.restype = None
    library.apply_functions.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
    library.apply_functions.restype = None
    library.use_functions(addresses.ctypes.data)
    numbers = torch.logspace(-12, 1, _N_TRIED, dtype=dtype)
    made = torch.empty((len(_NAMES), _N_TRIED), dtype=dtype)
    n_vectors = numbers.nbytes // _VECTOR_BYTES
    library.apply_functions(numbers.data_ptr(), made.data_ptr(), n_vectors)
    expected = torch.stack([getattr(torch, name)(numbers) for name in _NAMES])
    return torch.equal(made, expected)


@cache
def _addresses(dtype: torch.dtype) -> NDArray[np.int64] | None:
    try:
        library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
        found = [getattr(library, name) for name in _FUNCTIONS[dtype]]
    except (OSError, AttributeError):
        return None
    return np.array([ctypes.cast(each, ctypes.c_void_p).value for each in found], dtype=np.int64)
