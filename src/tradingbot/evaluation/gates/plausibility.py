"""The plausibility alarm: a result too good to be true blocks GO until it is explained."""

from __future__ import annotations

import math

from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.gates.result import Alarm

IMPLAUSIBLE_SHARPE = 3.0
"""Annual, net. More than this at hourly bars is a leak, as a rule."""


def raise_alarm(dossier: Dossier) -> Alarm | None:
    """Return the alarm that a result raises; None where it is plausible.

    It is explained only where the leak check is clean and the market is generated, with an oracle
    that earns as much: there the edge is known. On observed bars an alarm stands.
    """
    sharpe = dossier.test.policies[0].sharpe_annual.estimate
    share = dossier.test.share_of_oracle
    beats_oracle = dossier.leak_check.better_than_oracle
    words = []
    if sharpe > IMPLAUSIBLE_SHARPE:
        words.append(f"a net Sharpe ratio of {sharpe:.1f} a year is above {IMPLAUSIBLE_SHARPE:g}")
    if beats_oracle and share is not None:
        words.append(f"{share.estimate:.0%} of the oracle is more than can be earned")
    if not words:
        return None
    is_clean = dossier.leak_check.is_clean and not beats_oracle
    has_oracle = share is not None and math.isfinite(share.estimate)
    is_explained = is_clean and has_oracle and dossier.header.synthetic
    return Alarm("; ".join(words), is_explained, _explain(dossier))


def say_oracle(dossier: Dossier, share: str) -> str:
    """Say whether the oracle is a limit to what was evaluated, and what share of it that earns."""
    if dossier.allocation is None:
        return f"sets the limit: the agents reach {share} of it"
    no_limit = "which is no limit to a portfolio that gives more to some"
    return f"holds equal sleeves, {no_limit}: it reaches {share} of that"


def _explain(dossier: Dossier) -> str:
    check, share = dossier.leak_check, dossier.test.share_of_oracle
    if not check.is_clean:
        found = "; ".join(check.words) or f"{check.actions_changed} actions changed"
        return f"The leak check is not clean: {found}."
    if check.better_than_oracle:
        return "The leak check found nothing, but no causal policy earns more than the oracle."
    if dossier.header.synthetic and share is not None:
        oracle = say_oracle(dossier, f"{share.estimate:.0%}")
        return f"The leak check is clean, and the market is synthetic. Its oracle {oracle}."
    return (
        "The leak check is clean, but nothing is known that could earn this much. "
        "Look for survivorship, stale prices and costs that are too low."
    )
