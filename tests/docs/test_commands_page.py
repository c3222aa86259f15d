"""docs/reference/commands.md is written by the command line itself.

Regenerate it with: .venv/bin/python tests/docs/test_commands_page.py
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.main import get_command

from tradingbot.app.cli.application import build_application

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "commands.md"
REGENERATE = ".venv/bin/python tests/docs/test_commands_page.py"

_INTRODUCTION = f"""\
# Commands

<!-- Generated from the application. Do not edit; run: {REGENERATE} -->

`tradingbot [GLOBAL OPTIONS] NOUN VERB [OPTIONS]`. Global options may stand anywhere. With
`--json` a command prints one JSON document on standard output and nothing else there; notes,
progress and errors go to standard error. Exit codes are in [errors](errors.md).
"""


def render_page(application: typer.Typer) -> str:
    """Write the whole page for an application."""
    root: Any = get_command(application)
    parts = [_INTRODUCTION, "## Global options\n", *_table("option", _options(root))]
    for words, command in walk(root):
        parts += ["", f"## tradingbot {' '.join(words)}\n", *_describe(words, command)]
    return "\n".join(parts).rstrip() + "\n"


def walk(group: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every command that does something, with the words that call it."""
    for name, command in group.commands.items():
        if getattr(command, "commands", None):
            yield from walk(command, (*words, name))
        else:
            yield (*words, name), command


def _describe(words: tuple[str, ...], command: Any) -> list[str]:
    paragraphs = [" ".join(_plain(text).split()) for text in (command.help or "").split("\n\n")]
    examples = [text.removeprefix("Example: ") for text in paragraphs if "Example: " in text]
    lines = [f"{text}\n" for text in paragraphs if "Example: " not in text]
    arguments, options = _arguments(command), _options(command)
    names = [f" {name}" for name, *_ in arguments]
    call = f"tradingbot {' '.join(words)}{''.join(names)}{' [OPTIONS]' if options else ''}"
    lines += ["```text", call.replace("`", ""), "```", ""]
    lines += _table("argument", arguments) + ([""] if arguments else [])
    lines += _table("option", options)
    if examples:
        lines += ["", *(f"Example: `{example}`  " for example in examples)]
        lines[-1] = lines[-1].rstrip()
    return lines


def _table(kind: str, rows: list[tuple[str, str, str]]) -> list[str]:
    if not rows:
        return []
    shown = [f"| {name} | {default} | {help_text} |" for name, default, help_text in rows]
    return [f"| {kind} | default | meaning |", "|---|---|---|", *shown]


def _arguments(command: Any) -> list[tuple[str, str, str]]:
    return [
        (f"`{_metavar(p)}`", _default(p), _cell(p.help))
        for p in command.params
        if p.param_type_name == "argument" and not p.hidden
    ]


def _metavar(parameter: Any) -> str:
    if parameter.metavar:
        return str(parameter.metavar)
    name = parameter.name.upper() + ("…" if parameter.nargs == -1 or parameter.multiple else "")
    return name if parameter.required else f"[{name}]"


def _options(command: Any) -> list[tuple[str, str, str]]:
    return [
        (", ".join(f"`{name}`" for name in p.opts), _default(p), _meaning(p))
        for p in command.params
        if p.param_type_name == "option" and not p.hidden
    ]


def _meaning(parameter: Any) -> str:
    text = _cell(parameter.help)
    low, high = parameter.min, parameter.max
    if low is not None:
        text += f" At least {low:g}." if high is None else f" From {low:g} to {high:g}."
    return text + (" May be given several times." if parameter.multiple else "")


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    value = parameter.default
    if value is None or parameter.show_default is False:
        return ""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, datetime):
        return f"`{value:%Y-%m-%d}`"
    if isinstance(value, tuple):
        return f"`{' '.join(str(part) for part in value)}`"
    return f"`{value}`"


def _cell(text: str | None) -> str:
    return " ".join(_plain(text or "").split()).replace("|", "\\|")


def _plain(text: str) -> str:
    return re.sub(r"\[/?(?:bold|dim|italic)\]", "", text)


def test_commands_page_is_what_the_application_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == render_page(build_application()), (
        f"docs/reference/commands.md is out of date. Run: {REGENERATE}"
    )


def test_commands_page_has_every_command_and_option() -> None:
    page = PAGE.read_text(encoding="utf-8")

    for words, command in walk(get_command(build_application())):
        _, heading, section = page.partition(f"\n## tradingbot {' '.join(words)}\n")
        section = section.partition("\n## ")[0]
        assert heading, words
        for option in (name for p in command.params for name in p.opts if name.startswith("--")):
            assert f"`{option}`" in section, (words, option)


@pytest.mark.parametrize("change", ["help", "default", "option", "command"])
def test_page_of_a_changed_application_differs(change: str) -> None:
    def make(*, changed: bool) -> str:
        application = typer.Typer()
        application.callback()(lambda: None)
        text = "Another word." if changed and change == "help" else "A word."
        default = 2 if changed and change == "default" else 1
        name = "--more" if changed and change == "option" else "--count"

        @application.command("first")
        def first(count: int = typer.Option(default, name, help=text)) -> None:
            """Count."""

        if changed and change == "command":
            application.command("second")(first)
        return render_page(application)

    assert make(changed=False) == make(changed=False)
    assert make(changed=True) != make(changed=False)


if __name__ == "__main__":
    PAGE.write_text(render_page(build_application()), encoding="utf-8")
    sys.stdout.write(f"wrote {PAGE.relative_to(ROOT)}\n")
