"""Policies side by side on one market: one float64 simulation, every policy × symbol a lane.

Each lane is a sleeve: one account with the same cash that trades one symbol from the first bar to
the last. Nothing is reset on the way; an account that was ruined stays ruined.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from tradingbot.agents.policy import Policy, Seen
from tradingbot.domain.errors import ConfigError
from tradingbot.envs.batch_observation import rows_of
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.starting import first_ready_bar
from tradingbot.envs.world import World
from tradingbot.evaluation.rollout_trades import FillLog, Trades, trades_of
from tradingbot.market.account import Account, open_accounts
from tradingbot.market.advance import advance
from tradingbot.market.bars import TensorMarket, tensor_market
from tradingbot.market.costs import CostProfile
from tradingbot.market.observation import observe_accounts
from tradingbot.market.rules import AccountRules, ActionRules, EpisodeRules, Rules
from tradingbot.risk.limits import RiskLimits

FloatArray = NDArray[np.float64]
Progress = Callable[[int, int, str], None]
_REPORTED_BARS = 50


@dataclass(frozen=True, eq=False)
class Rollout:
    """What P policies did with N sleeves each over S bars. Money in account currency."""

    label: str
    """Data, period and seed in words."""
    synthetic: bool
    policies: tuple[str, ...]
    symbols: tuple[str, ...]
    closed_at: NDArray[np.int64]
    """(S + 1,) microseconds since 1970 UTC: the first decision's close, then every bar's."""
    closes: FloatArray
    """(S + 1, N) prices at those closes; NaN where there is no bar."""
    equity: FloatArray
    """(S + 1, P, N) at those closes."""
    exposure_frac: FloatArray
    """(P, N) mean position ÷ equity at the closes."""
    reward_names: tuple[str, ...]
    reward_terms: FloatArray
    """(K, P, N) weighted reward terms, summed over bars."""
    realised_ccy: FloatArray
    """(P, N) closed P&L net of commission, partial exits of open trades included."""
    commission_ccy: FloatArray
    """(P, N)"""
    slippage_ccy: FloatArray
    """(P, N) slippage, spread and impact."""
    turnover_ccy: FloatArray
    """(P, N) traded notional."""
    denials: NDArray[np.int64]
    """(P, N) orders that a risk rule refused."""
    trades: Trades
    config: EnvConfig

    @property
    def initial_cash_ccy(self) -> float:
        """Cash of every sleeve at the start."""
        return self.config.rules.account.initial_cash_ccy

    @property
    def n_bars(self) -> int:
        """S, bars after the first decision."""
        return len(self.closed_at) - 1


def sleeve_config(
    costs: CostProfile | None = None, *, reward: str = "v31", max_participation_frac: float = 0.1
) -> EnvConfig:
    """Return rules under which a policy is seen as it is.

    Long only, up to the whole sleeve in its symbol, targets executed as they are given, and no stop
    or loss limit, which would be a second policy on top of the first.

    Raises:
        ConfigError: If there is no reward of that name.
    """
    return EnvConfig(
        rules=Rules(
            account=AccountRules(
                position_loss_frac=float("inf"),
                portfolio_loss_frac=1.0,
                max_participation_frac=max_participation_frac,
            ),
            limits=RiskLimits(max_position_frac=1.0),
            action=ActionRules(space="target", smoothing_bars=1),
            episode=EpisodeRules(window_bars=1),
        ),
        costs=costs or CostProfile(),
        reward=reward,
    )


def roll_out(
    world: World,
    config: EnvConfig,
    policies: Mapping[str, Policy],
    *,
    progress: Progress | None = None,
) -> Rollout:
    """Let every policy trade every symbol, from the first usable bar to the last.

    Args:
        world: What is traded and seen; cut it (`envs.world.between`) for a shorter period.
        config: Long only, target actions; see `sleeve_config`. Length of episodes is not read.
        policies: By name.
        progress: Told (finished, total, label) in bars.

    Raises:
        ConfigError: If there is no policy, or the rules are not long-only targets.
        DataError: If no bar follows the first usable one.
    """
    first = first_ready_bar(world)
    rules = _checked_rules(config, policies, episode_bars=world.n_bars - 1 - first)
    config = replace(config, rules=rules)
    recorder = _Recorder(world, config, tuple(policies), first)
    sight = _Sight(world)
    market = tensor_market(world.prices, world.present, dtype=torch.float64)
    rates, reward = config.costs.rates(dtype=torch.float64), config.reward_stack
    account = _open_sleeves(market, rules, first, len(policies))
    n_symbols = world.n_symbols
    with torch.no_grad():
        for step in range(recorder.n_steps):
            seen = sight.of(rules, account)
            wanted = [
                policy(_lanes(seen, slice(index * n_symbols, (index + 1) * n_symbols)))
                for index, policy in enumerate(policies.values())
            ]
            bar = market.bar(account.row + 1)
            advanced = advance(rules, rates, account, bar, torch.cat(wanted))
            account = advanced.after
            recorder.record(step, reward(rules, advanced), account)
            recorder.fills.add(step + 1, advanced)
            if progress and (step % _REPORTED_BARS == 0 or step + 1 == recorder.n_steps):
                progress(step + 1, recorder.n_steps, "bars")
    return recorder.finish(account)


class _Sight:
    """The market's part of what policies see, as tensors."""

    def __init__(self, world: World) -> None:
        self._features = rows_of(world.features)
        self._regimes = rows_of(world.regimes)

    def of(self, rules: Rules, account: Account) -> Seen:
        row = account.row.long()
        private = observe_accounts(rules, account)
        return Seen(row, self._features[row], self._regimes[row], private)


class _Recorder:
    """Keeps what a rollout is asked for afterwards, and no more."""

    def __init__(
        self, world: World, config: EnvConfig, policies: tuple[str, ...], first: int
    ) -> None:
        self._world, self._config, self._policies, self._first = world, config, policies, first
        self.n_steps = config.rules.episode.episode_bars
        lanes = len(policies) * world.n_symbols
        cash = config.rules.account.initial_cash_ccy
        self._equity = torch.full((self.n_steps + 1, lanes), cash, dtype=torch.float64)
        self._exposure = torch.zeros(lanes, dtype=torch.float64)
        self._terms = torch.zeros(len(config.reward_stack.names), lanes, dtype=torch.float64)
        self.fills = FillLog()

    def record(self, step: int, terms: torch.Tensor, account: Account) -> None:
        equity = account.equity
        self._equity[step + 1] = equity
        held = account.units.abs() * account.mark
        self._exposure += torch.where(equity > 0.0, held / equity, 0.0)
        self._terms += terms

    def finish(self, account: Account) -> Rollout:
        world, shape = self._world, (len(self._policies), self._world.n_symbols)
        closed_at = world.closed_at[self._first :]

        def per_sleeve(values: torch.Tensor) -> FloatArray:
            return np.asarray(values.numpy().reshape(*values.shape[:-1], *shape))

        return Rollout(
            label=_label(world, closed_at),
            synthetic=world.synthetic,
            policies=self._policies,
            symbols=world.symbols,
            closed_at=closed_at,
            closes=world.prices[:, self._first :, 3].T,
            equity=per_sleeve(self._equity),
            exposure_frac=per_sleeve(self._exposure / self.n_steps),
            reward_names=self._config.reward_stack.names,
            reward_terms=per_sleeve(self._terms),
            realised_ccy=per_sleeve(account.realised),
            commission_ccy=per_sleeve(account.commission_paid),
            slippage_ccy=per_sleeve(account.slippage_paid),
            turnover_ccy=per_sleeve(account.turnover),
            denials=per_sleeve(account.denials).astype(np.int64),
            trades=trades_of(self.fills, account, closed_at, n_symbols=world.n_symbols),
            config=self._config,
        )


def _checked_rules(
    config: EnvConfig, policies: Mapping[str, Policy], *, episode_bars: int
) -> Rules:
    rules = config.rules
    if not policies:
        raise ConfigError("a rollout must have a policy", was="none")
    if rules.action.space != "target" or rules.limits.allow_short:
        raise ConfigError(
            "a rollout must be of long-only target positions",
            was=f"{rules.action.space}, allow_short={rules.limits.allow_short}",
            remedy="Use sleeve_config()",
        )
    episode = replace(rules.episode, episode_bars=episode_bars)
    return replace(rules, episode=episode)


def _open_sleeves(market: TensorMarket, rules: Rules, first: int, n_policies: int) -> Account:
    symbols = torch.arange(market.n_symbols, dtype=torch.int32).repeat(n_policies)
    row = symbols * market.n_bars + first
    account = open_accounts(rules.account.initial_cash_ccy, row, market.rows[row.long(), 3])
    return account._replace(stale_bars=market.stale_bars(row))


def _lanes(seen: Seen, lanes: slice) -> Seen:
    """See the lanes of one policy only; nothing is copied."""
    row, features, regimes, private = seen
    return Seen(row[lanes], features[lanes], regimes[lanes], private[:, lanes])


def _label(world: World, closed_at: NDArray[np.int64]) -> str:
    first, last = closed_at[[0, -1]].astype("datetime64[us]").astype("datetime64[D]")
    return f"{world.label}, {first} … {last}"
