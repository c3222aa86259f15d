"""A master beside its sleeves' agents: what a bundle says of it, and how far its graph is off."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.domain.errors import ConfigError
from tradingbot.domain.plain_values import as_plain_values, read_record
from tradingbot.domain.seeding import stream as random_stream
from tradingbot.market.costs import cost_profile
from tradingbot.market.params import SimulatorParams
from tradingbot.market.portfolio.inputs import OWN_INPUTS, PORTFOLIO_INPUTS, member_names
from tradingbot.runs.directory import RunDirectory
from tradingbot.runs.master import StoredChain
from tradingbot.serving.bundle import BundleRun, PortfolioPart, ProjectionRecord
from tradingbot.serving.export.parity import Gaps, draw_hostile
from tradingbot.serving.golden import TOLERANCE, largest_difference
from tradingbot.serving.served_model import ServedModel

_BOUND = 10.0
_STEP_ROWS = 1_024
"""Rows that are compared at once."""


def describe_portfolio(chain: StoredChain, run: RunDirectory, agents: BundleRun) -> PortfolioPart:
    """Say what a master sees, and by which rules its account and the sleeves trade."""
    assert chain.agents is not None
    assert chain.agents_run is not None
    projection, n_embedding = None, chain.agents.seen_through.width
    if chain.projection is not None:
        mean, directions = chain.projection.mean, chain.projection.directions
        rows = tuple(tuple(row) for row in directions.tolist())
        projection = ProjectionRecord(mean=tuple(mean.tolist()), directions=rows)
        n_embedding = directions.shape[1]
    task = run.record.config["task"]
    rules, sleeve_rules = (
        read_record(SimulatorParams, each.record.config["task"]["rules"], name="task.rules")
        for each in (run, chain.agents_run)
    )
    return PortfolioPart(
        agents=agents,
        member_names=member_names(n_embedding),
        shared_names=chain.record.shared,
        own_names=OWN_INPUTS,
        account_names=PORTFOLIO_INPUTS,
        projection=projection,
        rules=as_plain_values(rules),
        sleeve_rules=as_plain_values(sleeve_rules),
        costs=as_plain_values(cost_profile(task["costs"], task.get("cost_rates", {}))),
    )


def require_agents(chain: StoredChain, run: RunDirectory) -> None:
    """Refuse a master whose sleeves no agents of a run trade.

    Raises:
        ConfigError: Naming what does.
    """
    if chain.agents is None:
        raise ConfigError(
            "sleeves of a portfolio must be traded by agents of a run to be exported",
            was=f"the rule {chain.record.rule}",
            where=run.id,
            remedy="Train the master over a run: environment.portfolio.sleeves=run:NAME",
        )


def n_master_inputs(chain: StoredChain) -> int:
    """Return I, the numbers that a master reads."""
    n, width = chain.master.n_sleeves, chain.master.member_width
    own = n * len(OWN_INPUTS) + len(PORTFOLIO_INPUTS)
    return n * width + len(chain.record.shared) + own


def hostile_views(chain: StoredChain, n_rows: int, *, seed: int = 0) -> NDArray[np.float32]:
    """Draw inputs (n_rows, I) of a master of every size, whole rows of zeros among them."""
    generator = random_stream(seed, "export/master")
    drawn = draw_hostile(generator, (1, n_rows, n_master_inputs(chain)), _BOUND)
    return np.ascontiguousarray(drawn[0])


def with_portfolios(chain: StoredChain, market: Tensor) -> NDArray[np.float32]:
    """Draw what portfolios know of themselves beside what is seen of sleeves, (T, I − P)."""
    n, n_rows = chain.master.n_sleeves, len(market)
    generator = random_stream(0, "export/portfolios")
    capital = generator.dirichlet(np.ones(n + 1), n_rows)
    held = capital[:, :-1] * generator.random((n_rows, n))
    whole = generator.normal(0.0, 0.2, (n_rows, len(PORTFOLIO_INPUTS) - 1))
    own = np.stack([capital[:, :-1], held], axis=-1).reshape(n_rows, -1)
    parts = [market.numpy(), own, capital[:, -1:], whole]
    return np.ascontiguousarray(np.concatenate(parts, axis=-1), dtype=np.float32)


def compare_master(chain: StoredChain, model: ServedModel, inputs: NDArray[Any]) -> Gaps:
    """Compare weights (B, N + 1) with those of double precision, and decisions with PyTorch's."""
    exact = deepcopy(chain.master.head).double()
    largest, n_differ, n_market = 0.0, 0, inputs.shape[1] - _n_private(chain)
    for begin in range(0, len(inputs), _STEP_ROWS):
        rows = inputs[begin : begin + _STEP_ROWS]
        found = model.allocate(rows)
        given = torch.from_numpy(rows)
        theirs = certain = chain.master(given[:, :n_market], given[:, n_market:]).numpy()
        if chain.master.trades:
            with torch.no_grad():
                logits = exact(given.double())[:, : chain.master.n_sleeves]
            certain = chain.master.squash(logits).numpy()
        largest = max(largest, largest_difference(found, certain))
        n_differ += int((np.abs(found - theirs) > TOLERANCE).any(axis=-1).sum())
    return Gaps(largest, len(inputs), n_differ)


def _n_private(chain: StoredChain) -> int:
    return chain.master.n_sleeves * len(OWN_INPUTS) + len(PORTFOLIO_INPUTS)
