"""docs/architecture.md and its two drawings: written from the table of imports and from the files.

The rooms are those of `tests/conformance/test_import_direction.py`; an arrow that changes there
changes the page, or this test fails. Steps of the way of a bar name files that must exist.
"""

from __future__ import annotations

import re
import sys
from html import escape
from itertools import combinations
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "conformance"))

from test_import_direction import ALLOWED  # noqa: E402 - beside this file, no package

SOURCE = ROOT / "src" / "tradingbot"
PAGE = ROOT / "docs" / "architecture.md"
IMAGES = ROOT / "docs" / "images"
REGENERATE = ".venv/bin/python tests/docs/test_architecture_page.py"
ROOMS = {
    "domain": "symbols, orders, events, errors",
    "executors": "work inline or by processes",
    "data": "bytes to checked bars",
    "configuration": "presets and files to settings",
    "features": "bars to causal numbers, certified",
    "plugins": "parts of one's own",
    "risk": "rules that every order passes",
    "market": "the simulator: accounts and bars",
    "rewards": "terms of a step, weighted",
    "networks": "encoders, heads, distributions",
    "learning": "learners, trainer, guards",
    "agents": "policies: rules and networks",
    "envs": "environments and tasks",
    "runs": "run folders, checkpoints, ledger",
    "cluster": "executor and nodes on Ray",
    "supervised": "classifiers out of fold",
    "runtime": "sessions: gate, orders, brokers",
    "evaluation": "backtests, statistics, gates, pages",
    "training": "a run from data to checkpoint",
    "evaluation/analyses": "one file per analysis of a run",
    "evaluation/pipeline": "request, executor, store",
    "evaluation/power": "planted signals, what is found",
    "evaluation/comparison": "runs beside each other",
    "tuning": "settings tried, every trial counted",
    "campaign": "phases from data to verdict",
    "facade": "import tradingbot as tb",
    "serving": "bundles, models that act from them",
    "monitoring": "alerts, pages of what happened",
    "app": "command line, console, demo",
}
# Where a room stands from left to right, in px of the drawing; its level is computed.
COLUMNS = {
    "data": 120.0,
    "configuration": 120.0,
    "features": 120.0,
    "runs": 120.0,
    "runtime": 120.0,
    "plugins": 330.0,
    "rewards": 430.0,
    "supervised": 540.0,
    "risk": 720.0,
    "market": 720.0,
    "agents": 930.0,
    "networks": 960.0,
    "executors": 1180.0,
    "learning": 1070.0,
    "serving": 330.0,
    "monitoring": 120.0,
    "evaluation/power": 740.0,
    "cluster": 1180.0,
    "tuning": 950.0,
    "campaign": 950.0,
}
MIDDLE = 540.0
BOX_WIDTH = 196.0
# (label, file or folder that does it): the way of one bar, and back again.
WAY_OF_A_BAR = (
    ("source delivers", "data/sources"),
    ("rows are checked", "data/quality"),
    ("stored by content", "data/store.py"),
    ("features, batch or stream", "features/graph"),
    ("certified panel", "features/causality"),
    ("world of N symbols", "envs/world.py"),
    ("embedding", "networks/encoders"),
    ("policy decides at the close", "agents/policy.py"),
    ("action becomes an order", "market/actions"),
    ("risk gate", "risk/gate.py"),
    ("fill at the next open", "market/fills.py"),
    ("account is marked", "market/marking.py"),
    ("reward", "rewards/stack.py"),
    ("learner updates", "learning/trainer.py"),
    ("dossier and gates", "evaluation/dossier"),
)
# Arrows of the way: (from, to) by place in `WAY_OF_A_BAR`; besides the line itself, who goes back.
BRANCHES = ((11, 7, "next bar"), (13, 7, "new weights"), (11, 14, "test bars"))
_MARK = "<!-- {}: generated, run " + REGENERATE + " -->"


def room_arrows() -> dict[str, set[str]]:
    """Return room → rooms that it may import; a folder without a line here is part of its room."""
    arrows: dict[str, set[str]] = {}
    for place, targets in ALLOWED.items():
        if targets is not None:
            own = arrows.setdefault(room_of(place), set())
            own |= {room_of(target) for target in targets} - {room_of(place)}
    return arrows


def room_of(place: str) -> str:
    """Return the room that a place of the import table is drawn as."""
    return place if place in ROOMS else place.partition("/")[0]


def reduced(arrows: dict[str, set[str]]) -> dict[str, list[str]]:
    """Leave out arrows that follow from others; there is no cycle, which a test holds."""

    def reach(room: str, seen: set[str]) -> set[str]:
        for target in arrows[room] - seen:
            seen.add(target)
            reach(target, seen)
        return seen

    reaches = {room: reach(room, set()) for room in arrows}
    return {
        room: sorted(
            target
            for target in targets
            if not any(target in reaches[other] for other in targets - {target})
        )
        for room, targets in arrows.items()
    }


def levels(arrows: dict[str, list[str]]) -> dict[str, int]:
    """Return the longest way from each room down to the vocabulary.

    Raises:
        KeyError: If a room stands before one that it imports; with a cycle, one always does.
    """
    found: dict[str, int] = {}
    for room in ROOMS:
        found[room] = 1 + max((found[each] for each in arrows[room]), default=-1)
    return found


def rooms_mermaid() -> str:
    """Write the rooms as Mermaid: an arrow points to what a room imports."""
    arrows = reduced(room_arrows())
    lines = ["flowchart BT"]
    lines += [f'    {node(room)}["{room}<br/><small>{ROOMS[room]}</small>"]' for room in ROOMS]
    lines += [f"    {node(room)} --> {node(each)}" for room in ROOMS for each in arrows[room]]
    return "\n".join(lines)


def node(room: str) -> str:
    """Return a room's name as Mermaid takes it."""
    return room.replace("/", "_")


def bar_mermaid() -> str:
    """Write the way of a bar as Mermaid."""
    lines = ["flowchart LR"]
    for number, (label, path) in enumerate(WAY_OF_A_BAR):
        lines.append(f'    s{number}["{label}<br/><small>{path}</small>"]')
    last = len(WAY_OF_A_BAR) - 1
    lines += [f"    s{number} --> s{number + 1}" for number in range(last - 1)]
    lines += [f"    s{start} -- {words} --> s{end}" for start, end, words in BRANCHES]
    return "\n".join(lines)


_STYLE = (
    "<style>text{font:13px system-ui,sans-serif;fill:#1f2933}.s{font-size:10.5px;fill:#52606d}"
    ".l{font-size:10.5px;fill:#2b6cb0}rect{fill:#f5f7fa;stroke:#7b8794}"
    "path{fill:none;stroke:#7b8794}.b{stroke:#2b6cb0}"
    "@media(prefers-color-scheme:dark){text{fill:#e4e7eb}.s{fill:#9aa5b1}.l{fill:#63b3ed}"
    "rect{fill:#27313d;stroke:#616e7c}path{stroke:#616e7c}.b{stroke:#63b3ed}}</style>"
    '<defs><marker id="a" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
    '<path d="M1,1 L7,4 L1,7"/></marker></defs>'
)


def rooms_svg() -> str:
    """Draw the rooms: one row per level, the vocabulary at the bottom."""
    arrows = reduced(room_arrows())
    level = levels(arrows)
    width, step_y, box_w, box_h = 1290.0, 84.0, BOX_WIDTH, 44.0
    height = step_y * (max(level.values()) + 1) + 10
    place = {
        room: (COLUMNS.get(room, MIDDLE), height - step_y * (level[room] + 0.5)) for room in ROOMS
    }
    lines = []
    for room in ROOMS:
        for target in arrows[room]:
            (x1, y1), (x2, y2) = place[room], place[target]
            bend = (y2 - y1) / 2
            lines.append(
                f'<path marker-end="url(#a)" d="M{x1:.0f},{y1 + box_h / 2:.0f} C{x1:.0f},'
                f'{y1 + bend:.0f} {x2:.0f},{y2 - bend:.0f} {x2:.0f},{y2 - box_h / 2:.0f}"/>'
            )
    boxes = [_box(*place[room], box_w, box_h, room, ROOMS[room]) for room in ROOMS]
    return _svg(width, height, "Rooms and what they import", [*lines, *boxes])


def bar_svg() -> str:
    """Draw the way of a bar: rows of five, read like a text."""
    columns, box_w, box_h = 5, 176.0, 44.0
    width, step_y = 1060.0, 108.0
    rows = -(-len(WAY_OF_A_BAR) // columns)
    height = step_y * rows + 20
    gap = width / columns
    place = [
        (gap * (number % columns + 0.5), step_y * (number // columns) + 46.0)
        for number in range(len(WAY_OF_A_BAR))
    ]
    parts = []
    for number in range(len(WAY_OF_A_BAR) - 2):
        (x1, y1), (x2, y2) = place[number], place[number + 1]
        if y1 == y2:
            line = f"M{x1 + box_w / 2:.0f},{y1:.0f} L{x2 - box_w / 2:.0f},{y2:.0f}"
        else:
            line = (
                f"M{x1:.0f},{y1 + box_h / 2:.0f} L{x1:.0f},{y1 + 48:.0f} "
                f"L{x2:.0f},{y1 + 48:.0f} L{x2:.0f},{y2 - box_h / 2:.0f}"
            )
        parts.append(f'<path marker-end="url(#a)" d="{line}"/>')
    for index, (start, end, words) in enumerate(BRANCHES):
        (x1, y1), (x2, y2) = place[start], place[end]
        shift, is_level = 24.0 * (index + 1), y1 == y2
        edge = box_h / 2 if is_level else -box_h / 2
        turn = y1 + (box_h / 2 + 16.0 if is_level else -box_h / 2 - 12.0 - 8.0 * index)
        into = y2 + box_h / 2
        line = (
            f"M{x1:.0f},{y1 + edge:.0f} L{x1:.0f},{turn:.0f} "
            f"L{x2 + shift - 36.0:.0f},{turn:.0f} L{x2 + shift - 36.0:.0f},{into:.0f}"
        )
        parts.append(f'<path class="b" marker-end="url(#a)" d="{line}"/>')
        x, y = (x1 + x2) / 2, turn - 4
        parts.append(f'<text class="l" x="{x:.0f}" y="{y:.0f}" text-anchor="middle">{words}</text>')
    for (x, y), (words, path) in zip(place, WAY_OF_A_BAR, strict=True):
        parts.append(_box(x, y, box_w, box_h, words, path))
    return _svg(width, height, "The way of a bar", parts)


def _box(x: float, y: float, width: float, height: float, name: str, words: str) -> str:
    return (
        f'<rect x="{x - width / 2:.0f}" y="{y - height / 2:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" rx="6"/>'
        f'<text x="{x:.0f}" y="{y - 3:.0f}" text-anchor="middle">{escape(name)}</text>'
        f'<text class="s" x="{x:.0f}" y="{y + 13:.0f}" text-anchor="middle">{escape(words)}</text>'
    )


def _svg(width: float, height: float, title: str, parts: list[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'role="img" aria-label="{title}"><title>{title}</title>{_STYLE}\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def with_diagrams(text: str) -> str:
    """Return the page with both Mermaid blocks as they are now."""
    for name, block in (("rooms", rooms_mermaid()), ("bar", bar_mermaid())):
        mark = re.escape(_MARK.format(name))
        found = re.subn(
            rf"({mark}\n)```mermaid\n.*?```",
            lambda match, block=block: f"{match[1]}```mermaid\n{block}\n```",
            text,
            flags=re.DOTALL,
        )
        text, count = found
        assert count == 1, f"the page must have the mark {_MARK.format(name)}"
    return text


def test_rooms_are_those_of_the_package_and_of_the_import_table() -> None:
    folders = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").is_file()}

    assert {room for room in ROOMS if "/" not in room} == folders
    assert set(ROOMS) == set(room_arrows())
    assert all((SOURCE / room).is_dir() for room in ROOMS)


def test_page_shows_the_import_table() -> None:
    text = PAGE.read_text(encoding="utf-8")

    shown = set(re.findall(r"^    (\w+) --> (\w+)$", text, flags=re.MULTILINE))
    nodes = {node(room) for room in ROOMS}
    assert {pair for pair in shown if pair[0] in nodes} == {
        (node(room), node(target))
        for room, targets in reduced(room_arrows()).items()
        for target in targets
    }
    assert text == with_diagrams(text), f"docs/architecture.md is out of date. Run: {REGENERATE}"


def test_drawing_hides_no_room_and_no_arrow() -> None:
    arrows = room_arrows()
    drawn = reduced(arrows)
    level = levels(drawn)

    for one, other in combinations(ROOMS, 2):
        apart = abs(COLUMNS.get(one, MIDDLE) - COLUMNS.get(other, MIDDLE))
        assert level[one] != level[other] or apart > BOX_WIDTH, f"{one} lies upon {other}"
    # A folder that is drawn as part of its room may close a cycle, whose arrows all follow from
    # others: give it a line of its own in ROOMS.
    lost = [
        (room, target)
        for room, targets in arrows.items()
        for target in targets
        if level[target] >= level[room]
    ]
    assert lost == []


def test_drawings_are_current() -> None:
    for name, drawn in (("rooms", rooms_svg()), ("way_of_a_bar", bar_svg())):
        stored = (IMAGES / f"{name}.svg").read_text(encoding="utf-8")
        assert stored == drawn, f"docs/images/{name}.svg is out of date. Run: {REGENERATE}"


def test_map_of_the_folders_has_every_room() -> None:
    folders = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").is_file()}

    shown = re.findall(r"^  (\w+)/ ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)

    assert set(shown) == folders
    assert len(shown) == len(set(shown))


def test_steps_of_the_way_of_a_bar_exist() -> None:
    assert [path for _, path in WAY_OF_A_BAR if not (SOURCE / path).exists()] == []


def test_arrows_that_follow_from_others_are_left_out() -> None:
    arrows = {"a": set(), "b": {"a"}, "c": {"a", "b"}}

    assert reduced(arrows) == {"a": [], "b": ["a"], "c": ["b"]}


if __name__ == "__main__":
    PAGE.write_text(with_diagrams(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    (IMAGES / "rooms.svg").write_text(rooms_svg(), encoding="utf-8")
    (IMAGES / "way_of_a_bar.svg").write_text(bar_svg(), encoding="utf-8")
    sys.stdout.write(f"wrote {PAGE.relative_to(ROOT)} and two drawings\n")
