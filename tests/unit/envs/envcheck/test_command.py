"""`tradingbot envcheck`: exit codes and output."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tradingbot.app.cli.application import run
from tradingbot.domain.errors import MissingExtraError
from tradingbot.envs.envcheck import CHECKS
from tradingbot.envs.envcheck.reference import ReferenceEnv, reference_probe

REFERENCE = "tradingbot.envs.envcheck.reference:reference_probe"


class Free(ReferenceEnv):
    def fee(self, traded_ccy: float) -> float:
        return 0.0


def test_command_leaves_with_0_where_nothing_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["envcheck", REFERENCE]) == 0
    assert "16 passed, 0 failed" in capsys.readouterr().out


def test_command_leaves_with_1_where_something_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["envcheck", "CartPole-v1"]) == 1
    assert "What to do:" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [[], ["--peers", REFERENCE], ["no_such_module:Env"], ["nothing"], [""], ["gymnasium:Env"]],
)
def test_command_leaves_with_2_for_a_mistake(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["envcheck", *arguments]) == 2

    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("error: ")
    assert said.err.count("\n") == 1


def test_json_is_one_document_with_every_check(capsys: pytest.CaptureFixture[str]) -> None:
    run(["envcheck", REFERENCE, "--json"])

    document = json.loads(capsys.readouterr().out)
    assert [finding["check"] for finding in document["findings"]] == [c.id for c in CHECKS]


@pytest.mark.parametrize(("ours", "exit_code"), [(ReferenceEnv, 0), (Free, 1)])
def test_peers_reports_all_but_only_ours_decide(
    ours: type[ReferenceEnv],
    exit_code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def absent() -> None:
        raise MissingExtraError("peers", package="gym-anytrading")

    monkeypatch.setattr(
        "tradingbot.envs.envcheck.ours.our_probes",
        lambda: [replace(reference_probe(ours), name="ours")],
    )
    monkeypatch.setattr(
        "tradingbot.envs.envcheck.peers.catalogue.PEERS",
        {"theirs": lambda: replace(reference_probe(Free), name="theirs"), "absent": absent},
    )

    assert run(["envcheck", "--peers", "--json"]) == exit_code
    document = json.loads(capsys.readouterr().out)
    assert [card["environment"] for card in document["scorecards"]] == ["ours", "theirs"]
    assert [peer["name"] for peer in document["absent"]] == ["absent"]
    assert run(["envcheck", "--peers"]) == exit_code
    said = capsys.readouterr()
    assert "theirs, fees_charged: equity fell by 0.00" in said.out
    assert "absent is not installed: package 'gym-anytrading'" in said.err
