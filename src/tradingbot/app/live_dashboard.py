"""The live picture of a training run in a terminal: progress, speed, agents as a heat line."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from tradingbot.app.event_lines import describe_event
from tradingbot.domain.events import training
from tradingbot.domain.events.event import Event

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

_COLOURS = ("#b2182b", "#ef8a62", "#fddbc7", "#d1e5f0", "#67a9cf", "#2166ac")
"""From the worst agent to the best; readable without telling red from green."""
_CELL, _STOPPED_CELL, _UNKNOWN_COLOUR = "■", "□", "grey50"
_SPEED_UPDATES = 20
_KEPT_WARNINGS = 4
_SHOWN = (
    ("policy/normalised_entropy", "normalised entropy"),
    ("policy/entropy", "entropy"),
    ("loss/policy", "policy loss"),
    ("rollout/reward", "reward"),
    ("value/explained_variance", "explained variance"),
)


_TERM = "reward/"
"""What the names of weighted reward terms begin with, means per step."""


class Dashboard:
    """Draws at most four times a second; a slow terminal does not slow the training."""

    def __init__(self, console: Console, *, title: str) -> None:
        """Start drawing."""
        from rich.live import Live

        self._title = title
        self._names: tuple[str, ...] = ()
        self._budget, self._steps, self._sequence = 1, 0, 0
        self._times: deque[tuple[float, int]] = deque(maxlen=_SPEED_UPDATES)
        self._began = time.monotonic()
        self._scores: Tensor | None = None
        self._mean_score: float | None = None
        self._best_score: float | None = None
        self._stopped: set[str] = set()
        self._figures: dict[str, float] = {}
        self._terms: dict[str, float] = {}
        self._said: deque[str] = deque(maxlen=_KEPT_WARNINGS)
        self._live = Live(
            get_renderable=self.draw, console=console, refresh_per_second=4, transient=False
        )
        self._live.start()

    def take(self, event: Event) -> None:
        """Remember what the next picture shows."""
        if isinstance(event, training.Began):
            self._names, self._steps = event.agents, event.steps
            self._budget = event.steps_per_agent
        elif isinstance(event, training.Updated):
            self._steps, self._sequence = event.steps, event.sequence
            self._times.append((time.monotonic(), event.steps))
            self._figures = {
                label: float(_tensor(event.metrics[name]).mean())
                for name, label in _SHOWN
                if name in event.metrics
            }
            self._terms = {
                name.removeprefix(_TERM): float(_tensor(figure).mean())
                for name, figure in event.metrics.items()
                if name.startswith(_TERM)
            }
        elif isinstance(event, training.Evaluated):
            sharpe = event.scores.get("sharpe")
            self._scores = None if sharpe is None else _tensor(sharpe)
            self._mean_score = event.mean_score
            self._best_score = event.mean_score if event.is_best else self._best_score
        elif isinstance(event, training.AgentsStopped):
            self._stopped |= set(event.agents)
        if isinstance(event, training.Warned | training.Intervened) and (
            text := describe_event(event)
        ):
            self._said.append(text)

    def close(self) -> None:
        """Draw the last picture and give the terminal back."""
        self._live.stop()

    def draw(self) -> RenderableType:
        """Return the picture."""
        from rich.console import Group
        from rich.padding import Padding
        from rich.panel import Panel
        from rich.progress_bar import ProgressBar
        from rich.text import Text

        bar = ProgressBar(total=self._budget, completed=min(self._steps, self._budget))
        lines: list[RenderableType] = [
            Text(self._progress_line()),
            Padding(bar, 0),  # a bar alone does not end its line
            Text(self._score_line()),
            Text("  ".join(f"{label} {value:.3g}" for label, value in self._figures.items())),
            self._heat_line(),
        ]
        if len(self._terms) > 1:
            parts = "  ".join(f"{name} {value:+.2g}" for name, value in self._terms.items())
            lines.insert(-1, Text(f"reward by term: {parts}", overflow="ellipsis", no_wrap=True))
        lines += [Text(f"! {text}", overflow="ellipsis", no_wrap=True) for text in self._said]
        return Panel(Group(*lines), title=Text(self._title), title_align="left")

    def _progress_line(self) -> str:
        speed = self._speed()
        left = (self._budget - self._steps) / speed if speed else None
        rest = f"{_clock(left)} left" if left is not None else "measuring"
        return (
            f"update {self._sequence:,}   {self._steps:,} of {self._budget:,} steps per agent   "
            f"{speed * max(len(self._names), 1):,.0f} steps/s   "
            f"{_clock(time.monotonic() - self._began)} gone, {rest}"
        )

    def _speed(self) -> float:
        """Steps per agent and second over the last updates; 0 while unknown."""
        if len(self._times) < 2:
            return 0.0
        (first_time, first_steps), (last_time, last_steps) = self._times[0], self._times[-1]
        return max(last_steps - first_steps, 0) / max(last_time - first_time, 1e-9)

    def _score_line(self) -> str:
        if self._mean_score is None:
            return "validation: not evaluated yet"
        best = f", best {self._best_score:.3f}" if self._best_score is not None else ""
        stopped = f", {len(self._stopped)} agents stopped early" if self._stopped else ""
        score = f"mean of the agents: {self._mean_score:.3f}"
        return f"Sharpe of alpha on the first half of validation, {score}{best}{stopped}"

    def _heat_line(self) -> Text:
        from rich.text import Text

        colours = heat_colours(self._scores, len(self._names))
        line = Text()
        for name, colour in zip(self._names, colours, strict=True):
            line.append(_STOPPED_CELL if name in self._stopped else _CELL, style=colour)
        return line


def open_dashboard(title: str) -> Dashboard:
    """Draw on the terminal behind stderr."""
    from rich.console import Console

    return Dashboard(Console(stderr=True), title=title)


def heat_colours(scores: Tensor | None, n_agents: int) -> list[str]:
    """Return a colour for each agent by the rank of its score (N,); grey where it is unknown."""
    if scores is None:
        return [_UNKNOWN_COLOUR] * n_agents
    known = torch.isfinite(scores)
    rank = torch.where(known, scores, -torch.inf).argsort().argsort()
    places = rank * len(_COLOURS) // max(n_agents, 1)
    return [
        _COLOURS[int(place)] if is_known else _UNKNOWN_COLOUR
        for place, is_known in zip(places, known, strict=True)
    ]


def _tensor(figure: list[float] | float) -> Tensor:
    return torch.tensor(figure, dtype=torch.float64)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
