"""Plugins are loaded from files, modules and entry points; their errors are one line."""

from __future__ import annotations

import os
import sys
from importlib import metadata
from pathlib import Path

import pytest

from tradingbot.domain.errors import ConfigError
from tradingbot.domain.extension import extensions, origins_of
from tradingbot.plugins import loading
from tradingbot.plugins.loading import (
    PLUGINS_VARIABLE,
    import_object,
    load_from_environment,
    load_installed,
    load_plugin,
    loaded_plugins,
)

SOURCE = "import tradingbot as tb\n\n@tb.strategy\ndef {name}(view):\n    return {value}\n"


def write(folder: Path, name: str = "mine", value: str = "0.0") -> Path:
    path = folder / f"{name}.py"
    path.write_text(SOURCE.format(name=f"{name}_strategy", value=value))
    return path


def test_file_is_run_once_and_its_parts_know_where_they_are_from(tmp_path: Path) -> None:
    path = write(tmp_path)

    origin = load_plugin(str(path))

    assert load_plugin(str(path)) is origin
    part = extensions("strategy")["mine_strategy"]
    assert part.origin is origin
    assert origin.place == str(path)
    assert len(origin.sha256) == 64
    assert origins_of([("strategy", "mine_strategy"), ("feature", "x")]) == {"mine": origin}
    assert os.environ[PLUGINS_VARIABLE].endswith(str(path))


def test_hash_follows_the_code_and_what_it_imports_from_beside_it(tmp_path: Path) -> None:
    hashes = set()
    for number, (value, helper) in enumerate([("0.0", "1"), ("1.0", "1"), ("1.0", "2")]):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "beside_it.py").write_text(f"x = {helper}\n")
        path = write(folder, value=value)
        path.write_text(
            "import beside_it\n" + path.read_text().replace("mine_strategy", f"s{number}")
        )
        loading._LOADED.pop("mine", None)
        hashes.add(load_plugin(str(path)).sha256)
        del sys.modules["beside_it"]

    assert len(hashes) == 3


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("def f(:\n", r"was SyntaxError: .*bad\.py:1"),
        ("\n\nx = 1 / 0\n", r"was ZeroDivisionError: division by zero .*bad\.py:3"),
        ("import sys\nsys.exit(3)\n", r"was SystemExit: 3 .*bad\.py:2"),
        ("import no_such_module\n", r"was ModuleNotFoundError.*bad\.py:1"),
        (
            "import tradingbot as tb\n@tb.strategy(warm_up_bars=-1)\ndef f(view): return 0\n",
            r"warm_up_bars must be 0 or more, was -1 .*bad\.py:2",
        ),
    ],
)
def test_error_in_a_file_is_one_line_with_its_place_and_leaves_nothing(
    text: str, complaint: str, tmp_path: Path
) -> None:
    path = tmp_path / "bad.py"
    path.write_text(text)
    before = extensions("strategy")

    with pytest.raises(ConfigError, match=complaint) as caught:
        load_plugin(str(path))

    assert "\n" not in str(caught.value)
    assert extensions("strategy") == before
    assert "bad" not in loaded_plugins()


def test_name_that_another_plugin_has_is_refused_and_so_is_a_second_file_of_one_name(
    tmp_path: Path,
) -> None:
    load_plugin(str(write(tmp_path)))
    other = tmp_path / "other.py"
    other.write_text(SOURCE.format(name="mine_strategy", value="1.0"))
    folder = tmp_path / "second"
    folder.mkdir()

    with pytest.raises(ConfigError, match="name of a strategy must be free, was mine_strategy"):
        load_plugin(str(other))
    with pytest.raises(ConfigError, match="plugins must have names of their own"):
        load_plugin(str(write(folder)))
    with pytest.raises(ConfigError, match="must be a Python file that exists"):
        load_plugin(str(tmp_path / "nothing.py"))
    with pytest.raises(ConfigError, match="a module that can be imported"):
        load_plugin("no_such_module_of_mine")


def test_objects_are_found_in_files_and_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, "importable")
    monkeypatch.chdir(tmp_path)

    assert import_object("importable.py:importable_strategy")(None) == 0.0  # type: ignore[operator]
    with pytest.raises(ConfigError, match="must have 'nothing'"):
        import_object(f"{path}:nothing")
    assert import_object("json:dumps") is __import__("json").dumps


def test_processes_that_are_started_load_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PLUGINS_VARIABLE, str(write(tmp_path, "inherited")))

    load_from_environment()

    assert "inherited_strategy" in extensions("strategy")


def test_entry_points_of_installed_distributions_are_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "third_party.py").write_text(
        "import tradingbot as tb\n\n"
        "def register():\n    tb.strategy(name='bought')(lambda view: 1.0)\n"
    )
    info = tmp_path / "third_party-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: third-party\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(
        "[tradingbot.plugins]\nbought_one = third_party:register\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    load_installed.cache_clear()

    (origin,) = [each for each in load_installed() if each.name == "bought_one"]

    assert origin.place == "third-party 1.2"
    assert extensions("strategy")["bought"].origin is origin
    assert [p.name for p in metadata.entry_points(group="tradingbot.plugins")] == ["bought_one"]
