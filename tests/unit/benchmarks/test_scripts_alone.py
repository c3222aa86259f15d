"""Scripts that are carried to a GPU machine need nothing there but torch and numpy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[3] / "benchmarks"
SCRIPTS = ["gpu_simulator.py", "gpu_encoder.py"]
HEAVY = ["polars", "pydantic", "pandas", "gymnasium", "numba", "rich", "typer", "pyarrow"]
CODE = f"""
import runpy, sys

for script in {SCRIPTS!r}:
    runpy.run_path({str(FOLDER)!r} + "/" + script, run_name="loaded")
    found = [name for name in {HEAVY!r} if name in sys.modules]
    if found:
        sys.exit(f"{{script}} imports {{', '.join(found)}}")
"""


def test_scripts_need_torch_and_numpy_alone() -> None:
    finished = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)

    assert finished.returncode == 0, finished.stderr
