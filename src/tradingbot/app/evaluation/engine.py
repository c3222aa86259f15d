"""Making all pieces of a dossier: in order of need, each once, what is there already not again."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack

from tradingbot.app.evaluation.bench import Bench, Request, Task
from tradingbot.app.evaluation.crew import Alone, Crew, Processes
from tradingbot.app.evaluation.piece import Piece, Progress, silent
from tradingbot.app.evaluation.piece_store import Stored
from tradingbot.app.training.wiring import torch_threads


def make_pieces(
    bench: Bench, request: Request, *, jobs: int = 1, progress: Progress = silent
) -> dict[str, Stored]:
    """Make what is missing.

    Args:
        bench: Of this process.
        request: That workers open their own from.
        jobs: Processes; 1 makes everything in this one. Results do not depend on it.
        progress: Told (pieces finished, pieces in all, what is done now).

    Returns:
        Name → what was kept, of every piece, in the order of the bench.

    Raises:
        UserError: If a piece without which there is no dossier cannot be made.
        RuntimeError: If making a piece failed.
    """
    made = _Made(bench)
    made.take_from_store()
    missing = len(bench.pieces) - len(made.stored)
    with ExitStack() as stack:
        if missing:
            stack.enter_context(torch_threads(1))
            crew: Crew = Alone(bench)
            if min(jobs, missing) > 1:
                crew = stack.enter_context(Processes(request, min(jobs, missing)))
            _make_missing(bench, made, crew, progress)
    return {name: made.stored[name] for name in bench.pieces}


class _Made:
    """What there is so far."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.stored: dict[str, Stored] = {}
        self.keys: dict[str, str] = {}

    def take_from_store(self) -> None:
        """Take what was made before, as far as needs are there."""
        for piece in self.bench.pieces.values():
            if self.is_ready(piece):
                self.take(self.bench.task_of(piece, self.keys))

    def take(self, task: Task) -> bool:
        """Take one piece from the store; false where it is not there."""
        stored = self.bench.load(task)
        if stored is None:
            return False
        self.stored[task.name], self.keys[task.name] = stored, task.key
        return True

    def is_ready(self, piece: Piece) -> bool:
        """Tell whether it is still to be made, and everything that it needs is there."""
        return piece.name not in self.stored and all(name in self.stored for name in piece.needs)


def _make_missing(bench: Bench, made: _Made, crew: Crew, progress: Progress) -> None:
    total, given = len(bench.pieces), set[str]()

    def tell(finished: int, of: int, label: str) -> None:
        inside = f"{label} {finished}/{of}" if of else label
        progress(len(made.stored), total, inside)

    while len(made.stored) < total:
        ready = [piece for piece in _heaviest_first(bench.pieces) if made.is_ready(piece)]
        for piece in ready:
            if piece.name in given or not crew.is_free:
                continue
            task = bench.task_of(piece, made.keys)
            if made.take(task):  # it became known only now that it is there
                break
            given.add(piece.name)
            crew.give(task)
            tell(0, 0, piece.name)
        else:
            task = crew.wait(tell)
            taken = made.take(task)
            assert taken, task.name
            tell(0, 0, task.name)


def _heaviest_first(pieces: Mapping[str, Piece]) -> list[Piece]:
    return sorted(pieces.values(), key=lambda piece: -piece.weight)
