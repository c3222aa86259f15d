"""A package that lists `__all__` exports exactly that."""

from __future__ import annotations

import ast
import importlib
import types
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src"
LISTING = sorted(
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    for path in SOURCE.rglob("*.py")
    if "__all__" in path.read_text(encoding="utf-8")
)


def surplus(module: types.ModuleType) -> list[str]:
    """Public names a package's own file defines or imports by hand beyond `__all__`."""
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    bound: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module != "__future__":
            bound.update(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.Assign):
            bound.update(target.id for target in node.targets if isinstance(target, ast.Name))
    return sorted(name for name in bound - set(module.__all__) if not name.startswith("_"))


@pytest.mark.parametrize("name", LISTING)
def test_all_names_exist_once(name: str) -> None:
    module = importlib.import_module(name)

    assert len(set(module.__all__)) == len(module.__all__)
    assert [entry for entry in module.__all__ if not hasattr(module, entry)] == []


@pytest.mark.parametrize(
    "name", [name for name in LISTING if (SOURCE / name.replace(".", "/")).is_dir()]
)
def test_package_exports_exactly_all(name: str) -> None:
    assert surplus(importlib.import_module(name)) == []


def test_surplus_name_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "planted_exports.py").write_text(
        "from math import pi, tau\n__all__ = ['pi']\ndef extra(): ...\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    assert surplus(importlib.import_module("planted_exports")) == ["extra", "tau"]
