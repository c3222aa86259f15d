"""Probes of our own environments: the same account behind every action space and observation form.

Limits that would stand in the way of a known answer (largest position, loss limits, smoothing) are
set wide; costs are the ones a check asks for. The lead-in bars wiggle, so that features are
defined and scaled by bars no check looks at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tradingbot.data.splits import IndexRange
from tradingbot.domain.action import Action
from tradingbot.envs.build_world import world_from_bars
from tradingbot.envs.config import EnvConfig, ObservationForm
from tradingbot.envs.envcheck.bars import DictatedBars
from tradingbot.envs.envcheck.lane import LaneEnv
from tradingbot.envs.envcheck.probe import AnyEnv, EnvProbe, Info, told_in_info
from tradingbot.envs.single import TradingEnv
from tradingbot.envs.world import World
from tradingbot.market.costs import CostProfile
from tradingbot.market.params import (
    AccountRules,
    ActionRules,
    ActionSpace,
    EpisodeRules,
    SimulatorParams,
)
from tradingbot.risk.limits import RiskLimits

LEAD_BARS = 256  # features of regimes look back 192 bars
_VARIED_STEPS = 24
_WINDOW_BARS = 24
_HOUR_US = 3_600_000_000
_WIGGLE_FRAC = 0.01


def our_probes() -> list[EnvProbe]:
    """Return a probe for every action space, and for the flat form of the observation."""
    return [
        our_probe("continuous"),
        our_probe("target"),
        our_probe("discrete"),
        our_probe("continuous", observation="flat"),
        our_probe("discrete", observation="flat"),
        our_probe("continuous", make=LaneEnv),
    ]


def our_probe(
    space: ActionSpace,
    *,
    observation: ObservationForm = "dict",
    make: Callable[[World, EnvConfig], AnyEnv] = TradingEnv,
) -> EnvProbe:
    """Make the probe of one action space and observation form, with the default reward.

    Args:
        space: What an action means.
        observation: Five named arrays or one row.
        make: The scalar environment, or a lane of the tensor simulator (`LaneEnv`).
    """

    def build(bars: DictatedBars, *, varied: bool = False, **terms: float) -> AnyEnv:
        episode_bars = _VARIED_STEPS if varied else len(bars) - 1 - LEAD_BARS
        config = EnvConfig(
            rules=_rules(space, terms["initial_cash"], episode_bars=episode_bars),
            costs=CostProfile(terms["fee_frac"], 0.0, borrow_frac_per_bar=terms["borrow_frac"]),
            observation=observation,
            starts="random" if varied else "first",
        )
        columns = [getattr(bars, each.name) for each in fields(bars)]
        return make(_world(np.stack(columns, axis=1).tobytes()), config)

    return EnvProbe(
        name=f"tradingbot {space}, {'tensor lane' if make is LaneEnv else observation}",
        build=build,
        build_varied=partial(build, varied=True),
        lead_bars=LEAD_BARS,
        **_ACTIONS[space],
        **told_in_info("cash", "equity", "units"),
        fill_price=_fill_price,
        reward_terms=lambda env, info: info.get("reward_terms"),
    )


def _rules(space: ActionSpace, initial_cash: float, *, episode_bars: int) -> SimulatorParams:
    return SimulatorParams(
        account=AccountRules(
            initial_cash_ccy=initial_cash,
            max_participation_frac=1.0,
            position_loss_frac=1.0,
            portfolio_loss_frac=1.0,
        ),
        limits=RiskLimits(max_position_frac=1.0, allow_short=space != "discrete"),
        action=ActionRules(space=space, smoothing_bars=1),
        episode=EpisodeRules(episode_bars=episode_bars, window_bars=_WINDOW_BARS),
    )


@lru_cache(maxsize=128)  # more than the markets of all checks
def _world(columns: bytes) -> World:
    """Make the world of dictated bars; episodes begin at the first bar after the lead-in.

    Args:
        columns: (T, 5) open, high, low, close and volume as float64.
    """
    bars = np.frombuffer(columns, dtype=np.float64).reshape(-1, 5).copy()
    phase, length = np.arange(LEAD_BARS), len(bars)
    wiggle = 1.0 + _WIGGLE_FRAC * np.sin(phase * 0.7) * np.cos(phase * 0.11)
    bars[:LEAD_BARS, :4] *= wiggle[:, None]
    bars[:LEAD_BARS, 1] *= 1.0 + _WIGGLE_FRAC / 2
    bars[:LEAD_BARS, 2] *= 1.0 - _WIGGLE_FRAC / 2
    bars[:, 4] *= 1.0 + 0.1 * np.sin(np.arange(length) * 1.3)
    world = world_from_bars(
        bars[None],
        np.ones((1, length), dtype=bool),
        np.arange(1, length + 1, dtype=np.int64) * _HOUR_US,
        ("DICTATED",),
        train=IndexRange(0, LEAD_BARS),
        label="dictated prices of envcheck",
        synthetic=True,
    )
    return replace(world, usable=np.arange(length)[None] >= LEAD_BARS)


def _number(share: float) -> NDArray[np.float32]:
    return np.array([share], dtype=np.float32)


def _sell_continuous(env: AnyEnv) -> NDArray[np.float32]:
    """Sell what is held; without a position the same action would open a short."""
    inner: Any = env.unwrapped
    units = inner.units if isinstance(inner, LaneEnv) else inner._lane.account().units
    return _number(-1.0 if units > 0.0 else 0.0)


def _present_target(env: AnyEnv) -> NDArray[np.float32]:
    inner: Any = env.unwrapped
    account = inner._lane.account()
    return _number(float(np.clip(account.units * account.mark / account.equity, -1.0, 1.0)))


def _fill_price(env: AnyEnv, info: Info) -> float | None:
    return float(info["fill_price"]) if info.get("fill") else None


# Values or functions of the environment, as `EnvProbe` takes them.
_ACTIONS: dict[ActionSpace, dict[str, Any]] = {
    "continuous": {
        "hold": _number(0.0),
        "buy": _number(1.0),
        "sell": _sell_continuous,
        "short": _number(-1.0),
    },
    "target": {
        "hold": _present_target,
        "buy": _number(1.0),
        "sell": _number(0.0),
        "short": _number(-1.0),
    },
    "discrete": {
        "hold": int(Action.HOLD),
        "buy": int(Action.BUY_LARGE),
        "sell": int(Action.SELL_ALL),
    },
}
