"""Baselines on a world: rules for its bars, random policies that trade as much as one, oracles.

Oracles are for rollouts beside rules and learners; never for a learner to use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from tradingbot.agents.baselines.catalogue import LOOKBACK_BARS, rule_policy, rule_warm_up
from tradingbot.agents.baselines.market_rules import TargetTable, matched_random, table_of
from tradingbot.agents.policy import Policy
from tradingbot.agents.strategies.policy import strategy_policy
from tradingbot.data.splits import IndexRange
from tradingbot.data.synthetic.market import SyntheticMarket
from tradingbot.domain.errors import DataError
from tradingbot.envs.world import World
from tradingbot.evaluation.backtest.look_ahead import require_causal
from tradingbot.evaluation.backtest.result import Backtest
from tradingbot.evaluation.backtest.rule_features import expert_indicators, own_moves
from tradingbot.evaluation.backtest.world_tables import WorldTables
from tradingbot.evaluation.oracle.action_rule import ActionRule, Information
from tradingbot.evaluation.oracle.market_oracle import oracle_targets
from tradingbot.plugins.declaration import DeclaredStrategy
from tradingbot.plugins.reference import find_strategy


def baseline(
    name: str, world: World, *, seed: int = 0, scaled: Callable[[], World] | None = None
) -> Policy:
    """Make a rule of `agents.RULES`, or a declared strategy, for the bars of a world.

    A vectorised strategy is asked again with other futures first.

    Args:
        name: With parameters, where some are set; see `plugins.reference`.
        world: What will be traded.
        seed: Root of what a rule draws.
        scaled: Returns the same bars with scaled features, where the world has none.

    Raises:
        ConfigError: If there is neither of that name.
        DataError: If a strategy looks ahead.
    """
    strategy = find_strategy(name)
    if strategy is not None:
        return own_strategy(strategy, world, scaled)
    closes = np.where(world.present, world.prices[..., 3], np.nan)
    return rule_policy(
        name,
        seed=seed,
        regime_names=world.regime_names,
        closes=closes,
        indicators=lambda: expert_indicators(world),
        own_moves=lambda: own_moves(world),
    )


def own_strategy(
    strategy: DeclaredStrategy, world: World, scaled: Callable[[], World] | None = None
) -> Policy:
    """Make a strategy of one's own a policy on a world; see `baseline`.

    Raises:
        DataError: If a vectorised one looks ahead.
    """
    if strategy.vectorised:
        require_causal(strategy, world, scaled=scaled)
    return strategy_policy(strategy, WorldTables(world, scaled))


def warm_up_bars(name: str) -> int | None:
    """Return bars before the first decision of a rule or strategy; None: it reads features.

    Raises:
        ConfigError: If there is neither of that name.
    """
    strategy = find_strategy(name)
    return rule_warm_up(name) if strategy is None else strategy.warm_up()


def silent_bars(name: str, bars: IndexRange) -> int:
    """Return at how many decisions of a part a rule has nothing to say yet, for lack of a past.

    Args:
        name: One of `agents.RULES`.
        bars: The part, as numbers of bars of the world; the last one is not decided at.
    """
    decisions = max(len(bars) - 1, 0)
    return min(max(LOOKBACK_BARS.get(name, 0) - bars.start, 0), decisions)


def is_silent(name: str, bars: IndexRange) -> bool:
    """Tell whether a rule would stay flat through a whole part because it knows too few bars."""
    return 0 < silent_bars(name, bars) == len(bars) - 1


def lookback_note(name: str, bars: IndexRange, part: str) -> str:
    """Say what a rule misses for lack of bars in a part; nothing where it has them all."""
    silent = silent_bars(name, bars)
    if not silent:
        return ""
    needs = f"it needs {LOOKBACK_BARS[name]:,} bars before a decision"
    if is_silent(name, bars):
        return f"Baseline {name} is left out of {part}: {needs}, and there are {bars.stop - 2:,}."
    return f"Baseline {name} is flat at the first {silent:,} bars of {part}: {needs}."


def random_like(
    reference: Backtest, world: World, *, seed: int, max_position_frac: float = 1.0
) -> TargetTable:
    """Return random targets with the exposure and turnover that a backtest had in each sleeve.

    Args:
        reference: On symbols and bars of the world.
        world: What will be traded.
        seed: Of the draws.
        max_position_frac: Largest position of the rules it will trade under, of equity.

    Raises:
        DataError: If the backtest is not of this world.
    """
    first = int(np.searchsorted(world.closed_at, reference.closed_at[0]))
    after = first + len(reference.closed_at)
    if reference.symbols != world.symbols or not np.array_equal(
        world.closed_at[first:after], reference.closed_at
    ):
        raise DataError(
            "a matched policy must trade the symbols and bars of its reference",
            was=reference.label,
            where=world.label,
        )
    return matched_random(
        reference.position_frac / max_position_frac,
        reference.turnover_frac / max_position_frac,
        n_bars=world.n_bars,
        first_bar=first,
        seed=seed,
    )


ORACLES: Mapping[str, Information] = {
    "oracle": Information.ATTAINABLE,
    "omniscient": Information.OMNISCIENT,
}
"""Name of a policy → what it knows; the same on markets that hide nothing."""


def oracle_policy(
    market: SyntheticMarket,
    world: World,
    *,
    cost_frac: float,
    information: Information,
    action_rule: ActionRule = ActionRule.LONG_ONLY,
) -> TargetTable:
    """Return the policy of `oracle_for` on the bars of a world.

    Args:
        market: The generated market, latent state included.
        world: The same market as it is traded; symbols and bars may be fewer.
        cost_frac: Cost per unit of turnover.
        information: What the policy may know.
        action_rule: Which positions are allowed.

    Raises:
        ConfigError: If no oracle is known for the market.
        DataError: If the world has a symbol or a bar that the market does not have.
    """
    targets = oracle_targets(
        market, cost_frac=cost_frac, information=information, action_rule=action_rule
    )
    return table_of(_on_world(market, world, targets))


def _on_world(
    market: SyntheticMarket, world: World, values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Lay values (T, N) of a market on the axes (N, T) of a world."""
    column = {symbol: index for index, symbol in enumerate(market.symbols)}
    clock = market.closed_at.astype("datetime64[us]").astype(np.int64)
    bar = np.searchsorted(clock, world.closed_at).clip(max=len(clock) - 1)
    if set(world.symbols) - set(column) or (clock[bar] != world.closed_at).any():
        rule = "an oracle must know every symbol and bar of the world"
        raise DataError(rule, was="one that its market does not have", where=world.label)
    columns = np.array([column[symbol] for symbol in world.symbols])
    return np.ascontiguousarray(values[np.ix_(bar, columns)].T)
