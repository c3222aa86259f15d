"""What is kept of a master over sleeves with an edge, and over sleeves without. Synthetic data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from fixtures.tiny_portfolio import master_config
from tradingbot.data.splits import IndexRange
from tradingbot.learning.allocation_shrinkage import EQUAL_CASH_FRAC
from tradingbot.networks.set_head import SetHead
from tradingbot.training.action_gate import DIVIDES, ActionGate
from tradingbot.training.data import TrainingData, open_data
from tradingbot.training.results import (
    SelectedPolicy,
    backtest_agents,
    judge_part,
    select_by_validation,
)
from tradingbot.training.setup import TrainingSetup, build_training_setup

SLEEVES: dict[str, object] = {
    "environment.portfolio.sleeves": "sma_cross:fast=1,slow=4",
    "market.start": "2025-01-02",
    "market.params.kappa": 0.9,
    "validation.shrink": True,
}
"""Two sleeves of a crossing of averages, on bars whose planted drift lasts for ten bars."""


def judge_of(setup: TrainingSetup, data: TrainingData, found: SelectedPolicy) -> ActionGate:
    """Return gate A of the test part."""
    return judge_part("test", data.split.test, setup, data, found)[1]


@pytest.mark.parametrize(
    ("kappa", "cash_logit", "kept"),
    [(0.9, 20.0, "equal weight"), (0.9, 0.0, "learned"), (0.0, 0.0, "nothing")],
    ids=["learned to stay in cash", "learned to divide", "noise"],
)
def test_master_keeps_what_its_sleeves_earn_where_it_learned_nothing(
    tmp_path: Path, kappa: float, cash_logit: float, kept: str
) -> None:
    config = master_config(**SLEEVES | {"market.params.kappa": kappa})
    data = open_data(config, tmp_path)
    setup = build_training_setup(config, data, seed=5)
    (head,) = (each for each in setup.learner.networks().values() if isinstance(each, SetHead))
    with torch.no_grad():
        head.biases[-1].fill_(3.0 - cash_logit)

    found = select_by_validation(setup, data)
    bars = IndexRange(data.split.test.start, data.split.test.stop)
    played = backtest_agents(setup, data, bars, found.act)

    if kept != "nothing":  # an allocation that is held has no action to be spread
        assert judge_of(setup, data, found).outcome == f"not applicable, {DIVIDES}"
    assert played.weights is not None
    cash = played.weights[:, -1]
    if kept == "equal weight":
        assert "in equal weight of all sleeves" in found.words
        np.testing.assert_allclose(cash, EQUAL_CASH_FRAC, rtol=1e-5)
    assert found.trades == [kept != "nothing"]
    assert (cash == 1.0).all() == (kept == "nothing")
