"""Every example runs: doctests in the sources, code blocks in README.md and docs/.

Fences: `python` runs in one namespace per page; of `console` and `bash` the lines that call
`tradingbot` run, in this process where no shell is needed, else with the installed entry point.
Words after the language: `exact` compares the output, `exit=N` expects another exit code,
`no-run <reason>` only shows.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tradingbot.app.cli.application import run

# A page that declares parts of its own must not show them to the tests after it.
pytestmark = pytest.mark.usefixtures("clean_plugins", "short_work")
ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted(
    ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
    for path in (ROOT / "src").rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)
PAGES = sorted(
    path for path in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")) if path.exists()
)
SHELLS = ("console", "bash", "sh", "shell")
_SHELL = re.compile(r"[|><&;$`*]")
_FENCE = re.compile(r"^(?P<indent> *)```(?P<info>.*)$")


@dataclass(frozen=True)
class Block:
    """A fenced block of code."""

    line: int
    language: str
    words: tuple[str, ...]
    text: str

    @property
    def exit_code(self) -> int:
        """The exit code its commands must have."""
        return next((int(w.removeprefix("exit=")) for w in self.words if w.startswith("exit=")), 0)


def blocks_of(text: str) -> Iterator[Block]:
    """Find the fenced blocks of a page; refuse words we do not know."""
    lines = iter(enumerate(text.splitlines(), start=1))
    for number, line in lines:
        opening = _FENCE.match(line)
        if opening is None:
            continue
        body = []
        for _, inner in lines:
            if inner.strip() == "```":
                break
            body.append(inner.removeprefix(opening["indent"]))
        else:
            raise ValueError(f"line {number}: the block must be closed")
        language, *words = opening["info"].split() or [""]
        _check_words(number, words)
        yield Block(number, language, tuple(words), "\n".join(body) + "\n")


def _check_words(line: int, words: list[str]) -> None:
    if words and words[0].rstrip(":") == "no-run":
        if len(words) < 2:
            raise ValueError(f"line {line}: no-run must have a reason")
        return
    unknown = [word for word in words if word != "exact" and not re.fullmatch(r"exit=\d+", word)]
    if unknown:
        raise ValueError(f"line {line}: {unknown[0]!r} is not a word we know after a language")


def commands_of(block: Block) -> Iterator[tuple[str, str]]:
    """Yield each `tradingbot` command of a block, and the output shown below it."""
    text = re.sub(r"\\\n\s*", " ", block.text)
    prompts = block.language == "console" or text.startswith("$ ")
    command, shown = "", ""
    for line in text.splitlines():
        if line.startswith("$ ") or not prompts:
            if command:
                yield command, shown
            command, shown = line.removeprefix("$ ").strip(), ""
            command = command if re.match(r"tradingbot\b", command) else ""
        else:
            shown += line + "\n"
    if command:
        yield command, shown


def run_page(text: str, folder: Path) -> int:
    """Run every block of a page in `folder`; return how many examples ran.

    Raises:
        AssertionError: If a command exits with another code or shows another output than stated.
    """
    namespace: dict[str, object] = {"__name__": "__main__"}
    count = 0
    for block in blocks_of(text):
        if block.words and block.words[0].rstrip(":") == "no-run":
            continue
        if block.language in ("python", "pycon"):
            _run_python(block, namespace)
            count += 1
        elif block.language in SHELLS:
            for command, shown in commands_of(block):
                _run_command(command, shown, block, folder)
                count += 1
    return count


def _run_python(block: Block, namespace: dict[str, object]) -> None:
    if block.text.lstrip().startswith(">>> "):
        example = doctest.DocTestParser().get_doctest(
            block.text, namespace, f"line {block.line}", None, block.line
        )
        runner = doctest.DocTestRunner(verbose=False)
        runner.run(example, clear_globs=False)
        namespace.update(example.globs)
        assert runner.failures == 0, f"example at line {block.line} shows another output"
        return
    # Empty lines in front, so that a traceback names the line of the page. Nothing of this module's
    # `__future__`: a reader's file has what the page shows.
    code = compile("\n" * block.line + block.text, "<page>", "exec", dont_inherit=True)
    exec(code, namespace)


def _run_command(command: str, shown: str, block: Block, folder: Path) -> None:
    code, out, err = _run_in_a_shell(command, folder) if _SHELL.search(command) else _run(command)
    assert code == block.exit_code, (
        f"line {block.line}: {command!r} left with {code}: {err.strip()[-500:]}"
    )
    if "exact" in block.words:
        assert out.strip() == shown.strip(), f"line {block.line}: {command!r}"


def _run(command: str) -> tuple[int, str, str]:
    """Run a plain command here: packages are imported once, not once per example."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(shlex.split(command, comments=True)[1:])
    return code, out.getvalue(), err.getvalue()


def _run_in_a_shell(command: str, folder: Path) -> tuple[int, str, str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    workspace = str(folder / "workspace")
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": path, "TRADINGBOT_WORKSPACE": workspace, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("name", MODULES)
def test_module_doctests_pass(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))

    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_page_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRADINGBOT_WORKSPACE", str(tmp_path / "workspace"))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(os, "cpu_count", lambda: 1)  # workers would import everything again

    run_page(page.read_text(encoding="utf-8"), tmp_path)


def fenced(info: str, body: str) -> str:
    return f"Words.\n\n```{info}\n{body}\n```\n"


@pytest.mark.parametrize(
    ("page", "error"),
    [
        (fenced("python", "assert 1 == 2"), AssertionError),
        (fenced("python", "undefined_name"), NameError),
        (fenced("python", ">>> 1 + 1\n3"), AssertionError),
        (fenced("console", "$ tradingbot no-such-command"), AssertionError),
        (fenced("bash", "tradingbot no-such-command"), AssertionError),
        (fenced("console exact", "$ tradingbot --version\ntradingbot 99"), AssertionError),
        (fenced("console exit=2", "$ tradingbot --version"), AssertionError),
        (fenced("console", "$ ls\n$ tradingbot \\\n    nonsense"), AssertionError),
        (fenced("console no-run", "$ tradingbot nonsense"), ValueError),
        (fenced("python norun", "1"), ValueError),
        ("```python\n1\n", ValueError),
    ],
)
def test_page_with_a_broken_example_fails(
    page: str, error: type[Exception], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(error):
        run_page(page, tmp_path)
    capsys.readouterr()  # doctest reports its failure on stdout


def test_page_with_good_examples_counts_them(tmp_path: Path) -> None:
    page = (
        fenced("python", "x = 2")
        + fenced("python", ">>> x + 1\n3\n>>> y = 5")
        + fenced("python", "assert y == 5")
        + fenced(
            "console exact", "$ tradingbot --version | cut -c1-10\ntradingbot\n$ rm -rf nothing"
        )
        + fenced("bash exit=2", "make demo\ntradingbot nonsense")
        + fenced("console no-run: needs the network", "$ tradingbot nonsense")
        + fenced("text", "anything")
    )

    assert run_page(page, tmp_path) == 5


def test_doctest_that_is_wrong_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "planted_doctest.py").write_text('"""Say.\n\n>>> 1 + 1\n3\n"""\n')
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(AssertionError):
        test_module_doctests_pass("planted_doctest")
    capsys.readouterr()
