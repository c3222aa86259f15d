"""Planted leaks, each of another kind, and clean counterparts that must not be flagged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tradingbot.features.causality.subject import Fitted, ProofSubject, Rows
from tradingbot.features.inputs import MarketInputs

TRAIN_ROWS = 210
VALIDATION_END = 266
BOUNDARIES = (TRAIN_ROWS, VALIDATION_END)
DAY = "datetime64[D]"


@dataclass(frozen=True)
class Specimen:
    subject: ProofSubject
    leaks: bool


ZOO: dict[str, Specimen] = {}


def leak(scope: str = "symbol") -> Callable:
    return _collect(scope, leaks=True)


def clean(scope: str = "symbol") -> Callable:
    return _collect(scope, leaks=False)


def _collect(scope: str, *, leaks: bool) -> Callable:
    def collect(function: Callable) -> Callable:
        def compute(inputs: MarketInputs) -> dict:
            return {"value": function(inputs)}

        name = function.__name__
        ZOO[name] = Specimen(ProofSubject(name, compute, scope), leaks)
        return function

    return collect


def returns(close: np.ndarray) -> np.ndarray:
    past = np.full_like(close, np.nan)
    past[1:] = close[1:] / close[:-1] - 1
    return past


def following(values: np.ndarray, bars: int = 1) -> np.ndarray:
    later = np.full_like(values, np.nan)
    later[:-bars] = values[bars:]
    return later


def forward_fill(values: np.ndarray) -> np.ndarray:
    rows = np.where(np.isnan(values), 0, np.arange(len(values))[:, None])
    return np.take_along_axis(values, np.maximum.accumulate(rows, axis=0), axis=0)


def window_mean(values: np.ndarray, bars: int) -> np.ndarray:
    total = np.full_like(values, np.nan)
    for row in range(bars - 1, len(values)):
        total[row] = values[row - bars + 1 : row + 1].mean(axis=0)
    return total


def as_of(inputs: MarketInputs, name: str, times: np.ndarray) -> np.ndarray:
    """Latest event of each symbol at or before each time; NaN before the first."""
    events = inputs.covariates[name]
    joined = np.full(inputs.shape, np.nan)
    for column in range(inputs.shape[1]):
        own = events.symbol_index == column
        at, values = events.available_at[own], events.values[own]
        index = np.searchsorted(at, times, side="right") - 1
        if own.any():
            joined[:, column] = np.where(index >= 0, values[np.maximum(index, 0)], np.nan)
    return joined


def session_last(inputs: MarketInputs) -> np.ndarray:
    """Last bar of each session, told by the clock (20:00 UTC or later), not by the next row."""
    minute = (inputs.closed_at - inputs.closed_at.astype(DAY)).astype("timedelta64[m]").astype(int)
    return minute >= 21 * 60


def weekday(inputs: MarketInputs) -> np.ndarray:
    return (inputs.closed_at.astype(DAY).astype(int) + 3) % 7


# Leaks ---------------------------------------------------------------------------------------


@leak()
def next_bar_shift(m):
    return following(m.bars["close"])


@leak()
def forward_return_label_as_feature(m):
    return following(m.bars["close"], 5) / m.bars["close"] - 1


@leak()
def centred_window(m):
    close = m.bars["close"]
    smooth = np.full_like(close, np.nan)
    smooth[2:-2] = sum(close[2 + i : len(close) - 2 + i] for i in range(-2, 3)) / 5
    return smooth


@leak()
def whole_sample_scaling(m):
    r = returns(m.bars["close"])
    return (r - np.nanmean(r, axis=0)) / np.nanstd(r, axis=0)


@leak()
def back_fill(m):
    return forward_fill(m.bars["close"][::-1])[::-1]


@leak()
def future_extremum(m):
    return np.fmax.accumulate(m.bars["high"][::-1], axis=0)[::-1] / m.bars["close"]


@leak()
def same_day_sentiment(m):
    end_of_day = m.closed_at.astype(DAY) + 1
    return as_of(m, "sentiment", end_of_day.astype("datetime64[us]") - np.timedelta64(1, "us"))


@leak()
def sentiment_of_the_next_hour_and_a_half(m):
    return as_of(m, "sentiment", m.closed_at + np.timedelta64(90, "m"))


@leak()
def sentiment_up_to_a_minute_late(m):
    """No event of this market lies in that minute: only one put there can tell."""
    return as_of(m, "sentiment", m.closed_at + np.timedelta64(1, "m"))


@leak()
def resample_label_left(m):
    """The session's final close stamped on the session's first bar."""
    day = m.closed_at.astype(DAY)
    daily = np.empty_like(m.bars["close"])
    for d in np.unique(day):
        daily[day == d] = forward_fill(m.bars["close"][day == d])[-1]
    return daily


@leak("market")
def cross_sectional_rank_of_tomorrow(m):
    tomorrow = np.nan_to_num(following(m.bars["close"]) / m.bars["close"], nan=1.0)
    return tomorrow.argsort(axis=1).argsort(axis=1)


@leak("market")
def market_mean_one_bar_ahead(m):
    return np.nanmean(following(returns(m.bars["close"])), axis=1)


@leak()
def mask_valid_only_if_next_bar_exists(m):
    valid = m.present.copy()
    valid[:-1] &= m.present[1:]
    return valid


@leak("market")
def mask_only_survivors(m):
    return m.present & m.present[-5:].any(axis=0)


@leak()
def off_by_one_in_one_symbol(m):
    value = returns(m.bars["close"])
    value[:, 4] = following(value)[:, 4]
    return value


@leak()
def one_symbol_on_session_last_bars(m):
    value = returns(m.bars["close"])
    rows = session_last(m)
    value[rows, 3] = following(value)[rows, 3]
    return value


@leak()
def only_on_session_last_bars(m):
    value = returns(m.bars["close"])
    return np.where(session_last(m)[:, None], following(value), value)


@leak("market")
def market_on_session_last_bars(m):
    value = np.nanmean(returns(m.bars["close"]), axis=1)
    return np.where(session_last(m), following(value), value)


@leak()
def only_on_wednesdays(m):
    value = returns(m.bars["close"])
    return np.where((weekday(m) == 2)[:, None], following(value), value)


@leak("market")
def scaler_fitted_past_the_boundary(m):
    r = returns(m.bars["close"])[: TRAIN_ROWS + 1]
    return Fitted(np.array([np.nanmean(r), np.nanstd(r)]), as_of=TRAIN_ROWS - 1)


@leak("market")
def per_symbol_scaler_with_one_symbol_past_the_boundary(m):
    r = returns(m.bars["close"])
    mean = np.nanmean(r[:TRAIN_ROWS], axis=0)
    mean[3] = np.nanmean(r[: TRAIN_ROWS + 2, 3])
    return Fitted(mean, as_of=TRAIN_ROWS - 1)


@leak()
def only_at_the_train_boundary(m):
    value = returns(m.bars["close"])
    if len(value) > TRAIN_ROWS:
        value[TRAIN_ROWS - 1] = value[TRAIN_ROWS]
    return value


@leak("market")
def market_only_at_the_validation_boundary(m):
    value = np.nanmean(returns(m.bars["close"]), axis=1)
    if len(value) > VALIDATION_END:
        value[VALIDATION_END - 1] += value[VALIDATION_END]
    return value


@leak("market")
def scaled_before_its_scaler_is_known(m):
    r = returns(m.bars["close"])
    return Rows(r / np.nanstd(r[:TRAIN_ROWS]), known_from=TRAIN_ROWS - 40)


@leak()
def filter_forwards_and_backwards(m):
    smooth = forward_fill(m.bars["close"])
    for values in (smooth, smooth[::-1]):
        for row in range(1, len(values)):
            old, new = values[row - 1], values[row]
            values[row] = np.where(np.isnan(old), new, 0.8 * old + 0.2 * new)
    return smooth


@leak()
def future_split_factor(m):
    """Halve the past whenever a later price falls to half: back-adjustment by a later event."""
    close = forward_fill(m.bars["close"])
    halved = np.where(close[1:] < 0.9 * close[:-1], 0.5, 1.0)
    factor = np.ones_like(close)
    factor[:-1] = np.cumprod(halved[::-1], axis=0)[::-1]
    return close * factor


@leak()
def percentile_in_whole_sample(m):
    close = m.bars["close"]
    rank = np.full_like(close, np.nan)
    for column in range(close.shape[1]):
        rank[:, column] = np.searchsorted(np.sort(close[:, column]), close[:, column])
    return rank


@leak()
def detrended_by_global_regression(m):
    close = np.log(np.abs(forward_fill(m.bars["close"])) + 1)
    x = np.arange(len(close)) - (len(close) - 1) / 2
    slope = np.nansum(x[:, None] * close, axis=0) / np.sum(x * x)
    return close - np.nanmean(close, axis=0) - slope * x[:, None]


@leak()
def last_revision_kept(m):
    """One value per symbol and day, the last revision, used from the day's first bar on."""
    events = m.covariates["sentiment"]
    value = np.full(m.shape, np.nan)
    day = m.closed_at.astype(DAY)
    for column, at, revised in zip(
        events.symbol_index, events.available_at.astype(DAY), events.values, strict=True
    ):
        value[day == at, column] = revised
    return value


@leak()
def gaps_imputed_by_global_mean(m):
    close = m.bars["close"]
    return np.where(np.isnan(close), np.nanmean(close, axis=0), close)


@leak()
def time_to_next_event(m):
    events = m.covariates["sentiment"]
    wait = np.full(m.shape, np.nan)
    for column in range(m.shape[1]):
        at = events.available_at[events.symbol_index == column]
        index = np.searchsorted(at, m.closed_at, side="right")
        known = index < len(at)
        wait[known, column] = (at[index[known]] - m.closed_at[known]).astype(float)
    return wait


@leak()
def time_to_next_bar(m):
    wait = np.full(m.shape, -1.0)
    gap = np.diff(m.closed_at).astype(float)
    wait[:-1] = gap[:, None]
    return wait


@leak()
def defined_where_a_label_can_be_made(m):
    """NaN before the test period in a row that is the last: only a shorter history tells."""
    value = returns(m.bars["close"])
    if len(value) <= VALIDATION_END:
        value[-1] = np.nan
    return value


@leak()
def defined_unless_the_next_row_is_late(m):
    """NaN where the next row of a session is not 30 or 60 minutes off: only other times tell."""
    value = returns(m.bars["close"])
    gap = np.diff(m.closed_at).astype("timedelta64[m]").astype(int)
    late = ~np.isin(gap, (30, 60)) & ~session_last(m)[:-1]
    value[:-1][late] = np.nan
    return value


@leak()
def fourier_smoothing(m):
    spectrum = np.fft.rfft(np.nan_to_num(m.bars["close"]), axis=0)
    spectrum[20:] = 0
    return np.fft.irfft(spectrum, n=m.shape[0], axis=0)


@leak()
def tiny_leak_of_one_ulp(m):
    close = m.bars["close"]
    rises = following(close) > close
    return np.where(rises, np.nextafter(close, np.inf), close)


@leak()
def leak_in_the_sign_of_zero(m):
    close = m.bars["close"]
    return np.where(following(close) > close, 0.0, -0.0)


@leak()
def leak_in_the_nan_pattern(m):
    close = m.bars["close"]
    return np.where(following(close) > close, returns(close), np.nan)


@leak()
def leak_in_the_dtype(m):
    # The values are exact in both types: only the type tells.
    return m.present.astype(np.float32 if np.nanmax(m.bars["close"]) > 500 else np.float64)


@leak("market")
def leak_in_the_shape(m):
    listed = m.present.any(axis=0) & m.present[-1]
    return m.bars["close"][:, listed]


@leak()
def refuses_to_compute_when_the_future_is_bad(m):
    if np.isinf(m.bars["close"]).any():
        raise ValueError("infinite price")
    return returns(m.bars["close"])


@leak("market")
def principal_component_of_whole_sample(m):
    r = np.nan_to_num(returns(m.bars["close"]), posinf=0.0, neginf=0.0)
    r = np.clip(r, -1, 1)
    _, vectors = np.linalg.eigh(r.T @ r)
    return r @ vectors[:, -1]


@leak("market")
def symbols_ordered_by_final_size(m):
    order = np.argsort(np.nansum(m.bars["volume"], axis=0), kind="stable")
    return m.bars["close"][:, order]


@leak()
def leak_one_week_ahead_in_one_symbol_after_validation(m):
    value = returns(m.bars["close"])
    if len(value) > VALIDATION_END + 7:
        value[VALIDATION_END, 2] = np.nansum(m.bars["volume"][VALIDATION_END : VALIDATION_END + 8])
        value[VALIDATION_END, 5] = m.bars["open"][VALIDATION_END + 7, 5]
    return value


@leak()
def first_bar_of_a_late_listing(m):
    value = returns(m.bars["close"])
    first = int(np.argmax(m.present[:, 1]))
    if first + 1 < len(value):
        value[first, 1] = m.bars["volume"][first + 1, 1]
    return value


@leak()
def last_bar_before_gaps_of_one_symbol(m):
    value = returns(m.bars["close"])
    resumed = following(m.present.astype(float))[:, 4] == 0
    value[m.present[:, 4] & resumed, 4] = 7.0
    return value


# Clean counterparts --------------------------------------------------------------------------


@clean()
def previous_bar_shift(m):
    past = np.full_like(m.bars["close"], np.nan)
    past[1:] = m.bars["close"][:-1]
    return past


@clean()
def trailing_window(m):
    return window_mean(m.bars["close"], 5)


@clean()
def expanding_scaling(m):
    r = np.nan_to_num(returns(m.bars["close"]))
    count = np.arange(1, len(r) + 1)[:, None]
    mean = np.cumsum(r, axis=0) / count
    return (r - mean) / np.sqrt(np.cumsum(r * r, axis=0) / count + 1e-9)


@clean()
def forward_filled(m):
    return forward_fill(m.bars["close"])


@clean()
def past_extremum(m):
    return np.fmax.accumulate(m.bars["high"], axis=0) / m.bars["close"]


@clean()
def sentiment_as_of_available_at(m):
    return as_of(m, "sentiment", m.closed_at)


@clean()
def previous_sessions_close(m):
    day = m.closed_at.astype(DAY)
    close = forward_fill(m.bars["close"])
    first = np.searchsorted(day, day)
    return np.where((first > 0)[:, None], close[np.maximum(first - 1, 0)], np.nan)


@clean("market")
def cross_sectional_rank_of_today(m):
    today = np.nan_to_num(returns(m.bars["close"]), nan=0.0)
    return today.argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")


@clean("market")
def market_mean_of_today(m):
    return np.nanmean(returns(m.bars["close"]), axis=1)


@clean()
def mask_valid_if_last_two_bars_exist(m):
    valid = m.present.copy()
    valid[1:] &= m.present[:-1]
    return valid


@clean("market")
def scaler_fitted_on_train(m):
    r = returns(m.bars["close"])[:TRAIN_ROWS]
    return Fitted(np.array([np.nanmean(r), np.nanstd(r)]), as_of=TRAIN_ROWS - 1)


@clean("market")
def scaled_by_train(m):
    r = returns(m.bars["close"])
    return Rows(r / np.nanstd(r[:TRAIN_ROWS]), known_from=TRAIN_ROWS - 1)


@clean()
def filter_forwards(m):
    smooth = forward_fill(m.bars["close"])
    for row in range(1, len(smooth)):
        old, new = smooth[row - 1], smooth[row]
        smooth[row] = np.where(np.isnan(old), new, 0.8 * old + 0.2 * new)
    return smooth


@clean()
def split_factor_known_so_far(m):
    close = forward_fill(m.bars["close"])
    factor = np.ones_like(close)
    factor[1:] = np.cumprod(np.where(close[1:] < 0.9 * close[:-1], 2.0, 1.0), axis=0)
    return close * factor


@clean()
def time_since_last_event(m):
    events = m.covariates["sentiment"]
    age = np.full(m.shape, np.nan)
    for column in range(m.shape[1]):
        at = events.available_at[events.symbol_index == column]
        index = np.searchsorted(at, m.closed_at, side="right") - 1
        known = index >= 0
        age[known, column] = (m.closed_at[known] - at[index[known]]).astype(float)
    return age


@clean()
def day_of_the_week(m):
    return np.repeat(np.sin(2 * np.pi * weekday(m) / 7)[:, None], m.shape[1], axis=1)


@clean()
def session_last_by_the_clock(m):
    return np.repeat(session_last(m)[:, None], m.shape[1], axis=1)


@clean("market")
def constant(m):
    return np.full(m.shape, 0.5)


@clean()
def single_precision(m):
    return returns(m.bars["close"]).astype(np.float32)


@clean()
def several_numbers_per_symbol(m):
    close = m.bars["close"]
    return np.stack([close, returns(close), window_mean(close, 3)], axis=-1)
