"""What the parser refuses is told with rule, value and remedy."""

from __future__ import annotations

import pytest

from tradingbot.app.cli.application import run

CASES = (
    (("train", "--seed", "-1"), "--seed must be 0 or more, was -1. Give such a number."),
    (("train", "--seed=-1"), "--seed must be 0 or more, was -1. Give such a number."),
    (("evaluate", "x", "--jobs", "0"), "--jobs must be 1 or more, was 0. Give such a number."),
    (("backtest", "x", "--delay", "101"), "--delay must be 100 or less, was 101. Give"),
    (("train", "--seed", "x"), "--seed must be a whole number, was 'x'. Write e.g. --seed 7."),
    (("backtest", "x", "--cost-bps", "x"), "--cost-bps must be a number, was 'x'. Write e.g."),
    (("runs", "migrate", "x", "--to", "y"), "--to must be continuous, was 'y'. Choose one of"),
    (("data", "import"), "See: tradingbot data import --help"),
    (("backtest", "x", "--cost-bps", "nan"), "It must be a number, was nan"),
    (
        ("backtest", "x", "--from", "soon"),
        "error: --from must be a day, was 'soon'. Write a day as e.g. 2025-01-31.",
    ),
    (
        ("data", "generate", "--name", "x", "--start", "soon"),
        "error: --from must be a day, was 'soon'. Write a day as e.g. 2025-01-31.",
    ),
    (
        ("--workspace", "/tmp/w", "paper", "start", "v1"),
        "Missing option '--name'. See: tradingbot --workspace /tmp/w paper start --help",
    ),
    (("paper", "start", "--workspace", "/tmp/w"), "tradingbot --workspace /tmp/w paper start --h"),
    (("backtest", "x", "--kind", "z"), "No such option: --kind. See: tradingbot backtest --help"),
    (
        ("train", "--presett", "x"),
        "option: --presett. Did you mean --preset? See: trad",
    ),
    (("zzz",), "No such command 'zzz'. Known: demo, doctor, data, "),
    (("data", "zzz"), "No such command 'zzz'. Known: "),
    (("data", "zzz"), "See: tradingbot data --help"),
    (("paper", "stop", "a", "b"), "extra argument(s) (b) See: tradingbot paper stop --help"),
    (("train", "--seed"), "Option '--seed' requires an argument. See: tradingbot train --help"),
    (
        ("dashboard", "--port", "abc"),
        "a whole number, was 'abc'. Write e.g. --port 8501.",
    ),
)


@pytest.mark.parametrize(("arguments", "message"), CASES, ids=[" ".join(a) for a, _ in CASES])
def test_parser_says_rule_value_and_remedy(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(list(arguments)) == 2

    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
