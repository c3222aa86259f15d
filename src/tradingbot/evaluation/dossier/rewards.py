"""What the reward of a training run pays, and how loud its signal is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RewardRow:
    """One quantity per bar and agent: a weighted term, their sum `reward`, or the `net return`."""

    quantity: str
    mean: float
    """Of the reward in its own units; of the net return a fraction of wealth."""
    deviation: float
    """Standard deviation over bars."""
    signal_to_noise: float
    """Mean ÷ deviation, per bar; NaN where nothing varies."""
    nonzero_frac: float
    """Share of bars in which it is not 0."""
    edges: tuple[float, ...]
    """(H + 1,) of the histogram, from the lowest to the highest thousandth."""
    shares: tuple[float, ...]
    """(H,) of bars in each bin; what lies beyond an end counts in its bin."""


@dataclass(frozen=True)
class RewardAnalysis:
    """The run's policy in whole episodes of its training task, and what training was paid."""

    period: str
    """Days of the training part, of which episodes are drawn."""
    steps: int
    """Bars of all trading agents together."""
    episodes: int
    discount: float
    """γ per bar of the reward-to-go: the learner's own; 1 where it has none."""
    is_learned: bool
    """False where the learner follows another objective than this reward."""
    rows: tuple[RewardRow, ...]
    """R: K terms, the reward, the net return."""
    correlation: tuple[tuple[float, ...], ...]
    """(R, R) between rows, over bars; NaN where one does not vary."""
    steps_to_end: tuple[int, ...]
    """Bars to the end of the episode, this one included."""
    to_go_mean: tuple[float, ...]
    """Σ γᵏ · reward from there to the end, mean over episodes."""
    to_go_deviation: tuple[float, ...]
    updates: tuple[int, ...]
    """Of the training, as far as its journal goes; evenly thinned where there are many."""
    course: tuple[tuple[str, tuple[float, ...]], ...]
    """Term → mean per bar and agent in each of those updates, with exploration."""
