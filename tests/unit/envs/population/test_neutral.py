"""Agents that are market-neutral together: in training, in backtests, by rules and networks."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from fixtures.trading_worlds import short_config, small_world
from tradingbot.agents.policy import MarketRule, PolicyInputs
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import ConfigError
from tradingbot.domain.seeding import stream
from tradingbot.envs.config import EnvConfig, read_config
from tradingbot.envs.population import PRIVATE_NAMES, PopulationTask, evaluation_task
from tradingbot.evaluation.backtest.backtests import backtest
from tradingbot.market.actions.neutral import neutralise
from tradingbot.market.params import SimulatorParams

GROSS = 0.25
SIZE = PRIVATE_NAMES.index("size")
N, B = 3, 4


def neutral_config(gross_frac: float = GROSS) -> EnvConfig:
    config = short_config("target", smoothing_bars=1)
    rules = config.rules
    return replace(
        config,
        costs="free",
        rules=replace(
            rules,
            account=replace(rules.account, max_participation_frac=1.0),
            limits=replace(rules.limits, allow_short=True, min_trade_ccy=0.0),
            action=replace(rules.action, neutral_gross_frac=gross_frac),
        ),
    )


class Leaning(MarketRule):
    """Wants more of later symbols; long of all."""

    def wants(self, row: torch.Tensor) -> torch.Tensor:
        return 0.2 + 0.3 * (row // small_world().n_bars)


def test_targets_sum_to_zero_and_keep_the_budget() -> None:
    proposed = torch.from_numpy(stream(0, "proposed").uniform(-1.0, 1.0, (50, 8)))

    held = neutralise(proposed, torch.ones_like(proposed, dtype=torch.bool), GROSS)

    torch.testing.assert_close(held.sum(0), torch.zeros(8, dtype=torch.float64))
    torch.testing.assert_close(held.abs().mean(0), torch.full((8,), GROSS, dtype=torch.float64))
    assert torch.equal(held.argmax(0), proposed.argmax(0))


def test_small_proposals_stay_small_and_one_large_one_does_not_break_the_sum() -> None:
    everyone = torch.ones(20, dtype=torch.bool)
    small, large = torch.full((20,), -0.01), torch.full((20,), -1.0)
    small[0], large[0] = 0.01, 1.0

    assert neutralise(small, everyone, GROSS)[0] == pytest.approx(0.019)
    held = neutralise(large, everyone, 1.0)
    assert held.max() == 1.0
    assert held.sum() == pytest.approx(0.0, abs=1e-6)


def test_symbols_without_a_bar_count_for_nothing_and_what_is_no_number_stays_none() -> None:
    proposed = torch.tensor([0.2, 0.4, 1.0, torch.nan])

    held = neutralise(proposed, torch.tensor([True, True, False, True]), 1.0)

    torch.testing.assert_close(held[:2], torch.tensor([-0.1, 0.1]))
    assert held[3].isnan()


def test_agents_of_an_environment_trade_the_same_bars_and_their_positions_cancel() -> None:
    task = PopulationTask(small_world(), neutral_config(), n_envs=B, seed=3)
    state, seen = task.begin()
    rng, held = stream(2, "actions"), 0

    for _ in range(12):
        bars = seen.row % task.world.n_bars
        assert (bars == bars[0]).all()
        action = torch.from_numpy(rng.uniform(-1.0, 1.0, (N, B))).float()
        made = task.step(state, action)
        state, seen = made.state, made.observation
        both = task.world.present[:, bars[0]] & task.world.present[:, bars[0] + 1]
        traded = torch.from_numpy(both.all(axis=0))
        settled = ~(made.terminated | made.truncated).any(0) & traded
        size = seen.private[..., SIZE][:, settled]
        assert (size.sum(0).abs() < 0.03).all()  # prices moved since the fill
        assert (size.abs().mean(0) < GROSS + 0.02).all()
        held += int((size.abs().amax(0) > 0.05).sum())
    assert len(set(bars[0].tolist())) > 1
    assert held > 3 * B


def test_gradients_of_neutral_agents_flow_to_all_of_them() -> None:
    task = PopulationTask(small_world(), neutral_config(), n_envs=B, seed=3)
    state, _ = task.begin()
    action = torch.from_numpy(stream(3, "actions").uniform(-0.2, 0.2, (N, B))).float()
    action.requires_grad_(True)

    reward = task.differentiable_step(state, action).reward
    reward[0].sum().backward()

    assert (action.grad[1:].abs() > 0.0).any()


def test_backtest_holds_what_the_task_holds() -> None:
    world, config = small_world(), neutral_config(1.0)
    first, last = 250, 290
    task = evaluation_task(world, config, first_bar=first, last_bar=last, dtype=torch.float64)
    state, _ = task.begin()
    wanted = torch.tensor([[0.2], [0.5], [0.8]])
    wealth = [task.wealth(state)]
    for _ in range(last - first):
        state = task.step(state, wanted).state
        wealth.append(task.wealth(state))

    def network(seen: PolicyInputs) -> torch.Tensor:
        return wanted[:, 0].to(seen.size.dtype)

    bars = IndexRange(first, last + 1)
    found = backtest(world, config, network, name="network", bars_per_year=1764.0, bars=bars)

    torch.testing.assert_close(torch.from_numpy(found.equity), torch.stack(wealth)[:, :, 0])


@pytest.mark.parametrize("n_bars", [40, 60])  # as tensors, and compiled
def test_rule_in_a_neutral_market_is_long_and_short(n_bars: int) -> None:
    bars = IndexRange(250, 250 + n_bars)

    found = backtest(
        small_world(),
        neutral_config(1.0),
        Leaning(),
        name="leaning",
        bars_per_year=1764.0,
        bars=bars,
    )

    low, middle, high = found.position_frac[1:].T
    assert (low < -0.2).all()
    assert abs(middle).max() < 0.1
    assert (high > 0.2).all()


def test_neutral_targets_need_shorts_and_many_accounts() -> None:
    rules = SimulatorParams()
    neutral = replace(rules.action, neutral_gross_frac=0.5)

    with pytest.raises(ConfigError, match="must be 0 unless space is target and allow_short"):
        replace(rules, action=neutral)
    with pytest.raises(ConfigError, match="environments of single accounts"):
        read_config(neutral_config())
