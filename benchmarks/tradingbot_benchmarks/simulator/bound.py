"""What bounds a step: bytes that must move, the bandwidth of a copy, and the price of a call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tradingbot.envs.batch.observation import ObservationWriter
from tradingbot_benchmarks.simulator.setup import Batch

NUMBER_BYTES = 4


@dataclass(frozen=True)
class GrowthPoint:
    """One measurement of a curve."""

    axis: str
    """environments, symbols, window or rules."""
    at: str
    """Where on the axis."""
    lanes: int
    steps_per_s: float
    bytes_per_step: float
    """Read and written per environment-step."""
    bandwidth: float
    """Bytes per second, read and written, of a copy whose tensors are as large as the step's."""
    eager_steps_per_s: float | None = None

    @property
    def bound_steps_per_s(self) -> float:
        """Steps per second if moving the bytes were all the work."""
        return self.bandwidth / self.bytes_per_step

    @property
    def share_of_bound(self) -> float:
        """1 is as fast as memory allows."""
        return self.steps_per_s / self.bound_steps_per_s

    @property
    def seconds_per_call(self) -> float:
        """Time of one step of all lanes."""
        return self.lanes / self.steps_per_s


def bytes_per_step(batch: Batch) -> float:
    """Bytes that one environment-step must read and write, from the sizes of the real tensors.

    Read: state, action, key and offset of the lane, the next bar, and of the bar at which a next
    episode might begin its number and close. Written: state, both private observations, reward,
    terms, ends, and the action that is drawn. What a program reads twice counts once.
    """
    assert batch.last is not None, "step the batch first"
    account, *results = batch.last
    drawn = [batch.action, batch.action]  # written by the draw, read by the step
    lanes = [*batch.account, batch.starts.offset, batch.starts.key, *account, *results, *drawn]
    per_lane = sum(tensor.nbytes for tensor in lanes) / batch.n_lanes
    bar = batch.market.rows[0].nbytes
    next_start = batch.starts.choices.element_size() + batch.market.rows.element_size()
    return per_lane + bar + next_start


def observation_bytes(writer: ObservationWriter) -> float:
    """Bytes that writing one flat observation reads and writes."""
    return 2.0 * NUMBER_BYTES * writer.width


def call_seconds(points: Sequence[GrowthPoint]) -> float:
    """Time of a call that has no lanes: the line through the two smallest batches, at 0.

    Args:
        points: Of the axis environments.
    """
    small, larger = sorted(points, key=lambda point: point.lanes)[:2]
    slope = (larger.seconds_per_call - small.seconds_per_call) / (larger.lanes - small.lanes)
    return max(0.0, small.seconds_per_call - slope * small.lanes)
