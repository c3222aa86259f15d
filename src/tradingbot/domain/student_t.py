"""Points of Student's t: how far out few draws put what many draws have at z."""

from __future__ import annotations

import math
from functools import lru_cache

_MANY = 1e5
"""Degrees of freedom from which two terms of Cornish & Fisher leave less than rounding."""
_FEWEST = 1.0
_ROUNDING = 1e-15
_TINY = 1e-300


@lru_cache(maxsize=4096)
def student_point(z: float, freedom: float) -> float:
    """Return the point of Student's t beyond which lies as much as beyond z of the normal.

    Args:
        z: Standard errors, 0 or more.
        freedom: Degrees of freedom, not whole where dependent draws count as fewer. Fewer than one
            count as one: a spread that one draw tells is not known at all.
    """
    freedom = max(freedom, _FEWEST)
    if z <= 0.0:
        return 0.0
    if freedom >= _MANY:
        first, second = (z**3 + z) / 4.0, (5.0 * z**5 + 16.0 * z**3 + 3.0 * z) / 96.0
        return z + first / freedom + second / freedom**2
    beyond = math.erfc(z / math.sqrt(2.0))
    if beyond <= 0.0:
        return math.inf
    low, high = z, 2.0 * z
    while _both_tails(high, freedom) > beyond:
        low, high = high, 2.0 * high
    while high - low > 4.0 * _ROUNDING * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _both_tails(middle, freedom) > beyond else (low, middle)
    return 0.5 * (low + high)


def _both_tails(point: float, freedom: float) -> float:
    """Return the probability that |t| exceeds a point: an incomplete beta function."""
    whole = freedom + point * point
    far, near = freedom / whole, point * point / whole
    if far < (freedom / 2.0 + 1.0) / (freedom / 2.0 + 2.5):
        return _incomplete_beta(far, near, freedom / 2.0, 0.5)
    return 1.0 - _incomplete_beta(near, far, 0.5, freedom / 2.0)


def _incomplete_beta(x: float, rest: float, a: float, b: float) -> float:
    """Return I_x(a, b) by its continued fraction; `rest` is 1 − x without its rounding.

    Source: DLMF 8.17.22, evaluated by Lentz's method.
    """
    scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(scale + a * math.log(x) + b * math.log(rest)) / a
    above, below = 1.0, 1.0 / _kept_off_zero(1.0 - (a + b) * x / (a + 1.0))
    fraction, step = below, 0
    while True:
        step += 1
        even = step * (b - step) * x / ((a + 2 * step - 1.0) * (a + 2 * step))
        odd = -(a + step) * (a + b + step) * x / ((a + 2 * step) * (a + 2 * step + 1.0))
        for part in (even, odd):
            below = 1.0 / _kept_off_zero(1.0 + part * below)
            above = _kept_off_zero(1.0 + part / above)
            fraction *= below * above
        if abs(below * above - 1.0) < _ROUNDING:
            return front * fraction


def _kept_off_zero(number: float) -> float:
    return number if abs(number) > _TINY else _TINY
