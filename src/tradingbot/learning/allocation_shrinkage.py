"""How much of a master's weights is kept: validation decides between them and equal weight.

A master that follows single sleeves earns more than all of them together, and is far less sure to:
of a few hundred bars its alpha may be luck where that of its sleeves in equal weight is plain. So
it is played in three forms, as it learned (`full`), in equal weight of all sleeves (`shared`) and
half way between (`half`), and of those that earn something beyond doubt the one that earns most is
kept. Where none does, all stays in cash. Three tries share the chance of an error
(Bonferroni), so that each is asked for more certainty than one would be.

Weights are a softmax of logits, the last layer of the head is linear: so a form is a layer of the
same shape, and what acts, is exported or served need not know of it. Half way is the geometric mean
of both weights.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from statistics import NormalDist

import torch
from torch import nn

from tradingbot.learning.learner import Learner
from tradingbot.learning.shrinkage import FORMS, Play, Shrinkage, ShrinkageConfig, shrink
from tradingbot.networks.set_head import SetHead

EQUAL_CASH_FRAC = 0.01
"""Cash beside equal weight of all sleeves: a softmax leaves something everywhere."""
ALLOCATION_WORDS: Mapping[str, str] = {
    "shared": "in equal weight of all sleeves, with 1 % in cash",
    "half": "half way between equal weight of all sleeves and what was learned",
    "full": "as learned",
}
"""What the forms of a master mean, in words."""


def decide_allocation(learner: Learner, play: Play, config: ShrinkageConfig) -> Shrinkage:
    """Play each form of a master over validation bars, and decide.

    Args:
        learner: Trained; its weights are the same afterwards.
        play: Over bars that it did not learn from and will not be tested on.
        config: How sure one must be.

    Raises:
        DataError: If there are fewer than eight blocks.
    """
    earned = {}
    for form, share in FORMS.items():
        with towards_equal_weight(learner, share):
            earned[form] = play(learner.act)
    each_sure = replace(config, confidence=_of_each(config.confidence, len(earned)))
    alone = {form: shrink({form: each.judged}, each_sure) for form, each in earned.items()}
    sure = [form for form, found in alone.items() if bool(found.trades.any())]
    kept = shrink({form: earned[form].judged for form in sure or earned}, each_sure)
    return replace(
        kept,
        gain={form: found.gain[form] for form, found in alone.items()},
        error={form: found.error[form] for form, found in alone.items()},
        net={form: float(each.net.mean()) for form, each in earned.items()},
        form_words=ALLOCATION_WORDS,
    )


def _of_each(confidence: float, n_tries: int) -> float:
    """Return how many standard errors each of several tries must be above zero."""
    chance = 0.5 * math.erfc(confidence / math.sqrt(2.0)) / n_tries  # a tail keeps its digits
    return -NormalDist().inv_cdf(chance) if chance > 0.0 else confidence


def keep_allocation(learner: Learner, found: Shrinkage) -> None:
    """Give a master the form that was decided on, for good."""
    for head in _heads(learner):
        _move(head, float(found.scale), _equal_logit(learner, head))


@contextmanager
def towards_equal_weight(learner: Learner, share: float) -> Iterator[None]:
    """Keep a share of what a master learned in the block; afterwards it is as before."""
    before = [
        (head, [head.weights[-1].detach().clone(), head.biases[-1].detach().clone()])
        for head in _heads(learner)
    ]
    try:
        for head, _ in before:
            _move(head, share, _equal_logit(learner, head))
        yield
    finally:
        with torch.no_grad():
            for head, (weights, biases) in before:
                head.weights[-1].copy_(weights)
                head.biases[-1].copy_(biases)


def _heads(learner: Learner) -> Iterator[SetHead]:
    """Return what gives sleeves their logits; a critic gives one answer for all of them."""
    for network in learner.networks().values():
        for module in network.modules():
            if isinstance(module, SetHead) and not module.pooled:
                yield module


def _equal_logit(learner: Learner, head: SetHead) -> float:
    """Return the output for every sleeve that leaves cash, of logit 0, its one per cent."""
    gain = float(getattr(getattr(learner, "config", None), "squash_gain", 1.0))
    return math.log((1.0 - EQUAL_CASH_FRAC) / EQUAL_CASH_FRAC / head.inputs.n_members) / gain


@torch.no_grad()
def _move(head: SetHead, share: float, equal_logit: float) -> None:
    """Mix the logits, which are the first output of each sleeve; what it explores by stays."""
    weights, biases = head.weights[-1], head.biases[-1]
    assert isinstance(weights, nn.Parameter)
    weights[:, 0].mul_(share)
    biases[0] = share * biases[0] + (1.0 - share) * equal_logit
