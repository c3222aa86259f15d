"""Every registered reward term keeps the contract: bounded, finite, for one as for many."""

from __future__ import annotations

import dataclasses
import inspect
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from fixtures.reward_steps import rollout, scalar_of, wild_step
from tradingbot.market import SimulatorParams
from tradingbot.market.advance import Advanced
from tradingbot.rewards import RewardStack, registered_terms, reward_stack, reward_term
from tradingbot.rewards.presets import REWARD_PRESETS
from tradingbot.rewards.term import OBJECTIVES

NAMES = tuple(registered_terms())
PAGE = Path(__file__).resolve().parents[2] / "docs" / "environments" / "rewards.md"
SPACES = ("continuous", "target", "discrete")
HEADINGS = ("Formula:", "Unit:", "Bounds:", "Version history:")


def alone(name: str) -> RewardStack:
    return reward_stack({name: 1.0})


@pytest.fixture(scope="module")
def wild() -> Advanced:
    return wild_step(1, 8192)


@pytest.fixture(scope="module")
def played() -> list[tuple[SimulatorParams, Advanced]]:
    return [step for space in SPACES for step in rollout(space, 80, n_lanes=8)]


@pytest.mark.parametrize("name", NAMES)
def test_bounds_hold_on_wild_accounts(name: str, wild: Advanced) -> None:
    low, high = alone(name).bounds

    (term,) = alone(name)(SimulatorParams(), wild)

    assert -1.0 <= low < high <= 1.0
    assert torch.isfinite(term).all()
    assert low <= term.min()
    assert term.max() <= high


@pytest.mark.parametrize("name", NAMES)
def test_bounds_hold_in_single_precision(name: str) -> None:
    low, high = alone(name).bounds

    (term,) = alone(name)(SimulatorParams(), wild_step(2, 8192, torch.float32))

    assert term.dtype == torch.float32
    assert torch.isfinite(term).all()
    assert low - 1e-7 <= term.min()
    assert term.max() <= high + 1e-7


@pytest.mark.parametrize("name", NAMES)
def test_one_number_equals_the_batch_on_wild_accounts(name: str, wild: Advanced) -> None:
    stack = alone(name)
    (batch,) = stack(SimulatorParams(), wild)

    for lane in range(0, 8192, 41):
        (one,) = stack.scalar(SimulatorParams(), scalar_of(wild, lane))
        assert batch[lane].item() == pytest.approx(one, rel=1e-12, abs=1e-12), lane


@pytest.mark.parametrize("name", NAMES)
def test_one_number_equals_the_batch_in_a_market(
    name: str, played: list[tuple[SimulatorParams, Advanced]]
) -> None:
    stack, seen = alone(name), []
    for index, (rules, done) in enumerate(played):
        lane = index % 8
        (one,) = stack.scalar(rules, scalar_of(done, lane))
        assert isinstance(one, float)
        assert stack(rules, done)[0, lane].item() == pytest.approx(one, rel=1e-12, abs=1e-12)
        seen.append(one)

    # A term that never moves would agree with anything; no account here falls by 5 %.
    assert len(set(seen)) > 1 or name == "drawdown"


@pytest.mark.parametrize("name", NAMES)
def test_bankrupt_account_gets_a_finite_reward(name: str) -> None:
    *_, (rules, done) = rollout("continuous", 4)
    after = done.after._replace(cash=-2.0 * done.after.cash.abs() - done.after.units.abs() * 1e4)

    assert np.isfinite(alone(name)(rules, done._replace(after=after)).numpy()).all()
    ruined = done._replace(before=done.before._replace(cash=-done.before.cash), after=after)
    assert np.isfinite(alone(name)(rules, ruined).numpy()).all()


@pytest.mark.parametrize("name", NAMES)
def test_specification_has_its_headings(name: str) -> None:
    text = inspect.getdoc(reward_term(name).formula) or ""

    missing = [heading for heading in HEADINGS if f"\n{heading}\n" not in text]
    assert missing == []
    assert f"    {reward_term(name).version}: " in text.split("Version history:")[1]


@pytest.mark.parametrize("name", NAMES)
def test_id_and_objective_are_well_formed(name: str) -> None:
    term = reward_term(name)

    assert re.fullmatch(r"[a-z]+(_[a-z]+)*-v[1-9][0-9]*", term.id)
    assert term.objective in OBJECTIVES


@pytest.mark.parametrize("name", NAMES)
def test_options_are_frozen_and_have_defaults(name: str) -> None:
    options = reward_term(name).make_options({})

    for field in dataclasses.fields(options):  # type: ignore[arg-type]
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(options, field.name, 0.0)


def test_page_states_the_weights_of_every_preset() -> None:
    rows = {
        cells[0].strip("`"): cells[2:]
        for cells in table_rows(PAGE.read_text(encoding="utf-8"))
        if len(cells) == 2 + len(REWARD_PRESETS)
    }

    assert set(rows) == {"term", *NAMES}
    assert [cell.strip("`") for cell in rows["term"]] == list(REWARD_PRESETS)
    for name in NAMES:
        stated = [float(cell or 0.0) for cell in rows[name]]
        assert stated == [weights.get(name, 0.0) for weights in REWARD_PRESETS.values()], name


def test_page_states_the_bounds_and_objective_of_every_term() -> None:
    text = PAGE.read_text(encoding="utf-8")
    bounds = {cells[0].strip("`"): cells[3] for cells in table_rows(text) if len(cells) == 4}
    objectives = {
        cells[0].strip("`"): cells[1]
        for cells in table_rows(text)
        if len(cells) == 2 + len(REWARD_PRESETS)
    }

    for name in NAMES:
        low, high = alone(name).bounds
        assert bounds[name] == f"[{low:g}, {high:g}]".replace("-", "−"), name
        assert objectives[name] == reward_term(name).objective, name


def table_rows(text: str) -> list[list[str]]:
    """Cells of every row of every table, without the lines under headings."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
