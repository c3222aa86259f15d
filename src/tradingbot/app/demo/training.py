"""The training part of the demonstration: train the prototype, and show what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tradingbot.data.sources.source import Progress
from tradingbot.domain.events.event import Event
from tradingbot.domain.events.training import Began, Updated
from tradingbot.evaluation.figures.training import (
    NetBar,
    TrainingCurves,
    draw_action_histogram,
    draw_learning_curves,
    draw_net_returns,
)
from tradingbot.evaluation.report.page import Picture, Section
from tradingbot.runs import RunDirectory, read_journal
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import load_train_config
from tradingbot.training.result_file import TrainResult
from tradingbot.training.session import SessionCallbacks, SessionResult, begin_run

DEMO_PRESET, SMALL_PRESET = "prototype10", "quick"
"""Training presets of the demonstration, and of its first look."""
_SEED = 7


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
        callbacks: Who is told of progress.
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
    rows = list(read_journal(run.journal_path("evaluations")))
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
    curves = draw_learning_curves(
        demo.curves, title=f"Sharpe ratio on the first half of validation ({word})"
    )
    actions = draw_action_histogram(
        gate.histogram,
        bin_labels(demo.config, len(gate.histogram)),
        title=f"Deterministic actions ({word})",
    )
    bars = [
        NetBar(
            f"{part.part}: {each.policy}",
            each.net_bps_per_bar.estimate,
            each.net_bps_per_bar.low,
            each.net_bps_per_bar.high,
        )
        for part in result.parts
        for each in part.policies
    ]
    returns = draw_net_returns(bars, title=f"Agents beside simple policies and oracle ({word})")
    return Section(
        title=title,
        verdict=f"{share} of the oracle",
        good=gate.is_passed or gate.not_applicable is not None,
        text=text,
        pictures=[
            Picture(curves, "One thin line per agent."),
            Picture(actions, "Test part, all agents together; no bin may hold more than 60 %."),
            Picture(returns, "Net of costs; mean of the agents' sleeves."),
        ],
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
    assert session.result is not None  # nobody interrupts: only a listener of the caller's could
    return session.result
