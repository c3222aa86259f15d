"""The smallest honest trading environment: what the suite is tested on, and an example to probe.

One symbol, four actions, whole account in or out, fill at the next open. Use the environments of
`tradingbot.envs` for anything else.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from tradingbot.domain.errors import UserError
from tradingbot.envs.envcheck.bars import DictatedBars
from tradingbot.envs.envcheck.probe import EnvProbe, told_in_info

HOLD, BUY, SELL, SHORT = range(4)
_ROUNDING = 1e-12  # relative; keeps a buy of all cash from costing a rounding more than there is


class ReferenceEnv(gymnasium.Env[NDArray[np.float32], np.int64]):
    """Decide at a close, fill at the next open, mark at its close.

    Observation (3,): log return of the last bar, invested fraction of equity, log of equity over
    initial cash. Reward: the sum of `info["terms"]`: market, fee and borrow, over initial cash.

    Args:
        bars: The market.
        fee_frac: Of traded value.
        borrow_frac: Of shorted value, per bar.
        initial_cash: Account currency.
        drawn_start: Draw the first bar at reset instead of taking bar 1.
    """

    def __init__(
        self,
        bars: DictatedBars,
        *,
        fee_frac: float = 0.0,
        borrow_frac: float = 0.0,
        initial_cash: float = 10_000.0,
        drawn_start: bool = False,
    ) -> None:
        self.bars, self.fee_frac, self.borrow_frac = bars, fee_frac, borrow_frac
        self.initial_cash, self.drawn_start = initial_cash, drawn_start
        self.action_space = gymnasium.spaces.Discrete(4)
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (3,), np.float32)
        self.ended = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Open a new account."""
        super().reset(seed=seed, options=options)
        self.cash, self.units, self.ended = self.initial_cash, 0.0, False
        self.bar = int(self.draw_start()) if self.drawn_start else 1
        return self.observe(), self.describe({}, None)

    def step(
        self, action: np.int64
    ) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Fill at the next bar's open and mark at its close."""
        if self.ended:
            raise UserError("an episode that ended must be reset", remedy="Call reset()")
        before = self.equity
        price = self.fill_price()
        order = self.size(action, price)
        fee = self.fee(abs(order) * price)
        self.cash -= order * price + fee
        self.units += order
        self.bar += 1
        borrow = self.interest()
        self.cash -= borrow
        terminated, truncated = self.equity <= 0.0, self.bar == len(self.bars) - 1
        self.ended = terminated or truncated
        terms = {"market": self.equity - before + fee + borrow, "fee": -fee, "borrow": -borrow}
        terms = {name: value / self.initial_cash for name, value in terms.items()}
        info = self.describe(terms, price if order else None)
        return self.observe(), self.reward(terms), terminated, truncated, info

    @property
    def equity(self) -> float:
        """Cash and units, marked at the present bar's close."""
        return self.cash + self.units * float(self.bars.closes[self.bar])

    def draw_start(self) -> int:
        """Return the bar of the first observation, in the first half of the data."""
        return int(self.np_random.integers(1, len(self.bars) // 2))

    def fill_price(self) -> float:
        """Return the price of an order decided now."""
        return float(self.bars.opens[self.bar + 1])

    def size(self, action: np.int64, price: float) -> float:
        """Return the units to trade; an action that does not exist trades nothing."""
        whole = self.cash / (price * (1.0 + self.fee_frac)) * (1.0 - _ROUNDING)
        if action == BUY:
            return whole if self.units >= 0.0 else -self.units
        if action == SELL:
            return -self.units
        if action == SHORT and self.units == 0.0:
            return -0.5 * whole
        return 0.0

    def fee(self, traded_ccy: float) -> float:
        """Return what a trade of this value costs."""
        return self.fee_frac * traded_ccy

    def interest(self) -> float:
        """Return what the bar just entered costs a short."""
        return self.borrow_frac * max(-self.units, 0.0) * float(self.bars.closes[self.bar])

    def reward(self, terms: dict[str, float]) -> float:
        """Return the reward: the sum of its terms."""
        return sum(terms.values())

    def observe(self) -> NDArray[np.float32]:
        """Return what an agent sees."""
        closes, equity = self.bars.closes, self.equity
        invested = self.units * closes[self.bar] / equity
        growth = np.log(closes[self.bar] / closes[self.bar - 1])
        return np.array([growth, invested, np.log(equity / self.initial_cash)], dtype=np.float32)

    def describe(self, terms: dict[str, float], fill_price: float | None) -> dict[str, Any]:
        """Return the info."""
        return {
            "cash": self.cash,
            "units": self.units,
            "equity": self.equity,
            "terms": terms,
            "fill_price": fill_price,
        }


def reference_probe(environment: type[ReferenceEnv] = ReferenceEnv) -> EnvProbe:
    """Make the probe of the reference environment, or of one derived from it."""
    return EnvProbe(
        name="reference (synthetic)",
        build=environment,
        build_varied=partial(environment, drawn_start=True),
        lead_bars=1,
        hold=HOLD,
        buy=BUY,
        sell=SELL,
        short=SHORT,
        **told_in_info("cash", "equity", "units", "fill_price"),
        reward_terms=lambda env, info: info["terms"],
    )
