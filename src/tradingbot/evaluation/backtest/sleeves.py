"""The rules under which policies are compared: one account per symbol, orders taken literally."""

from __future__ import annotations

from tradingbot.envs.config import EnvConfig
from tradingbot.market.costs import CostProfile
from tradingbot.market.params import AccountRules, ActionRules, EpisodeRules, SimulatorParams
from tradingbot.risk.limits import RiskLimits


def sleeve_config(
    costs: CostProfile | None = None,
    *,
    reward: str = "v31",
    max_participation_frac: float = 0.1,
    allow_short: bool = False,
) -> EnvConfig:
    """Return rules under which a policy is seen as it is.

    Up to the whole sleeve in its symbol, targets executed as they are given, and no stop or loss
    limit, which would be a second policy on top of the first.

    Args:
        costs: Rates; the usual ones by default.
        reward: Whose terms are added up.
        max_participation_frac: Largest fill, of the bar's volume.
        allow_short: Targets below 0 are sold short; else they mean flat.

    Raises:
        ConfigError: If there is no reward of that name.
    """
    return EnvConfig(
        rules=SimulatorParams(
            account=AccountRules(
                position_loss_frac=float("inf"),
                portfolio_loss_frac=1.0,
                max_participation_frac=max_participation_frac,
            ),
            limits=RiskLimits(max_position_frac=1.0, allow_short=allow_short),
            action=ActionRules(space="target", smoothing_bars=1),
            episode=EpisodeRules(window_bars=1),
        ),
        costs=costs or CostProfile(),
        reward=reward,
    )
