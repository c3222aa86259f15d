"""The demo from a seed to a page, as a newcomer runs it; and the help of every command."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import re
import shlex
import sys
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import typer

from acceptance.conftest import Outcome, listing
from fixtures.short_work import shortened_work
from tradingbot import serving
from tradingbot.app.cli.application import build_application, run
from tradingbot.app.cli.demo import missing_extra
from tradingbot.app.cli.invocation import take_plugins
from tradingbot.data.store import BarStore
from tradingbot.features.panel import Panel

TINY = """
extends: quick
market:
  start: 2025-04-01
proof:
  common_rounds: 1
  staggered_rounds: 1
"""
PNG = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True)
class Demo:
    """Two runs of the demo: for people, then again for machines."""

    workspace: Path
    first: Outcome
    after_first: dict[str, bytes]
    second: Outcome

    @property
    def record(self) -> dict[str, object]:
        document = json.loads(self.second.out)
        assert isinstance(document, dict)
        return document

    @property
    def page(self) -> str:
        return Path(str(self.record["page"])).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    folder = tmp_path_factory.mktemp("demo")
    (folder / "tiny.yaml").write_text(TINY)
    arguments = ["--workspace", str(folder / "workspace"), "demo", "--config"]
    with shortened_work(), pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        first = call([*arguments, "tiny.yaml"])
        after_first = listing(folder / "workspace")
        second = call([*arguments, "./tiny.yaml", "--json"])
    return Demo(folder / "workspace", first, after_first, second)


def call(arguments: list[str]) -> Outcome:
    """Run the command line here; capsys has a narrower scope than the fixture."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(arguments)
    return Outcome(code, out.getvalue(), err.getvalue())


class References(HTMLParser):
    """Collects everything a page points at, and the text it shows."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, str, str]] = []
        self.text: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pointing = ("src", "href", "srcset", "data", "action", "poster", "background")
        self.found += [(tag, name, value or "") for name, value in attrs if name in pointing]

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_demo_ends_well_and_says_where_the_page_is(demo: Demo) -> None:
    assert (demo.first.code, demo.second.code) == (0, 0)
    assert "synthetic market" in demo.first.out
    for step in ("generate", "validate", "features", "prove causal", "stylised facts"):
        assert step in demo.first.out
    assert str(demo.record["page"]) in demo.first.err.replace("\n", "")


def test_demo_page_needs_no_other_file_and_no_network(demo: Demo) -> None:
    references = References(demo.page)

    assert {tag for tag, _, _ in references.found} == {"a", "link", "image"}
    assert all(value.startswith(("#", "data:")) for _, _, value in references.found)
    assert re.search(r"https?://|@import|url\(|<iframe", demo.page) is None
    assert demo.page.count("<script") == 1  # its own, named by hash in the policy
    assert "default-src 'none'" in demo.page


def test_demo_page_pictures_are_whole(demo: Demo) -> None:
    from matplotlib.image import imread

    drawings = re.findall(r"<svg.*?</svg>", demo.page, flags=re.DOTALL)
    assert len(drawings) >= 9
    assert all(re.search(r"<(path|rect|circle|image)", drawing) for drawing in drawings)
    pictures = [value for tag, _, value in References(demo.page).found if tag == "image"]
    assert pictures
    for value in pictures:
        content = base64.b64decode(value.partition(",")[2], validate=True)
        assert content.startswith(PNG)
        picture = imread(io.BytesIO(content))
        assert picture.shape[1] > 600
        assert picture.std() > 0.01  # something is drawn


def test_demo_page_says_synthetic_and_what_was_proved(demo: Demo) -> None:
    record, text = demo.record, " ".join(References(demo.page).text)

    assert text.lower().count("synthetic") >= 6
    assert str(record["dataset"]) in text
    assert str(record["certificate_sha256"])[:16] in text
    assert str(record["config_hash"])[:16] in text
    for title in ("Readiness", "Features", "Free of look-ahead", "How real", "Known answers"):
        assert title in text
    assert "Agents that learn" in text


def test_demo_json_is_one_document_with_everything(demo: Demo) -> None:
    record = demo.record

    assert record["synthetic"] is record["ready"] is record["causal"] is True
    steps = "generate, validate, features, prove causal, stylised facts, known answers, train"
    assert list(record["seconds"]) == [*steps.split(", "), "evaluate", "trade"]  # type: ignore[call-overload]
    assert record["verdict"] in ("NO-GO", "CONDITIONAL")  # what GO requires is not measured here
    assert Path(str(record["report"])).is_file()
    assert {oracle["label"] for oracle in record["oracles"]} == {"synthetic"}  # type: ignore[attr-defined]


def test_demo_run_again_gives_the_same_bits(demo: Demo) -> None:
    after_second = _without_runs(listing(demo.workspace))

    assert after_second.keys() == _without_runs(demo.after_first).keys()
    differing = [name for name, bits in after_second.items() if bits != demo.after_first[name]]
    assert differing == []


def test_demo_trains_the_same_agents_again(demo: Demo) -> None:
    results = [json.loads(p.read_text()) for p in demo.workspace.glob("runs/*/result.json")]

    assert len(results) == 2
    assert len({result["weights_sha256"] for result in results}) == 1


def _without_runs(files: dict[str, bytes]) -> dict[str, bytes]:
    """Leave out what is stamped with its time: runs, their ledger, models and sessions."""
    stamped = ("runs", "ledger", "served", "sessions")
    return {name: bits for name, bits in files.items() if not name.startswith(stamped)}


def test_demo_trades_a_week_as_its_backtest_does(demo: Demo) -> None:
    trading = demo.record["trading"]

    assert trading["comparison"]["difference"] is None  # type: ignore[index]
    assert trading["comparison"]["n_bars"] > 20  # type: ignore[index]
    assert "equal to the cent" in " ".join(demo.first.out.split())
    assert "A week on paper" in " ".join(References(demo.page).text)


def test_demo_says_which_extra_the_week_lacks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.delitem(sys.modules, "tradingbot.serving.onnx_runtime", raising=False)
    monkeypatch.delattr(serving, "onnx_runtime", raising=False)

    lacking = missing_extra()

    assert lacking is not None
    assert lacking.extra == "serve"


def test_demo_panel_opens_through_the_gate(demo: Demo) -> None:
    (folder,) = (demo.workspace / "panels").glob("[!.]*")

    panel = Panel.open(folder, verify=True)

    assert panel.certificate is not None
    assert panel.certificate.sha256 == demo.record["certificate_sha256"]
    assert BarStore(demo.workspace).open("demo-regimes").id == demo.record["dataset"]


def every_command() -> dict[tuple[str, ...], Any]:
    """Every command by the words that are typed for it."""
    found = {}
    for noun, group in typer.main.get_command(build_application()).commands.items():  # type: ignore[attr-defined]
        verbs = getattr(group, "commands", None)
        if verbs is None:
            found[(noun,)] = group
        else:
            found |= {(noun, verb): command for verb, command in verbs.items()}
    return found


COMMANDS = every_command()


def examples(text: str) -> list[str]:
    """Commands in the examples of a help text."""
    plain = re.sub(r"\[/?bold\]", "", text)
    found = re.findall(r"Example: (tradingbot .*?)(?:\n\s*\n|\Z)", plain, flags=re.DOTALL)
    return [" ".join(example.split()) for example in found]


@pytest.mark.parametrize("words", list(COMMANDS), ids=" ".join)
def test_help_of_every_command_shows_an_example(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*words, "--help"]) == 0

    captured = capsys.readouterr()
    assert "Example" in captured.out
    assert captured.err == ""


@pytest.mark.parametrize("words", list(COMMANDS), ids=" ".join)
def test_examples_in_the_help_parse(words: tuple[str, ...]) -> None:
    command = COMMANDS[words]
    found = examples(command.help or "")

    assert found
    for example in found:
        spoken, _ = take_plugins(shlex.split(example))  # as the application reads its arguments
        assert tuple(spoken[1 : 1 + len(words)]) == words
        with command.make_context(words[-1], spoken[1 + len(words) :]) as context:
            assert context.command is command


def test_examples_in_the_help_name_presets_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    texts = [example for command in COMMANDS.values() for example in examples(command.help)]
    presets = {preset for text in texts for preset in re.findall(r"--preset (\S+)", text)}

    assert presets
    for preset in presets:
        assert run(["config", "check", preset]) == 0, capsys.readouterr().err
