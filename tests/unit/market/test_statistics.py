"""Statistics of accounts on hand-computed numbers, for a batch and for one."""

from __future__ import annotations

import math

import pytest
import torch

from fixtures.plain_accounts import accounts
from reference.scalar_simulator import ScalarAccount
from tradingbot.market.maths import FLOAT_MATHS, TENSOR_MATHS
from tradingbot.market.params import SimulatorParams
from tradingbot.market.statistics import account_statistics

# Two bars that returned +3 % and −1 %: mean 1 %, standard deviation 2 %, downside √(0.0001 / 2).
FIELDS = {
    "cash": 50_000.0,
    "units": 100.0,
    "entry": 500.0,
    "mark": 519.7,
    "peak": 103_000.0,
    "return_sum": 0.02,
    "return_squares": 0.001,
    "downside_squares": 0.0001,
    "steps": 2,
    "n_trades": 4,
    "n_wins": 3,
    "gross_profit": 900.0,
    "gross_loss": 300.0,
}
EXPECTED = {
    "return_frac": 0.0197,
    "drawdown_frac": 1.0 - 101_970.0 / 103_000.0,
    "exposure_frac": 51_970.0 / 101_970.0,
    "sharpe": 0.5,
    "sortino": 0.01 / math.sqrt(0.00005),
    "win_rate_frac": 0.75,
    "profit_factor": 3.0,
}


def test_statistics_of_a_batch_by_hand() -> None:
    account = accounts(**FIELDS)

    found = account_statistics(SimulatorParams(), account, TENSOR_MATHS)

    for name, number in EXPECTED.items():
        assert getattr(found, name).tolist() == pytest.approx([number], rel=1e-12), name


def test_statistics_of_one_account_are_those_of_the_batch() -> None:
    found = account_statistics(SimulatorParams(), ScalarAccount(**FIELDS), FLOAT_MATHS)  # type: ignore[arg-type]

    assert found._asdict() == pytest.approx(EXPECTED, rel=1e-12)


def test_statistics_of_an_idle_account_are_zero_and_without_losses_infinite() -> None:
    idle = {"cash": 100_000.0, "peak": 100_000.0, "mark": 1.0}
    found = account_statistics(SimulatorParams(), accounts(**idle), TENSOR_MATHS)
    assert torch.stack(list(found)).tolist() == [[0.0]] * len(found)

    won = account_statistics(SimulatorParams(), accounts(**idle, gross_profit=5.0), TENSOR_MATHS)
    assert won.profit_factor.item() == math.inf


def test_statistics_of_a_ruined_account_are_finite() -> None:
    ruined = {"cash": -10.0, "peak": 100_000.0, "mark": 1.0, "units": -5.0}
    found = account_statistics(SimulatorParams(), accounts(**ruined), TENSOR_MATHS)

    assert all(torch.isfinite(number).all() for number in found)
    assert found.exposure_frac.item() == 0.0
