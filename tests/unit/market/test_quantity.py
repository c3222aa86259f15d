"""Units with the decimals of a venue are the floats of its decimal texts, everywhere."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
import torch

from fixtures.scalar_courses import rules_of, run
from tradingbot.domain.errors import ConfigError
from tradingbot.domain.seeding import stream
from tradingbot.market.params import AccountRules, SimulatorParams
from tradingbot.market.quantity import round_units, truncate_units


@pytest.mark.parametrize("decimals", [0, 2, 9])
def test_truncated_units_are_the_float_of_their_decimal_text(decimals: int) -> None:
    rng = stream(3, "quantity")
    numbers = rng.lognormal(0.0, 4.0, 2_000) * rng.choice([-1.0, 1.0], 2_000)
    numbers = np.clip(numbers, -1e5, 1e5)

    cut = truncate_units(torch.from_numpy(numbers), decimals)

    for number, made in zip(numbers.tolist(), cut.tolist(), strict=True):
        text = f"{made:.{decimals}f}"
        assert made == float(Decimal(text))
        assert abs(made) <= abs(number) < abs(made) + 1.0001 * 10.0**-decimals
        assert truncate_units(torch.tensor(made, dtype=torch.float64), decimals).item() == made


def test_sums_that_miss_by_a_bit_are_the_decimal_number() -> None:
    tenths = torch.full((1,), 0.1, dtype=torch.float64)
    total = sum([tenths] * 9, tenths)
    assert total.item() != 1.0
    assert round_units(total, 9).item() == 1.0
    assert truncate_units(total, 9).item() == 1.0
    assert truncate_units(torch.tensor(0.29, dtype=torch.float64), 2).item() == 0.29


def test_gradient_passes_as_if_nothing_were_cut() -> None:
    units = torch.tensor([1.239], dtype=torch.float64, requires_grad=True)
    (truncate_units(units, 2) * 3.0 + round_units(units, 1)).sum().backward()
    assert units.grad is not None
    assert units.grad.item() == 4.0


@pytest.mark.parametrize("space", ["continuous", "target short", "discrete"])
def test_orders_fills_and_positions_of_a_course_have_no_more_decimals(space: str) -> None:
    course = run(space, "decimals")

    for name in ("order", "fill.units", "exit_fill.units", "after.units"):
        found = course[name]
        assert np.array_equal(found, np.round(found * 100.0) / 100.0), name
        assert (found != 0.0).any()
    for name in ("fill.price", "fill.fee", "exit_fill.price", "exit_fill.fee"):
        found = course[name]
        assert found.tolist() == [[float(f"{x:.9f}") for x in row] for row in found], name
    before = np.vstack([np.zeros(course["fill.units"].shape[1]), course["after.units"][:-1]])
    exact = np.round((before + course["fill.units"] + course["exit_fill.units"]) * 100.0)
    reset = course["terminated"] + course["truncated"]
    kept = np.vstack([np.zeros(reset.shape[1]), reset[:-1]]) == 0.0
    assert np.array_equal(exact[kept], np.round(course["after.units"] * 100.0)[kept])


def test_without_the_setting_units_have_any_number_of_decimals() -> None:
    course = run("continuous", "stops")
    assert (course["fill.units"] != np.round(course["fill.units"] * 1e9) / 1e9).any()
    assert rules_of("continuous", "stops").account.quantity_decimals is None


@pytest.mark.parametrize("wrong", [-1, 10, 1.5, True, "2"])
def test_decimals_that_no_venue_has_are_refused(wrong: object) -> None:
    with pytest.raises(ConfigError, match="quantity_decimals must be a whole number of 0 to 9"):
        replace(SimulatorParams(), account=AccountRules(quantity_decimals=wrong))  # type: ignore[arg-type]
