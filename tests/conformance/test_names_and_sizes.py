"""Names say what a thing is, and nothing grows past what one can read in one go."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "tradingbot"

MAX_FILE_LINES = 300
MAX_FUNCTION_LINES = 60
# File → why it may be longer; remove the entry when it is not.
LONG_FILES: dict[str, str] = {}

BANNED_FILE_NAMES = frozenset(
    [
        "util",
        "utils",
        "common",
        "misc",
        "helper",
        "helpers",
        "core",
        "manager",
        "managers",
        "shared",
        "base",
        "tools",
    ]
)
BANNED_NAME = re.compile(r"(^|_)pct($|_)|_v\d+$", re.IGNORECASE)
BANNED_CLASS = re.compile(r"(Manager|Helper|Utils?|Handler|Processor)$")


def code_lines(text: str) -> set[int]:
    """Lines that hold code: neither blank, nor comment, nor part of a bare string."""
    strings = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    skipped = (
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    )
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in skipped:
            found.update(range(token.start[0], token.end[0] + 1))
    return found - strings


def violations(root: Path) -> list[str]:
    """Describe every broken rule below a folder of sources."""
    found: list[str] = []
    for path in sorted(root.rglob("*.py")):
        name, text = path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")
        nodes = list(ast.walk(ast.parse(text)))
        found += _file_violations(name, text)
        found += _name_violations(name, nodes)
        found += _function_violations(name, text, nodes)
    return found


def _file_violations(name: str, text: str) -> list[str]:
    found = [
        f"{name}: a file or folder must not be called {part!r}"
        for part in name.removesuffix(".py").split("/")
        if part.strip("_") in BANNED_FILE_NAMES
    ]
    lines = text.count("\n")
    if lines > MAX_FILE_LINES and name not in LONG_FILES:
        found.append(f"{name}: must have at most {MAX_FILE_LINES} lines, has {lines}")
    return found


def _name_violations(name: str, nodes: Sequence[ast.AST]) -> list[str]:
    found = []
    for node in nodes:
        if isinstance(node, ast.ClassDef) and BANNED_CLASS.search(node.name):
            found.append(f"{name}:{node.lineno}: class {node.name} says nothing about its job")
        found += [
            f"{name}: {word!r} must say its unit (_frac, _bps) and no history"
            for word in _defined_names(node)
            if BANNED_NAME.search(word)
        ]
    return found


def _defined_names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.arg):
        return [node.arg]
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return [node.id]
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        return [node.attr]
    return []


def _function_violations(name: str, text: str, nodes: Sequence[ast.AST]) -> list[str]:
    # Parameters are not counted: a command's options are its interface, one per line.
    bodies = [
        (node, range(node.body[0].lineno, (node.end_lineno or 0) + 1))
        for node in nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    long = [(node, lines) for node, lines in bodies if len(lines) > MAX_FUNCTION_LINES]
    code = code_lines(text) if long else set()
    return [
        f"{name}:{node.lineno}: {node.name} must have at most "
        f"{MAX_FUNCTION_LINES} code lines, has {length}"
        for node, lines in long
        if (length := len(code & set(lines))) > MAX_FUNCTION_LINES
    ]


def test_sources_obey_names_and_sizes() -> None:
    assert "\n".join(violations(SOURCE)) == ""


def test_waivers_are_still_needed_and_have_a_reason() -> None:
    for name, reason in LONG_FILES.items():
        assert len(reason) > 20, name
        assert (SOURCE / name).read_text().count("\n") > MAX_FILE_LINES, name


def test_packages_say_what_belongs_in_them() -> None:
    silent = [
        path.relative_to(ROOT).as_posix()
        for path in SOURCE.rglob("*.py")
        if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]

    assert silent == []


@pytest.mark.parametrize(
    ("path", "code", "complaint"),
    [
        ("data/utils.py", "", "'utils'"),
        ("common/x.py", "", "'common'"),
        ("data/_helpers.py", "", "'_helpers'"),
        ("x.py", "\n" * 301, "at most 300 lines"),
        ("x.py", "def f():\n" + "    x = 1\n" * 61, "f must have at most 60"),
        ("x.py", "fee_pct = 1", "'fee_pct'"),
        ("x.py", "def f(pct_change): ...", "'pct_change'"),
        ("x.py", "def load_v2(): ...", "'load_v2'"),
        ("x.py", "class OrderManager: ...", "OrderManager"),
    ],
)
def test_planted_violation_is_found(tmp_path: Path, path: str, code: str, complaint: str) -> None:
    file = tmp_path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(code)

    assert any(complaint in text for text in violations(tmp_path))


def test_comments_and_docstrings_do_not_count_as_code(tmp_path: Path) -> None:
    body = '    """Say.\n' + "    more\n" * 80 + '    """\n' + "    # why\n" * 80 + "    return 1\n"
    (tmp_path / "x.py").write_text("def f():\n" + body)

    assert violations(tmp_path) == []
