"""Checkpoints of a run that is killed and resumed name the parents of one that never was."""

from __future__ import annotations

import math
from pathlib import Path

import torch

from fixtures.small_runs import NOW, make_plan, make_run
from tradingbot.domain.events.training import Label
from tradingbot.learning.trainer_hooks import Snapshot
from tradingbot.runs import RunDirectory, resume_run
from tradingbot.runs.manifest import CheckpointManifest, read_manifest
from tradingbot.training.checkpoint_writer import CheckpointWriter


def save(run: RunDirectory, *sequences: int, resumes: bool) -> None:
    """Write checkpoints in one process, as if it were killed after the last."""
    point = resume_run(run, make_plan(), at=NOW) if resumes else None
    writer = CheckpointWriter(run, point)
    for sequence in sequences:
        actor = torch.nn.Linear(2, 2)
        torch.nn.init.constant_(actor.weight, 1.0 + sequence)
        torch.nn.init.constant_(actor.bias, 0.5)
        writer.save_networks_of({"actor": actor}, {}, None)  # type: ignore[arg-type]
        labels: tuple[Label, ...] = ("last", *(("start",) if sequence == 0 else ()))
        tensors = {"weight": actor.weight.detach()}
        writer.save(Snapshot(sequence, sequence, sequence, tensors, labels, math.nan))
    writer.close()


def manifests(run: RunDirectory) -> dict[str, CheckpointManifest]:
    return {folder.name: read_manifest(folder) for folder in sorted(run.checkpoints.iterdir())}


def test_checkpoint_written_again_after_a_kill_keeps_its_parent(tmp_path: Path) -> None:
    calm, killed = make_run(tmp_path / "calm"), make_run(tmp_path / "killed")
    save(calm, 0, 3, 6, resumes=False)

    save(killed, 0, resumes=False)
    save(killed, 0, resumes=True)  # killed before its next checkpoint
    save(killed, 0, 3, resumes=True)
    save(killed, 3, 6, resumes=True)  # as Ctrl-C and Ctrl-C again do
    save(killed, 6, resumes=True)

    found = manifests(killed)
    start, third, sixth = (
        found[f"{n:08d}-{k}"] for n, k in ((0, "start"), (3, "last"), (6, "last"))
    )
    assert start.parent is None
    assert (third.parent, sixth.parent) == (start.weights_sha256, third.weights_sha256)
    assert found == manifests(calm)
