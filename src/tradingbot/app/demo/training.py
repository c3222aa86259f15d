"""The training part of the demonstration: train the prototype, and show its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tradingbot.data.sources.source import Progress
from tradingbot.domain.events.event import Event
from tradingbot.domain.events.training import Began, Updated
from tradingbot.evaluation.report.blocks import Section
from tradingbot.evaluation.report.chart import HALF_PX, Chart, Charts, full_chart
from tradingbot.evaluation.report.svg.bars import BarGroup, column_chart
from tradingbot.evaluation.report.svg.forest import Estimate, forest_chart
from tradingbot.evaluation.report.svg.lines import LineSeries, time_chart
from tradingbot.evaluation.report.svg.scale import Axis
from tradingbot.runs import RunDirectory
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import load_train_config
from tradingbot.training.result_file import TrainResult
from tradingbot.training.session import SessionCallbacks, SessionResult, begin_run

DEMO_PRESET, SMALL_PRESET = "prototype10", "quick"
"""Training presets of the demonstration, and of its first look."""
_SEED = 7


@dataclass(frozen=True)
class TrainingCurves:
    """What was measured while agents learned."""

    steps: Sequence[int]
    """E environment steps per agent at each evaluation."""
    sharpe: Sequence[Sequence[float]]
    """(E, N) annual Sharpe ratio on the validation part, deterministic policy."""
    entropy: Sequence[float]
    """E, of deterministic actions, in [0, 1], mean over agents."""


@dataclass(frozen=True, eq=False)
class TrainingDemo:
    """A trained prototype, with what the page shows of it."""

    config: TrainConfig
    run: RunDirectory
    result: TrainResult
    curves: TrainingCurves


def run_training_demo(
    workspace: Path,
    callbacks: SessionCallbacks | None = None,
    *,
    preset: str = DEMO_PRESET,
    overrides: dict[str, object] | None = None,
) -> TrainingDemo:
    """Train the prototype on its synthetic market; the same every time.

    Args:
        workspace: Where the run directory goes.
        callbacks: Called with progress.
        preset: Of training.
        overrides: Dotted key → value, e.g. to make it smaller.
    """
    quiet: dict[str, object] = {
        "seed": _SEED,
        "tracking.mlflow": "off",
        "tracking.tensorboard": "off",
    }
    config = load_train_config(preset, quiet | (overrides or {}))
    session = begin_run(config, workspace, callbacks)
    return TrainingDemo(config, session.run, _finished(session), read_curves(session.run))


def progress_listeners(progress: Progress) -> SessionCallbacks:
    """Return listeners that tell a progress bar."""
    return SessionCallbacks(event_callbacks=lambda _run, _config: (_TrainingProgress(progress),))


class _TrainingProgress:
    """Tells a progress bar how many steps are made."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._total = progress, 0

    def take(self, event: Event) -> None:
        if isinstance(event, Began):
            self._total = event.steps_per_agent
        elif isinstance(event, Updated):
            self._progress(min(event.steps, self._total), self._total, "steps per agent")

    def close(self) -> None:
        """Nothing is left open."""


def read_curves(run: RunDirectory) -> TrainingCurves:
    """Read what the evaluations of a run said."""
    rows = list(run.read_journal("evaluations"))
    entropies = [row["scores"]["entropy"] for row in rows]
    return TrainingCurves(
        steps=[row["steps"] for row in rows],
        sharpe=[row["scores"]["sharpe"] for row in rows],
        entropy=[sum(entropy) / len(entropy) for entropy in entropies],
    )


def training_section(demo: TrainingDemo, *, title: str) -> Section:
    """Return the part of a page that shows a trained prototype."""
    result = demo.result
    test, gate = result.parts[-1], result.gates[-1]
    share = "unknown" if test.share_of_oracle is None else f"{test.share_of_oracle.estimate:.0%}"
    n_agents = len(demo.run.record.data.agents)
    text = (
        f"{n_agents} agents learned from {result.label} with the learner "
        f"“{demo.config.learner.name}”{_encoder_words(demo.config)}. On the test part, which this "
        f"training did not see, they earned {share} of what the oracle earned. "
        f"{_sentence(gate.words)}. "
        f"What was kept: {result.decision}."
    )
    word = "synthetic" if result.synthetic else "observed bars, simulated trading"
    return Section(
        "training",
        title,
        text,
        [
            Charts(_learning_charts(demo.curves), "half"),
            _actions_chart(demo, word),
            _returns_chart(result, word),
        ],
        badge=f"{share} of the oracle",
        tone="good" if gate.is_passed or gate.not_applicable is not None else "bad",
    )


def _learning_charts(curves: TrainingCurves) -> tuple[Chart, Chart]:
    steps = tuple(f"{step:,}" for step in curves.steps)
    means = tuple(sum(row) / len(row) for row in curves.sharpe)
    agents = [
        LineSeries(f"agent {place + 1}", tuple(ratios), "other", is_named=False)
        for place, ratios in enumerate(zip(*curves.sharpe, strict=True))
    ]
    ratio = [LineSeries("mean", means, "agents"), *agents]
    entropy = [LineSeries("entropy", tuple(curves.entropy), "agents", is_named=False)]
    of_range = Axis("of deterministic actions", holds=(0.0, 0.6, 1.0))
    return (
        Chart(
            "Sharpe ratio on the first half of validation",
            time_chart(steps, ratio, Axis("annual", holds=(0.0,)), width=HALF_PX, height=260),
            "One thin line per agent, over environment steps per agent.",
        ),
        Chart(
            "Entropy of actions",
            time_chart(steps, entropy, of_range, width=HALF_PX, height=260),
            "Below 0.6 gate A is not passed.",
        ),
    )


def _actions_chart(demo: TrainingDemo, word: str) -> Charts:
    shares = demo.result.gates[-1].histogram
    columns = [
        BarGroup(name, share, f"{name}: {share:.0%}", style="pos")
        for name, share in zip(bin_labels(demo.config, len(shares)), shares, strict=True)
    ]
    axis = Axis("share of bars", unit="percent", holds=(0.6,))
    return full_chart(
        f"Deterministic actions ({word})",
        partial(column_chart, columns, axis, height=240),
        "Test part, all agents together; no bin may hold more than 60 %.",
    )


def _returns_chart(result: TrainResult, word: str) -> Charts:
    estimates = [
        Estimate(
            f"{part.part}: {each.policy}",
            each.net_bps_per_bar,
            "agents" if each.kind == "agents" else "unsure",
        )
        for part in result.parts
        for each in part.policies
    ]
    return full_chart(
        f"Agents beside simple policies and oracle ({word})",
        partial(forest_chart, estimates, Axis("bp per bar", holds=(0.0,))),
        "Net of costs, basis points per bar with 95 % intervals; mean of the per-symbol accounts.",
    )


def is_pretrained(config: TrainConfig) -> bool:
    """Tell whether agents see the market through an encoder that was pre-trained for them."""
    return config.encoder.preset != "row" and config.encoder.pretrain


def _encoder_words(config: TrainConfig) -> str:
    if not is_pretrained(config):
        return ""
    return (
        f" on the encoder “{config.encoder.preset}”, which was pre-trained on the training part "
        f"({config.pretraining.updates} updates)"
    )


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]


def bin_labels(config: TrainConfig, count: int) -> list[str]:
    """Name the bins of a histogram of actions: codes, or ranges of numbers."""
    rules = config.task.rules
    if rules.action.space == "discrete":
        from tradingbot.domain.action import Action

        return [action.name for action in Action]
    long_only = rules.action.space == "target" and not rules.limits.allow_short
    low = 0.0 if long_only else -1.0
    width = (1.0 - low) / count
    return [f"{low + i * width:.2f} … {low + (i + 1) * width:.2f}" for i in range(count)]


def _finished(session: SessionResult) -> TrainResult:
    assert session.result is not None  # only a callback of the caller could interrupt
    return session.result
