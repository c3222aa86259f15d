"""Notebooks of `examples/notebooks`: execute them, label what they print, show them as Markdown.

Run all of them again with `make notebooks`, some with `python docs_site/notebooks.py NAME …`; each
gets a kernel and an empty folder of its own.
"""

from __future__ import annotations

import ast
import base64
import hashlib
import os
import platform
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "examples" / "notebooks"
LONGEST_CELL_S = 600
_MARKS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
LABEL = "executed"
"""Key of a notebook's metadata: with what, and the hash of the code that was."""


def code_hash(notebook: NotebookNode) -> str:
    """Return the hash of what the code cells do: outputs belong to this code and no other.

    Layout and comments do not count; a cell that is no Python counts as it is written.
    """
    from IPython.core.inputtransformer2 import TransformerManager

    parts = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            source = TransformerManager().transform_cell(cell.source)
            try:
                parts.append(ast.dump(ast.parse(source)))
            except SyntaxError:
                parts.append(source)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def executed(notebook: NotebookNode, folder: Path) -> NotebookNode:
    """Run every cell in `folder` and return the notebook with outputs and their label.

    Raises:
        nbclient.exceptions.CellExecutionError: If a cell fails.
    """
    from nbclient import NotebookClient

    own = {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "COLUMNS": "100",
    }
    client = NotebookClient(
        notebook,
        timeout=LONGEST_CELL_S,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(folder)}},
    )
    done = client.execute(env={**os.environ, **own})
    for cell in done.cells:
        if cell.cell_type == "code":
            cell.outputs = joined(cell.outputs)
    done.metadata[LABEL] = {
        "code_sha256": code_hash(done),
        "python": platform.python_version(),
        "tradingbot": _version(),
    }
    return done


def joined(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Put what a cell printed piece by piece into one output, without a terminal's marks."""
    whole: list[NotebookNode] = []
    for output in outputs:
        if output.output_type == "stream":
            output.text = _MARKS.sub("", output.text)
        if whole and output.output_type == "stream" == whole[-1].output_type:
            whole[-1].text += output.text
        else:
            whole.append(output)
    return whole


def as_markdown(
    notebook: NotebookNode, stem: str, relink: Callable[[str], str] = str
) -> tuple[str, dict[str, bytes]]:
    """Return the page of a notebook, and its pictures by name; `relink` mends links of its text."""
    label = notebook.metadata[LABEL]
    note = (
        f"*A notebook: [{stem}.ipynb]({stem}.ipynb). Outputs are those of its last execution, by "
        f"tradingbot {label['tradingbot']} on Python {label['python']}; all bars are synthetic.*"
    )
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(relink(cell.source))
            parts += [note] if len(parts) == 1 else []
        else:
            parts.append(f"```python\n{cell.source}\n```")
            parts += [_shown(output, stem, pictures) for output in cell.outputs]
    return "\n\n".join(part for part in parts if part) + "\n", pictures


def _shown(output: NotebookNode, stem: str, pictures: dict[str, bytes]) -> str:
    data: dict[str, Any] = output.get("data", {})
    if "image/png" in data:
        name = f"{stem}_{len(pictures) + 1}.png"
        pictures[name] = base64.b64decode(data["image/png"])
        return f"![What the cell above draws]({name})"
    text = str(output.get("text") or data.get("text/plain", "")).strip("\n")
    return f"```text\n{text}\n```" if text else ""


def _version() -> str:
    from tradingbot import __version__

    return __version__


def main(names: list[str]) -> None:
    """Execute the notebooks of these names, or all, and write them back."""
    paths = [FOLDER / f"{name}.ipynb" for name in names] or sorted(FOLDER.glob("*.ipynb"))
    for path in paths:
        with tempfile.TemporaryDirectory() as folder:
            done = executed(nbformat.read(path, as_version=4), Path(folder))
        nbformat.write(done, path)
        sys.stdout.write(f"executed {path.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
