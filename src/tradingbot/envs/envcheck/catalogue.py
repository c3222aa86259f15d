"""Every check, in the order of the score card."""

from __future__ import annotations

from tradingbot.envs.envcheck.check import EnvCheck
from tradingbot.envs.envcheck.checks import (
    borrow_accrues,
    cash_never_negative,
    equity_identity,
    fees_charged,
    future_not_in_observation,
    nan_action_is_safe,
    no_bleeding_between_episodes,
    no_fill_before_next_bar,
    observation_in_space,
    position_in_observation,
    reward_is_declared_terms,
    seed_determinism,
    step_after_end_refused,
    truncated_is_not_terminated,
)

CHECKS: tuple[EnvCheck, ...] = (
    cash_never_negative.CHECK,
    equity_identity.CHECK,
    fees_charged.CHECK,
    borrow_accrues.CHECK,
    reward_is_declared_terms.CHECK,
    no_fill_before_next_bar.CHECK,
    future_not_in_observation.CHECK,
    position_in_observation.CHECK,
    observation_in_space.CHECK,
    seed_determinism.CHECK,
    no_bleeding_between_episodes.CHECK,
    truncated_is_not_terminated.CHECK,
    step_after_end_refused.CHECK,
    nan_action_is_safe.CHECK,
)

__all__ = ["CHECKS"]
