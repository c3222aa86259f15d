"""The gradient of a batch in parts: equal to the whole, and the same bits by any workers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from fixtures.parted_pretraining import CONFIG, made
from tradingbot.domain.errors import ConfigError
from tradingbot.executors.executor import Executor, OpenWork
from tradingbot.executors.processes import ProcessExecutor
from tradingbot.executors.workers import workers_by
from tradingbot.learning.pretraining.learner import Pretrainer


def gradients(pretrainer: Pretrainer) -> list[Tensor]:
    pretrainer.update()
    return [
        each.grad.clone() for each in pretrainer._learning.parameters() if each.grad is not None
    ]


@pytest.mark.parametrize("shards", [2, 3, 7])
def test_gradient_of_parts_adds_up_to_that_of_the_batch(shards: int) -> None:
    whole, parts = made(1), made(shards)

    expected, found = gradients(whole), gradients(parts)

    assert any(bool(each.abs().max() > 1e-3) for each in expected)
    for one, other in zip(expected, found, strict=True):
        torch.testing.assert_close(other, one, rtol=1e-4, atol=1e-6)


def test_losses_of_parts_add_up_to_those_of_the_batch() -> None:
    whole, parts = made(1).update(), made(3).update()

    for name in ("loss", "next_return/loss", "regime/loss"):
        torch.testing.assert_close(parts[f"pretrain/train/{name}"], whole[f"pretrain/train/{name}"])


def test_workers_come_to_the_bits_of_one_process() -> None:
    here, there = made(3), made(3)
    counts: list[int] = []

    @contextmanager
    def two_processes(open_work: OpenWork, count: int) -> Iterator[Executor]:
        counts.append(count)
        with ProcessExecutor(open_work, 2) as executor:
            yield executor

    expected = here.complete()
    with workers_by(two_processes):
        found = there.complete()

    assert counts == [3]
    assert found == expected
    assert torch.equal(there._shards.tasks.table, here.table)  # type: ignore[attr-defined]


def test_more_parts_than_segments_are_refused() -> None:
    with pytest.raises(ConfigError, match="shards must be at most segments"):
        replace(CONFIG, shards=8)
