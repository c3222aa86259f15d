"""One word for one thing: classes in wide use are in the glossary, no two share a name, and words
that were retired do not come back as identifiers."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "tradingbot"
GLOSSARY = ROOT / "docs" / "glossary.md"
WIDE_USE_FILES = 5
"""A public class that more files than these use must be in the glossary."""

# Class names that occur in more than one file: name → why both may keep it.
SAME_NAME: dict[str, str] = {}

# Private dialect, as whole words of an identifier: what the field says instead.
RETIRED_WORDS = {
    "witness": "receipt",
    "crew": "executor",
    "remaker": "counterfactual data",
    "remaking": "counterfactual data",
    "hearers": "callbacks",
    "wish": "evaluation request",
    "keeper": "checkpoint writer",
    "counting": "trial ledger",
    "settled": "within_no_trade_band, or what it is",
    "sight": "policy inputs",
    "entrant": "policy",
    "entrants": "policies",
    "track": "simulation record",
    "wired": "training setup",
    "piece": "analysis, or chunk",
    "pieces": "analyses, or chunks",
}
# Names that are retired as they stand, classes and functions; as part of another they may occur.
RETIRED_NAMES = {
    *("Seen", "Sight", "Room", "Rules", "Entrant", "Track", "Played", "Piece", "Given", "Bench"),
    *("Kept", "Wired", "Look", "Looks", "Crew", "Alone", "Processes", "Witness", "Keeper", "Wish"),
    *("Remaker", "Hearers", "Listeners", "looks", "count_looks", "leave_witness", "carry_out"),
}
_MAYBE_RETIRED = re.compile("|".join({*RETIRED_WORDS, *RETIRED_NAMES}), re.IGNORECASE)
"""Found in every text with a retired identifier, and seldom elsewhere: those are not tokenised."""
# What programs say to people: phrase in any case → what the field says.
RETIRED_PHRASES = {
    "equal weight, held": "buy & hold, equal weight",
    "random, as much": "turnover-matched random",
    "largest drawdown": "max drawdown",
    "worth of 1 invested": "equity",
    "not so:": "FAIL",
    "windows above 0": "profitable windows",
    "leaves with 0": "exits with 0",
    "goes on to the same bits": "bit-identical",
    "bars late": "delay",
    "make it again": "reproduce",
    "makes it again": "reproduces",
    "trades per 1,000 steps": "steps with a fill per 1,000",
}
# Files that read what older versions wrote.
READS_OLD_WORDS = {"evaluation/performance/record.py"}
# Functions are verbs with an object: bare participles and prepositions say neither.
BARE_FUNCTIONS = {
    *("held", "against", "pose", "judged", "softened", "graded", "joined", "lasting", "changed"),
    *("between", "counted", "carried", "damaged", "decided", "described", "evenly", "locked"),
    *("missing", "priced", "purged", "reading", "rests", "rounded", "shortened", "silent"),
    *("trailing", "unsmoothed", "wanted", "kept", "seen", "told", "shown", "drawn", "given"),
}
# Identifiers that contain a retired word in another sense: identifier → reason.
OTHER_SENSE = {
    "min_track_record": "minimum track record length, the term of Bailey and López de Prado",
    "min_track_record_bars": "minimum track record length, in bars",
    "_track_record": "minimum track record length",
}


@cache
def defined_classes(root: Path) -> dict[str, list[str]]:
    """Return class name → modules that define it at their top level."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(root.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                found[node.name].append(module_name(path, root))
    return found


def module_name(path: Path, root: Path) -> str:
    """Return the dotted name of a file below a package folder."""
    parts = [root.name, *path.relative_to(root).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def files_in_use(root: Path) -> Counter[tuple[str, str]]:
    """Return (defining module, class) → number of files that define it or import it by name."""
    imports = {module_name(path, root): _imported(path) for path in sorted(root.rglob("*.py"))}
    owners = {
        (module, name) for name, modules in defined_classes(root).items() for module in modules
    }
    counts: Counter[tuple[str, str]] = Counter(owners)
    for module, names in imports.items():
        if (root.joinpath(*module.split(".")[1:]) / "__init__.py").is_file():
            continue  # a package only hands names on
        for source, name in set(names.values()):
            origin = _origin(source, name, imports)
            if origin in owners:
                counts[origin] += 1
    return counts


def _imported(path: Path) -> dict[str, tuple[str, str]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {
        alias.asname or alias.name: (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }


def _origin(
    module: str, name: str, imports: dict[str, dict[str, tuple[str, str]]]
) -> tuple[str, str]:
    """Follow a name through modules that import and hand it on."""
    for _ in range(10):
        further = imports.get(module, {}).get(name)
        if further is None:
            break
        module, name = further
    return module, name


def glossary_classes() -> set[str]:
    """Return the class names that stand in the first column of a table of the glossary."""
    rows = re.findall(r"^\| ([^|]+) \|", GLOSSARY.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`([A-Z]\w+)`", row)}


def retired_identifiers(text: str) -> list[str]:
    """Return the retired identifiers of a source text, with their lines."""
    found: list[str] = []
    if not _MAYBE_RETIRED.search(text):
        return found
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.NAME or token.string in OTHER_SENSE:
            continue
        words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", token.string).lower().split("_")
        found += [
            f"{token.start[0]}: {token.string}: say {RETIRED_WORDS[word]}"
            for word in words
            if word in RETIRED_WORDS
        ]
        if token.string in RETIRED_NAMES:
            found.append(f"{token.start[0]}: {token.string}: see docs/glossary.md")
    return found


def bare_functions(text: str) -> list[str]:
    """Return the functions of a module that are named by a bare participle, with their lines."""
    return [
        f"{node.lineno}: {node.name}: name the verb and its object"
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef) and node.name in BARE_FUNCTIONS
    ]


def test_every_class_in_wide_use_is_in_the_glossary() -> None:
    wide = {
        name
        for (_, name), count in files_in_use(SOURCE).items()
        if count > WIDE_USE_FILES and not name.startswith("_")
    }

    assert len(wide) > 60, "the count itself is broken"
    assert sorted(wide - glossary_classes()) == []


def test_every_class_of_the_glossary_exists() -> None:
    assert sorted(glossary_classes() - set(defined_classes(SOURCE))) == []


def test_no_class_name_occurs_twice_without_a_reason() -> None:
    twice = {name: places for name, places in defined_classes(SOURCE).items() if len(places) > 1}

    assert {name: places for name, places in twice.items() if name not in SAME_NAME} == {}
    assert sorted(set(SAME_NAME) - set(twice)) == [], "no longer twice: take it off the list"
    assert all(SAME_NAME.values())


def test_retired_words_do_not_occur_as_identifiers() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{line}"
        for path in sorted(SOURCE.rglob("*.py"))
        for line in retired_identifiers(path.read_text(encoding="utf-8"))
    ]

    assert "\n".join(found) == ""


def test_functions_are_not_bare_participles() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{line}"
        for path in sorted(SOURCE.rglob("*.py"))
        for line in bare_functions(path.read_text(encoding="utf-8"))
    ]

    assert "\n".join(found) == ""
    assert bare_functions("def held(): ...") == ["1: held: name the verb and its object"]


def test_prose_speaks_of_things_and_numbers_not_of_people() -> None:
    people = re.compile(
        r"\b(nobody|somebody|whoever|anybody|everybody|what came of)\b", re.IGNORECASE
    )
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}"
        for pattern in ("src/**/*.py", "src/**/*.html", "src/**/*.yaml", "docs/**/*.md", "*.md")
        for path in sorted(ROOT.glob(pattern))
        if "docs/results" not in path.as_posix() and "docs/decisions" not in path.as_posix()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if people.search(line)
    ]

    assert "\n".join(found) == ""


@pytest.mark.parametrize(
    "text",
    ["class Crew: ...", "def leave_witness(): ...", "entrants = []", "x.remaker", "f(piece=1)"],
)
def test_planted_retired_identifier_is_found(text: str) -> None:
    assert len(retired_identifiers(text)) >= 1


@pytest.mark.parametrize("text", ['"""A piece of code."""', "tracking = 1", "min_track_record = 2"])
def test_lawful_text_raises_no_alarm(text: str) -> None:
    assert retired_identifiers(text) == []


def test_planted_second_class_and_planted_use_are_counted(tmp_path: Path) -> None:
    root = tmp_path / "tradingbot"
    files = {
        "a/__init__.py": "from tradingbot.a.one import Thing",
        "a/one.py": "class Thing: ...",
        "b/two.py": "from tradingbot.a import Thing as T\nclass Thing: ...",
        "b/three.py": "def f():\n    from tradingbot.a.one import Thing",
        "b/four.py": '"""Thing."""',
    }
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)

    assert defined_classes(root)["Thing"] == ["tradingbot.a.one", "tradingbot.b.two"]
    assert files_in_use(root)["tradingbot.a.one", "Thing"] == 3
    assert files_in_use(root)["tradingbot.b.two", "Thing"] == 1


def test_no_text_speaks_of_retired_phrases() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{node.lineno}: {phrase!r}, say {instead!r}"
        for path in sorted(SOURCE.rglob("*.py"))
        if path.relative_to(SOURCE).as_posix() not in READS_OLD_WORDS
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for phrase, instead in RETIRED_PHRASES.items()
        if phrase in (said := node.value.lower())
        and re.search(rf"(?<![\w]){re.escape(phrase)}(?![\w])", said)
    ]
    assert found == []
