"""What happens where extras are not installed: one line that says which, or the rest goes on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXTRAS = (
    *("onnx", "onnxruntime", "fastapi", "sqlalchemy", "alembic", "lightgbm", "apprise"),
    *("optuna", "streamlit", "ray"),
)
HIDDEN = f"import sys; sys.modules.update(dict.fromkeys({EXTRAS}));"
"""Python that does not find these packages."""
COMMANDS = {
    "dashboard": (["dashboard"],),
    "serve": (["serve"], ["bench", "serve", "--quick"]),
    "supervised": (
        ["supervised", "train", "--model", "lightgbm", "--market", "planted", "--name", "trees"],
    ),
    "tune": (["tune", "x", "--preset", "quick"],),
    "trade": (["journal", "verify", "--journal", "first"],),
    "cluster": (
        ["cluster", "start"],
        ["power", "mine", "--executor", "ray", "--address", "h:1", "--token-file", __file__],
    ),
}
SCRIPT = """
from tradingbot.app.cli.application import run
for extra, commands in {commands}.items():
    for command in commands:
        code = run(["--workspace", {workspace!r}, *command])
        print(extra, code, *(name for name in ("torch",) if name in sys.modules))
"""


def _python(code: str) -> subprocess.CompletedProcess[str]:
    asked = [sys.executable, "-c", HIDDEN + code]
    return subprocess.run(asked, capture_output=True, text=True, timeout=120, check=False)


def test_commands_name_the_extra_before_torch_is_imported(tmp_path: Path) -> None:
    (tmp_path / "alerts.yaml").write_text("channels: {chat: {kind: apprise, address: 'json://h'}}")
    told = _python(SCRIPT.format(commands=COMMANDS, workspace=str(tmp_path)))

    asked = [extra for extra, commands in COMMANDS.items() for _ in commands]
    assert told.stdout.splitlines() == [f"{extra} 2" for extra in asked], told.stderr
    lines = told.stderr.splitlines()
    assert len(lines) == len(asked)
    for extra, line in zip(asked, lines, strict=True):
        assert f"pip install 'tradingbot[{extra}]'" in line


def test_demo_without_the_week_on_paper_needs_no_extra_of_it() -> None:
    code = (
        "import tradingbot.app.demo.page; assert 'tradingbot.app.demo.trading' not in sys.modules"
    )

    told = _python(code)

    assert told.returncode == 0, told.stderr
