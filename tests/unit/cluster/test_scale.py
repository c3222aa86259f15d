"""The model of many GPUs: its limits are those that can be computed by hand."""

from __future__ import annotations

import math
from functools import partial

import pytest

from tradingbot.cluster.scale import (
    ScaleAssumptions,
    gpus_needed,
    scale_row,
    search_seconds,
    stops_at,
    training_seconds,
)

USUAL = ScaleAssumptions()
FREE = ScaleAssumptions(
    floor_s=0.0, hop_s=0.0, item_s=0.0, start_s=0.0, link_bytes_per_s=1e30, driver_bytes_per_s=1e30
)


def test_one_gpu_takes_what_was_measured() -> None:
    for through_driver in (False, True):
        seconds, _ = training_seconds(143, 1, USUAL, through_driver=through_driver)
        assert seconds == pytest.approx(USUAL.training_s)


def test_work_without_costs_scales_with_gpus() -> None:
    for gpus in (1, 11, 13, 143):  # what divides 143 leaves no share uneven
        seconds, _ = training_seconds(143, gpus, FREE, through_driver=False)
        assert seconds == pytest.approx(FREE.training_s / gpus)
    for gpus in (1, 8, 64, 512):
        assert search_seconds(143, gpus, FREE)[0] == pytest.approx(512 * FREE.training_s / gpus)


def test_exchange_through_the_driver_grows_with_workers_and_by_rings_does_not() -> None:
    by_driver = [training_seconds(143, n, USUAL, through_driver=True)[0] for n in (8, 64, 512)]
    by_rings = [training_seconds(143, n, USUAL, through_driver=False)[0] for n in (8, 64, 512)]

    assert by_driver == sorted(by_driver)  # slower with more: 64 × 25 MB each way per step
    assert by_rings == sorted(by_rings, reverse=True)
    # 8 workers: 2 · 8 · 12.68 MB ÷ 3 GB/s + 8 ms, 200 times.
    share = math.ceil(143 / 8) / 143
    step = (15.5 / 200 - 0.010) * share + 0.010 + 2 * 8 * 12.68e6 / 3e9 + 0.008
    assert by_driver[0] == pytest.approx(200 * step, rel=1e-6)


def test_symbols_that_do_not_fit_ask_for_more_gpus() -> None:
    assert gpus_needed(143, USUAL) == 1
    assert gpus_needed(5_000, USUAL) == 3  # 304 GB
    assert math.isnan(training_seconds(5_000, 2, USUAL, through_driver=False)[0])
    assert not math.isnan(search_seconds(5_000, 8, USUAL)[0])


def test_row_is_compared_with_the_fewest_gpus_that_can_do_it() -> None:
    row = scale_row(lambda gpus: (math.nan, "memory") if gpus < 4 else (80.0 / gpus, ""), fewest=4)

    assert [point.efficiency_frac for point in row[1:]] == pytest.approx([1.0, 1.0, 1.0])
    assert math.isnan(row[0].efficiency_frac)


def test_more_symbols_are_divided_further() -> None:
    few, many = (
        stops_at(
            partial(training_seconds, symbols, given=USUAL, through_driver=False),
            gpus_needed(symbols, USUAL),
        )
        for symbols in (143, 5_000)
    )

    assert few < many
    assert stops_at(partial(training_seconds, 143, given=USUAL, through_driver=True)) <= few
