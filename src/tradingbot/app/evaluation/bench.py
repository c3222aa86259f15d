"""The bench that pieces are made on: the run, its pieces as a graph, and where they are kept.

Every process that makes pieces opens a bench of its own from the same `Request`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tradingbot.app.evaluation.configuration import EvaluateConfig
from tradingbot.app.evaluation.piece import Given, Piece, Progress, silent
from tradingbot.app.evaluation.piece_store import PieceStore, Stored, key_of
from tradingbot.domain.errors import DataError, MissingExtraError

if TYPE_CHECKING:
    from tradingbot.app.evaluation.subject import Subject


@dataclass(frozen=True)
class Request:
    """What is to be evaluated, where and how; plain values that any process can be told."""

    run: str
    """Id of the run, the beginning of it, or its folder."""
    workspace: Path
    config: EvaluateConfig
    folder: Path
    """Where pieces go."""


@dataclass(frozen=True)
class Task:
    """One piece to make now."""

    name: str
    key: str
    needs: tuple[tuple[str, str], ...]
    """Name and key of what it is made from; those that were left out as well."""
    facts: Any = None


@dataclass(frozen=True, eq=False)
class Bench:
    """Everything that is needed to make any piece."""

    subject: Subject
    pieces: Mapping[str, Piece]
    """By name; every need comes before what needs it."""
    store: PieceStore
    identity: str
    """Hash of run, data and sources."""

    def require_possible(self, named: Sequence[str] = ()) -> None:
        """Refuse now what would else be refused when it is counted and much is made.

        Args:
            named: Pieces that must be possible, besides the required ones.

        Raises:
            UserError: If one of them is known to be impossible.
        """
        for piece in self.pieces.values():
            if piece.check is None or not (piece.is_required or piece.name in named):
                continue
            try:
                piece.check()
            except (DataError, MissingExtraError) as e:
                if piece.is_required:
                    raise
                raise impossible(piece.name, str(e)) from e

    def task_of(self, piece: Piece, keys: Mapping[str, str]) -> Task:
        """Return what is to be done for a piece; its needs must have keys."""
        needs = tuple((name, keys[name]) for name in piece.needs)
        facts = piece.facts() if piece.facts is not None else None
        key = key_of(self.identity, piece.settings, facts, [key for _, key in needs])
        return Task(piece.name, key, needs, facts)

    def load(self, task: Task) -> Stored | None:
        """Return a piece that was made before."""
        return self.store.load(task.name, task.key, self.pieces[task.name].record)

    def make(self, task: Task, progress: Progress = silent) -> Stored:
        """Make a piece and keep it.

        Raises:
            UserError: If it cannot be made and there is no dossier without it.
        """
        piece = self.pieces[task.name]
        results, left_out = self._results(task.needs)
        given = Given(self.subject, results, left_out, task.facts, progress)
        try:
            stored = Stored(piece.measure(given))
        except (DataError, MissingExtraError) as e:
            if piece.is_required:
                raise
            stored = Stored(None, str(e))
        self.store.keep(task.name, task.key, stored)
        return stored

    def _results(self, needs: Sequence[tuple[str, str]]) -> tuple[dict[str, Any], dict[str, str]]:
        results, left_out = dict[str, Any](), dict[str, str]()
        for name, key in needs:
            stored = self.store.load(name, key, self.pieces[name].record)
            # It was there a moment ago: one evaluation at a time writes to a folder.
            assert stored is not None, f"{name} is gone"
            if stored.reason:
                left_out[name] = stored.reason
            else:
                results[name] = stored.record
        return results, left_out


def impossible(name: str, reason: str) -> DataError:
    """Return the refusal of a piece that was asked for by name."""
    return DataError(
        f"piece {name} must be possible where it is asked for by name", was=reason.rstrip(".")
    )


def open_bench(request: Request) -> Bench:
    """Open the run and lay out its pieces.

    Raises:
        UserError: If the run cannot be evaluated, or a setting does not fit it.
    """
    from tradingbot.app.evaluation.catalogue import lay_out_pieces
    from tradingbot.app.evaluation.identity import subject_identity
    from tradingbot.app.evaluation.piece_witness import witness_of
    from tradingbot.app.evaluation.subject import open_subject

    subject = open_subject(request.run, request.workspace)
    pieces = lay_out_pieces(subject, request.config, request.workspace)
    return Bench(
        subject=subject,
        pieces={piece.name: piece for piece in pieces},
        store=PieceStore(request.folder, witness_of(subject.run, request.workspace)),
        identity=subject_identity(subject),
    )
