"""Actors of IMPALA and gradients of an encoder on a cluster: the bits of one process."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pytest
import torch

from fixtures.impala_learners import LOCAL, build, weights
from fixtures.parted_pretraining import made
from fixtures.ray_nodes import RayNodes
from tradingbot.cluster.executor import RayExecutor
from tradingbot.cluster.times import ClusterTimes
from tradingbot.executors.workers import workers_by
from tradingbot.learning.impala.actors import RemoteActors

TIMES = ClusterTimes(heartbeat_s=0.1, silence_s=20.0, start_s=60.0)


@pytest.fixture
def on_the_cluster(nodes: RayNodes) -> Iterator[None]:
    with workers_by(partial(RayExecutor, address=nodes.address, times=TIMES)):
        yield


def test_actors_come_to_the_bits_of_this_process_though_one_is_killed(on_the_cluster: None) -> None:
    here, there = build(), build(replace(LOCAL, in_processes=True))
    lost = []
    try:
        for number in range(3):
            here.update()
            lost.append(float(there.update().metrics["actors/lost"]))
            assert isinstance(there._actors, RemoteActors)
            executor = there._actors._executor
            assert isinstance(executor, RayExecutor)
            if number == 0:
                worker = next(each for each in executor.workers if each.greeting is not None)
                os.kill(worker.greeting.process, signal.SIGKILL)  # type: ignore[union-attr]
    finally:
        there._actors.close()  # type: ignore[union-attr]

    assert all(torch.equal(part, weights(there)[name]) for name, part in weights(here).items())
    assert lost[0] == 0.0


def test_gradients_of_parts_come_to_the_bits_of_this_process(on_the_cluster: None) -> None:
    with workers_by(None):
        expected = made(3).complete()

    assert made(3).complete() == expected
