"""`tradingbot compare`: tables, JSON, a page, and refusals before anything is imported."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.tiny_evaluation import make_run
from fixtures.tiny_training import tiny_config
from tradingbot.training.session import begin_run


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compare")
    make_run(folder, "base")
    begin_run(tiny_config(6, task__costs="retail"), folder, name="dearer")
    return folder


def test_runs_are_compared_in_tables_json_and_a_page(call, workspace: Path, tmp_path: Path) -> None:
    page = tmp_path / "compared.html"

    answer = call("--workspace", str(workspace), "compare", "base", "dear", "--out", str(page))
    document = call("--workspace", str(workspace), "compare", "base", "dearer", "--json").document

    assert answer.code == 0
    said = " ".join(answer.out.split())
    for words in ("task.costs", "retail", "Less base [95 % of the pair]", "synthetic"):
        assert words in said
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert [each["run"] for each in document["runs"]] == ["base", "dearer"]
    (difference,) = document["differences"]
    low, estimate, high = (difference["net_bps_per_bar"][k] for k in ("low", "estimate", "high"))
    assert low <= estimate <= high
    assert f"{estimate:.2f} [{low:.2f}, {high:.2f}]" in said


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("base",), "two runs or more must be given, was 1"),
        (("base", "base"), "runs must be named once each"),
        (("base", "nobody"), "run must be the id of one run"),
        (("base", "dearer", "--out", "page.pdf"), "--out must name an .html file"),
    ],
)
def test_mistakes_are_refused(call, workspace: Path, arguments: tuple[str, ...], told: str) -> None:
    answer = call("--workspace", str(workspace), "compare", *arguments)

    assert answer.code == 2
    assert told in " ".join(answer.err.split())
