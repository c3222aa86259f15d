"""Volatility that clusters: a slow and a fast autoregression of log volatility, with leverage."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tradingbot.data.synthetic.market import FloatArray


@dataclass(frozen=True)
class VolatilityModel:
    """Log volatility = slow + fast part, each mean-reverting in trading time."""

    slow_std: float  # long-run standard deviation of the slow part
    fast_std: float  # of the fast part
    slow_sessions: float  # sessions after which a deviation has shrunk to 1/e
    fast_sessions: float
    leverage: float  # correlation of the innovation with the return's shock, in [-1, 1]

    @property
    def log_variance(self) -> float:
        """Long-run variance of log volatility; leverage ties the two parts together."""
        rates = 1 / self.slow_sessions, 1 / self.fast_sessions
        tie = self.leverage**2 * 2 * np.sqrt(rates[0] * rates[1]) / (rates[0] + rates[1])
        variance = self.slow_std**2 + self.fast_std**2 + 2 * tie * self.slow_std * self.fast_std
        return float(variance)


def volatility_paths(
    model: VolatilityModel,
    *,
    shocks: FloatArray,
    slow_noise: FloatArray,
    fast_noise: FloatArray,
    elapsed: FloatArray,
) -> FloatArray:
    """Volatility of each column relative to its long-run root mean square.

    The value at row t depends on rows before t only: it is known when bar t begins.

    Args:
        model: Strengths and time scales.
        shocks: (T, n) standard normal shocks of the returns.
        slow_noise: (T + 1, n) standard normal; the first row sets where the slow part starts.
        fast_noise: (T + 1, n) the same for the fast part.
        elapsed: (T,) sessions that pass with each bar.

    Returns:
        (T, n) positive multipliers whose long-run mean square is 1.
    """
    free = np.sqrt(1 - model.leverage**2)
    log_level = np.full(shocks.shape, -model.log_variance)
    for std, sessions, noise in (
        (model.slow_std, model.slow_sessions, slow_noise),
        (model.fast_std, model.fast_sessions, fast_noise),
    ):
        keep = np.exp(-elapsed / sessions)
        innovations = free * noise[1:] + model.leverage * shocks
        innovations *= (std * np.sqrt(1 - keep**2))[:, None]
        log_level += autoregression(std * noise[0], keep, innovations)
    level: FloatArray = np.exp(log_level)
    return level


def autoregression(start: FloatArray, keep: FloatArray, innovations: FloatArray) -> FloatArray:
    """Run x[t+1] = keep[t] · x[t] + innovations[t] from x[0] = start.

    Args:
        start: (n,) first row.
        keep: (T,) factor for the step out of each row.
        innovations: (T, n).

    Returns:
        (T, n); the last innovation has no effect.
    """
    path = np.empty_like(innovations)
    now = np.array(start)
    for t, factor in enumerate(keep.tolist()):
        path[t] = now
        now *= factor
        now += innovations[t]
    return path
