"""The statements of a lane as a C loop over the lanes of a block, several lanes to an instruction.

Every statement is unconditional, every choice a select, every array one row per number (structure
of arrays), so a statement on vectors is the statement on each of their lanes. Vectors are those of
GCC's extension of C, which Clang has as well. Logarithms and the like are called lane by lane.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import torch

from tradingbot.market.native.lane_program import LaneProgram, Value
from tradingbot.market.native.tensor_functions import TENSOR_FUNCTIONS

BLOCK_LANES = 64
"""Lanes of a block: its arrays stay in the first-level cache."""
VECTOR_BYTES = 32
_TYPES_OF_KIND = {"d": "reals", "i": "wholes", "b": "wholes"}

Loads = Mapping[str, tuple[str, str]]
"""Input of a program, such as `money_3` → its kind and the row it is read from, `money[3]`."""
Stores = Sequence[tuple[str, Sequence[Value]]]
"""Name of an array of rows, and the values that are written into its rows."""


def write_lane_loop(
    program: LaneProgram, loads: Loads, stores: Stores, *, abreast: int = 1
) -> list[str]:
    """Write a loop over the first `n` lanes of a block, `n` ≤ `BLOCK_LANES`.

    Arrays are rows of `BLOCK_LANES` numbers, aligned to vectors. Lanes beyond `n` that share a
    pass of the loop with one of the block are computed as well, and mean nothing.

    Args:
        program: What is computed.
        loads: Where inputs come from.
        stores: Where results go.
        abreast: Vectors in one pass. A lane is one long chain of operations that wait for each
            other; those of a second vector fill the gaps. Few lanes do not repay it.
    """
    types, written = _TYPES_OF_KIND, set[str]()

    def compute(name: str) -> Iterator[str]:
        """Write what a value follows from and itself, each right before its first use."""
        if name in written:
            return
        written.add(name)
        if name in loads:
            kind, row = loads[name]
            yield f"const {types[kind]} {name} = *(const {types[kind]} *)&{row}[l];"
        elif name in program.written:
            _, kind, text, operands = program.written[name]
            for operand in operands:
                yield from compute(operand)
            yield f"const {types[kind]} {name} = {text};"

    lines: list[str] = []
    for array, values in stores:
        for place, value in enumerate(values):
            lines += compute(value.text)
            lines.append(f"*({types[value.kind]} *)&{array}[{place}][l] = {value.text};")
    names = re.compile(rf"\b(?:{'|'.join(written)})\b")
    copies = [_of_vector(line, names, k) for line in lines for k in range(abreast)]
    return [f"for (int l = 0; l < n; l += {abreast} * WIDTH) {{", *copies, "}"]


def _of_vector(line: str, names: re.Pattern[str], place: int) -> str:
    """Write a statement for the vector at a place of a pass: its own variables, its own lanes."""
    if place == 0:
        return line
    own = names.sub(lambda found: f"{found[0]}_at_{place}", line)
    return own.replace("[l]", f"[l + {place} * WIDTH]")


def vector_types(dtype: torch.dtype, *, as_tensors: bool = False) -> str:
    """Write types and operations of the lanes of a vector, in one number format.

    Args:
        dtype: The format.
        as_tensors: Roots and logarithms are those of the tensors to the last bit.
    """
    single = dtype == torch.float32
    width = VECTOR_BYTES // (4 if single else 8)
    return (_TYPES + ("" if as_tensors else _FUNCTIONS)).format(
        real="float" if single else "double",
        whole="int32_t" if single else "int64_t",
        largest="FLT_MAX" if single else "DBL_MAX",
        suffix="f" if single else "",
        packed="ps" if single else "pd",
        width=width,
        spread=", ".join(["(x)"] * width),
        block=BLOCK_LANES,
        reals_of=_REALS_OF_INT32 if single else _REALS_OF_INT64,
    ) + (TENSOR_FUNCTIONS if as_tensors else "")


_REALS_OF_INT32 = "#define REALS_OF(x) __builtin_convertvector((x), reals)"
# AVX2 has no conversion of 64-bit whole numbers. 1.5 · 2^52 plus a number of less than 2^51 in size
# holds that number in the last bits.
_REALS_OF_INT64 = """\
#define MAGIC 0x4338000000000000
#define REALS_OF(x) ((reals)((x) + WHOLE(MAGIC)) - (reals)WHOLE(MAGIC))"""
_TYPES = """\
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#ifdef __AVX__
#if defined(__GNUC__) && !defined(__clang__)
#define _IMMINTRIN_H_INCLUDED /* reading all of it takes longer than compiling the rest */
#include <smmintrin.h>
#include <avxintrin.h>
#else
#include <immintrin.h>
#endif
#endif
typedef {real} real;
typedef {whole} whole;
enum {{ WIDTH = {width}, BLOCK = {block} }};
typedef real reals __attribute__((vector_size(32), may_alias));
typedef whole wholes __attribute__((vector_size(32), may_alias));
typedef real real_row[BLOCK] __attribute__((aligned(32)));
typedef whole whole_row[BLOCK] __attribute__((aligned(32)));
#define REAL(x) ((reals){{{spread}}})
#define WHOLE(x) ((wholes){{{spread}}})
{reals_of}
#define WHOLES_OF(x) __builtin_convertvector((x), wholes)
#define SELECT(m, a, b) ((__typeof__(a))(((wholes)(a) & (m)) | ((wholes)(b) & ~(m))))
#define ABSOLUTE(x) ((reals)((wholes)(x) & ~(wholes)REAL(-0.0)))
#define SIGN(x) SELECT((x) > REAL(0), REAL(1), SELECT((x) < REAL(0), REAL(-1), REAL(0)))
#ifdef __AVX__ /* the instructions return their second operand where either is not a number */
#define LESSER(a, b) ((reals)_mm256_min_{packed}(a, b))
#define GREATER(a, b) ((reals)_mm256_max_{packed}(a, b))
#define NEAREST(x) ((reals)_mm256_round_{packed}(x, 8)) /* to even where two are as near */
#else
static inline reals nearest_of(reals x)
{{
  for (int i = 0; i < WIDTH; i++) x[i] = rint{suffix}(x[i]);
  return x;
}}
#define NEAREST(x) nearest_of(x)
#define LESSER(a, b) SELECT((a) < (b), a, b)
#define GREATER(a, b) SELECT((a) > (b), a, b)
#endif
#define LOWER(a, b) SELECT((a) != (a), a, LESSER(a, b))
#define HIGHER(a, b) SELECT((a) != (a), a, GREATER(a, b))
#define AT_LEAST(x, low) GREATER(low, x)
#define AT_MOST(x, high) LESSER(high, x)
#define AT_LEAST_WHOLE(x, low) SELECT((x) < (low), low, x)
#define AT_MOST_WHOLE(x, high) SELECT((x) > (high), high, x)
#define FINITE(x) (ABSOLUTE(x) <= REAL({largest}))
"""
_FUNCTIONS = """\
#define LANE_BY_LANE(name, function) \\
  static inline reals name(reals x) \\
  {{ \\
    for (int i = 0; i < WIDTH; i++) x[i] = function(x[i]); \\
    return x; \\
  }}
LANE_BY_LANE(logarithms, log{suffix})
LANE_BY_LANE(logarithms_of_1_plus, log1p{suffix})
LANE_BY_LANE(exponentials, exp{suffix})
LANE_BY_LANE(hyperbolic_tangents, tanh{suffix})
#ifdef __AVX__
static inline reals square_roots(reals x) {{ return (reals)_mm256_sqrt_{packed}(x); }}
#else
LANE_BY_LANE(square_roots, sqrt{suffix})
#endif
"""
COPIES = """\
/* A whole block by a loop of known length, fewer lanes vector by vector and then one by one. */
#define COPY(target, source, n) do { \\
    int l = 0; \\
    if ((n) == BLOCK) for (; l < BLOCK; l++) (target)[l] = (source)[l]; \\
    for (; l + WIDTH <= (n); l += WIDTH) \\
      for (int k = 0; k < WIDTH; k++) (target)[l + k] = (source)[l + k]; \\
    for (; l < (n); l++) (target)[l] = (source)[l]; } while (0)
/* Lanes of a vector that the block does not fill repeat its last lane. */
#define READ(row, source, n) do { \\
    COPY(row, source, n); \\
    for (int l = (n); l % WIDTH; l++) (row)[l] = (row)[(n) - 1]; } while (0)
#define WRITE COPY
#ifdef __AVX__ /* past the caches, which would fetch every line that is written */
#define STREAM(target, row, n) do { \\
    if ((n) == BLOCK && sizeof(*(target)) == sizeof(*(row)) && (uintptr_t)(target) % 32 == 0) \\
      for (int l = 0; l < BLOCK; l += WIDTH) \\
        _mm256_stream_si256((__m256i *)&(target)[l], *(const __m256i *)&(row)[l]); \\
    else WRITE(target, row, n); } while (0)
#define FINISH_STREAMS _mm_sfence /* before another thread is told */
#else
#define STREAM WRITE
#define FINISH_STREAMS() ((void)0)
#endif
#define WRITE_FLAGS(target, row, n) do { \\
    if ((n) == BLOCK) for (int l = 0; l < BLOCK; l++) (target)[l] = (row)[l] & 1; \\
    else for (int l = 0; l < (n); l++) (target)[l] = (row)[l] & 1; } while (0)
"""
"""Copies between rows of a block and columns of arrays; a whole block in vectors."""
