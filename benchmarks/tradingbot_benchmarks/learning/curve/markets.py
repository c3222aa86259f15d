"""Markets with known answers on which learners are measured; all of them synthetic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor

from tradingbot.data.splits import IndexRange
from tradingbot.data.synthetic.market import SyntheticMarket
from tradingbot.domain.errors import ConfigError, suggest
from tradingbot.envs.build_world import synthetic_world
from tradingbot.envs.synthetic_market import synthetic_market
from tradingbot.envs.world import World
from tradingbot.evaluation.backtest.baselines import oracle_policy
from tradingbot.evaluation.oracle.action_rule import Information

WARM_UP_BARS = 192
"""Bars before features are defined."""


@dataclass(frozen=True)
class MarketQuestion:
    """A market, and how what was learned on it is scored."""

    kind: str
    params: Mapping[str, float] = field(default_factory=dict)
    edge: bool = True
    """Whether there is anything to earn after costs: then the score is a share of the oracle."""
    needs_history: bool = False
    """Whether one bar does not show the edge, so that an encoder must find it."""


@dataclass(frozen=True)
class Periods:
    """How many bars are for what, after the warm-up."""

    train_bars: int = 3_528
    """Two years of hours; the last `validation_frac` of them are not learned from."""
    test_bars: int = 1_512
    validation_frac: float = 0.15

    @property
    def n_bars(self) -> int:
        """All of them, with the warm-up."""
        return WARM_UP_BARS + self.train_bars + self.test_bars

    @property
    def train(self) -> IndexRange:
        """Bars that scalers, encoders and learners learn from."""
        return IndexRange(WARM_UP_BARS, self.validation.start)

    @property
    def validation(self) -> IndexRange:
        """Bars that decide how much of a policy is kept."""
        stop = WARM_UP_BARS + self.train_bars
        return IndexRange(stop - round(self.validation_frac * self.train_bars), stop)

    @property
    def test(self) -> IndexRange:
        """Bars that nothing was chosen by."""
        return IndexRange(WARM_UP_BARS + self.train_bars, self.n_bars)


_PERIODS = Periods()
_MID_TRAINING = (WARM_UP_BARS + len(_PERIODS.train) / 2) / _PERIODS.n_bars
"""Place of the middle of what is learned from, as a share of all bars."""
QUESTIONS: Mapping[str, MarketQuestion] = MappingProxyType(
    {
        "planted_0.10": MarketQuestion("planted", {"kappa": 0.10}),
        "planted_0.05": MarketQuestion("planted", {"kappa": 0.05}),
        "opposed_0.10": MarketQuestion("opposed", {"kappa": 0.10}),
        "corr30_0.06": MarketQuestion("planted", {"kappa": 0.06, "correlation": 0.3}),
        "corr50_0.06": MarketQuestion("planted", {"kappa": 0.06, "correlation": 0.5}),
        "hetero": MarketQuestion("planted", {"kappa": 0.04, "kappa_spread": 0.06}),
        "mixed_0.08": MarketQuestion("planted", {"kappa": 0.08, "reversed_frac": 0.3}),
        "turn_0.10": MarketQuestion("planted", {"kappa": 0.10, "turn_frac": _MID_TRAINING}),
        "hidden_trend": MarketQuestion("hidden_trend", needs_history=True),
        "hidden_reversion": MarketQuestion("hidden_reversion", needs_history=True),
        "cost_trap": MarketQuestion("cost_trap", edge=False),
        "noise": MarketQuestion("noise", edge=False),
    }
)


@dataclass(frozen=True, eq=False)
class PosedMarket:
    """A question with its data."""

    question: MarketQuestion
    world: World
    periods: Periods
    oracle: Tensor
    """(N · T,) positions of the best policy that knows the market's law but not its future."""
    bayes: Tensor | None = None
    """(N · T,) the same of one that estimated each symbol's strength from the training bars; None
    where strengths do not differ."""


def require_question(name: str) -> MarketQuestion:
    """Find a question by name.

    Raises:
        ConfigError: If there is none.
    """
    if name not in QUESTIONS:
        raise ConfigError(
            "market must be a known one", was=repr(name), remedy=suggest(name, QUESTIONS)
        )
    return QUESTIONS[name]


def generate_problem(
    name: str, *, n_agents: int, seed: int, cost_frac: float, periods: Periods
) -> PosedMarket:
    """Generate the market of a question.

    Args:
        name: One of `QUESTIONS`.
        n_agents: Symbols.
        seed: Root of the market's random streams.
        cost_frac: Cost per unit of turnover, which the oracle counts with.
        periods: How many bars are for what.

    Raises:
        ConfigError: If there is no such question.
    """
    question = require_question(name)
    kind, params, n_bars = question.kind, dict(question.params), periods.n_bars
    market = synthetic_market(kind, n_symbols=n_agents, n_bars=n_bars, seed=seed, params=params)
    options: dict[str, Any] = params
    world = synthetic_world(
        kind, n_symbols=n_agents, n_bars=n_bars, seed=seed, train=periods.train, **options
    )
    if not question.edge:
        return PosedMarket(question, world, periods, torch.zeros(n_agents * periods.n_bars))

    def follow(played: SyntheticMarket) -> Tensor:
        chosen = oracle_policy(
            played, world, cost_frac=cost_frac, information=Information.ATTAINABLE
        )
        return chosen.targets.float()

    oracle = follow(market)
    differ = market.params.get("kappa_spread", 0.0) or market.params.get("reversed_frac", 0.0)
    estimated = follow(with_estimated_strengths(market, periods.train)) if differ else None
    return PosedMarket(question, world, periods, oracle, estimated)


def with_estimated_strengths(market: SyntheticMarket, train: IndexRange) -> SyntheticMarket:
    """Return a market with strengths as an empirical-Bayes rule estimates them from training bars.

    One slope per symbol of returns on the signal of the bar before, shrunk towards the mean of all
    by its error (James & Stein 1961); the rule then follows the thresholds of those strengths. It
    is told what no learner is: which column is the signal, that the law is linear, and costs.
    """
    cut, vol = slice(train.start, train.stop), float(market.params["vol_frac"])
    returns = (market.closes / market.opens - 1.0)[cut][1:] / vol
    signal = market.covariates["signal"][cut][:-1]
    square = (signal**2).sum(axis=0)
    slope = (signal * returns).sum(axis=0) / square
    error = (returns - slope * signal).var(axis=0) / square
    truth = max(0.0, float(slope.var(ddof=1) - error.mean()))
    kappa = slope.mean() + truth / (truth + error) * (slope - slope.mean())
    return replace(market, latent={**market.latent, "kappa": kappa})
