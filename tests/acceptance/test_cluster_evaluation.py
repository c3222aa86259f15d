"""An evaluation whose analyses are made on a cluster has the bytes of one in a single process."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fixtures.ray_nodes import ray_nodes
from fixtures.tiny_evaluation import make_run, tiny_evaluation, tiny_evaluation_arguments
from tradingbot.app.cli.application import run
from tradingbot.evaluation.pipeline.session import EvaluationRequest, evaluate_run

pytestmark = pytest.mark.slow
ANALYSES = ("seeds", "walk_forward")


def contents(workspace: Path) -> dict[str, bytes]:
    folder = workspace / "runs" / "tiny" / "evaluation" / "analyses"
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.json"))}


def test_evaluation_on_a_cluster_has_the_bytes_of_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_run(tmp_path / "one")
    shutil.copytree(tmp_path / "one", tmp_path / "many")
    (tmp_path / "ray").mkdir()
    monkeypatch.chdir(tmp_path)  # nodes stand elsewhere

    with ray_nodes(tmp_path / "ray", "second") as nodes:
        place = ["--address", nodes.address.head, "--token-file", str(nodes.address.token_file)]
        words = [*tiny_evaluation_arguments(*ANALYSES), "--executor", "ray", *place]
        assert run(["--workspace", "many", "evaluate", "tiny", *words, "--json"]) == 0
    evaluate_run(EvaluationRequest("tiny", tiny_evaluation(*ANALYSES)), tmp_path / "one", jobs=1)

    assert {"seeds.json", "walk_forward.json"} <= contents(tmp_path / "many").keys()
    assert contents(tmp_path / "many") == contents(tmp_path / "one")
    left = [path.name for path in (tmp_path / "many" / "runs" / "tiny" / "evaluation").iterdir()]
    assert not any(name.startswith("tradingbot-") for name in left)
