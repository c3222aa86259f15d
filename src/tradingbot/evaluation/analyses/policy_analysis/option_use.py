"""Which options a policy follows on the test part, how long, and in which regime of the market."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.agents.option_policy import OptionPolicy
from tradingbot.agents.policy import Policy, PolicyInputs
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.analyses.regimes import REGIMES, index_returns, label_regimes
from tradingbot.evaluation.dossier.analysis import OptionUse

IntArray = NDArray[np.int64]


class RecordedOptions:
    """A policy, and the options that its accounts followed at each call, where it has any."""

    def __init__(self, policy: Policy) -> None:
        """Watch a policy."""
        self._policy = policy
        self.followed: list[Tensor] = []
        self.begun: list[Tensor] = []

    def __call__(self, seen: PolicyInputs) -> Tensor:
        """Act as the policy does."""
        action = self._policy(seen)
        if isinstance(self._policy, OptionPolicy):
            self.followed.append(self._policy.followed.clone())
            self.begun.append(self._policy.begun.clone())
        return action


def measure_option_use(subject: EvaluatedRun, watched: RecordedOptions) -> OptionUse | None:
    """Say how options were used on the test part; None where agents have none."""
    policy = watched._policy
    if not isinstance(policy, OptionPolicy):
        return None
    world, train = subject.data.world, subject.data.split.train
    labels = label_regimes(index_returns(world.prices[..., 3]), train)
    first = subject.bars("test").start
    followed = np.stack([each.numpy() for each in watched.followed])
    begun = np.stack([each.numpy() for each in watched.begun])
    return use_of_options(
        policy.options.names, followed, begun, labels[first : first + len(followed)]
    )


def use_of_options(
    names: tuple[str, ...], followed: IntArray, begun: NDArray[np.bool_], regime: IntArray
) -> OptionUse:
    """Count options.

    Args:
        names: O names.
        followed: (S, L) number of the option of each account at each bar.
        begun: (S, L) whether it was chosen there.
        regime: (S,) place in `REGIMES`, −1 where it is not known.
    """
    n, steps = len(names), np.bincount(followed.ravel(), minlength=len(names))
    chosen = np.bincount(followed[begun], minlength=n)
    rows = [np.bincount(followed[regime == r].ravel(), minlength=n) for r in range(len(REGIMES))]
    return OptionUse(
        names=names,
        chosen_frac=tuple((chosen / max(chosen.sum(), 1)).tolist()),
        steps_frac=tuple((steps / max(steps.sum(), 1)).tolist()),
        mean_bars=float(steps.sum() / max(chosen.sum(), 1)),
        regimes=REGIMES,
        by_regime=tuple(
            tuple((row / row.sum()).tolist()) if row.sum() else (float("nan"),) * n for row in rows
        ),
    )
