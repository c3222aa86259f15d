"""Every check, in the order of the score card."""

from __future__ import annotations

from tradingbot.envs.envcheck.check import EnvCheck
from tradingbot.envs.envcheck.checks import accounts, causality, interface, repetition, rewards

CHECKS: tuple[EnvCheck, ...] = (
    accounts.cash_never_negative,
    accounts.equity_identity,
    accounts.fees_charged,
    accounts.borrow_accrues,
    rewards.reward_is_declared_terms,
    rewards.reward_is_of_this_bar,
    causality.no_fill_before_next_bar,
    causality.future_not_in_observation,
    interface.position_in_observation,
    interface.observation_in_space,
    interface.observation_is_not_reused,
    repetition.seed_determinism,
    repetition.no_bleeding_between_episodes,
    interface.truncated_is_not_terminated,
    interface.step_after_end_refused,
    interface.nan_action_is_safe,
)
