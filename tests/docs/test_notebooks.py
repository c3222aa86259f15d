"""Notebooks of examples/: their outputs are those of their code, and running them gives such again.

By default the stored ones are read; `slow` executes them.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat", reason="notebooks need: pip install 'tradingbot[dev]'")

from IPython.core.inputtransformer2 import TransformerManager  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs_site"))

import notebooks  # noqa: E402 - hooks of the site, no package

STORED = sorted(notebooks.FOLDER.glob("*.ipynb"))
# What a notebook must print: the reason that it is shown.
SAID = {
    "1_known_answer_market": ("of the oracle's", "all 4 agents stay out", "noise: NO-GO"),
    "2_own_bars": ("HIGH_BELOW_LOW", "strategy tomorrow must not look ahead", "NO-GO"),
    "3_paper_trading": (
        "equal to the cent",
        "TRADE_COUNT",
        "kill_switch",
        "every entry is as it was written",
        "come out bit for bit",
    ),
}


def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


def printed(notebook: nbformat.NotebookNode) -> str:
    """Everything that the cells wrote, as text."""
    outputs = [each for cell in notebook.cells for each in cell.get("outputs", [])]
    return "\n".join(
        str(each.get("text") or each.get("data", {}).get("text/plain", "")) for each in outputs
    )


def problems_of(notebook: nbformat.NotebookNode) -> list[str]:
    """Say what is wrong with a stored notebook."""
    problems = []
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type != "code":
            continue
        try:
            ast.parse(TransformerManager().transform_cell(cell.source))
        except SyntaxError as error:
            problems.append(f"cell {number}: {error.msg}")
        if any(output.output_type == "error" for output in cell.outputs):
            problems.append(f"cell {number}: failed when it was executed")
    label = notebook.metadata.get(notebooks.LABEL, {})
    if label.get("code_sha256") != notebooks.code_hash(notebook):
        problems.append("outputs are of other code. Run: make notebooks")
    return problems


def test_there_are_three_and_the_page_of_examples_lists_them() -> None:
    page = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")

    assert [path.stem for path in STORED] == sorted(SAID)
    assert [path.name for path in STORED if f"](notebooks/{path.name})" not in page] == []


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_stored_notebook_compiles_and_shows_what_its_code_printed(path: Path) -> None:
    notebook = read(path)
    said = printed(notebook)

    assert problems_of(notebook) == []
    assert [words for words in SAID[path.stem] if words not in said] == []
    assert "synthetic" in said
    assert str(Path.home()) not in said
    assert "/tmp/" not in said
    assert "\x1b[" not in said


def test_notebook_that_was_edited_or_cannot_run_is_found() -> None:
    notebook = read(STORED[0])
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]

    code[0].source += "\nprint(1"
    code[1].outputs = [nbformat.v4.new_output("error", ename="E", evalue="e", traceback=[])]

    found = problems_of(notebook)

    assert len(found) == 3
    assert "never closed" in found[0]
    assert found[1].endswith("failed when it was executed")
    assert found[2] == "outputs are of other code. Run: make notebooks"


def test_page_of_a_notebook_shows_text_code_and_outputs() -> None:
    cells = [
        nbformat.v4.new_markdown_cell("# Title"),
        nbformat.v4.new_code_cell("1 + 1"),
    ]
    whole = nbformat.v4.new_output("execute_result", {"text/plain": "2"})
    picture = nbformat.v4.new_output("display_data", {"image/png": "iVBORw0="})
    cells[1].outputs = [whole, picture]
    label = {"tradingbot": "9", "python": "3"}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={notebooks.LABEL: label})

    text, pictures = notebooks.as_markdown(notebook, "name")

    assert text.startswith("# Title\n\n*A notebook: [name.ipynb](name.ipynb).")
    assert "```python\n1 + 1\n```\n\n```text\n2\n```\n\n![What the cell" in text
    assert pictures == {"name_1.png": b"\x89PNG\r"}


def test_pieces_that_a_cell_printed_are_joined_without_marks_of_a_terminal() -> None:
    pieces = [nbformat.v4.new_output("stream", text=text) for text in ("a\n", "\x1b[1mb\x1b[0m\n")]

    assert [each.text for each in notebooks.joined(pieces)] == ["a\nb\n"]


@pytest.mark.slow
@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_notebook_runs_and_says_again_what_it_shows(path: Path, tmp_path: Path) -> None:
    done = notebooks.executed(read(path), tmp_path)

    said = printed(done)
    assert [words for words in SAID[path.stem] if words not in said] == []
    assert problems_of(done) == []
