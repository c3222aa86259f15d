"""Every malformed configuration gives exit code 2 and one line with place, rule and value."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tradingbot.app.cli.application import run
from tradingbot.training.config_files import load_train_config

BOMB = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"

# content, line, fragments of the message
MALFORMED = {
    "empty": ("", 1, ["must be a mapping", "was nothing"]),
    "comment_only": ("# nothing\n", 1, ["must be a mapping"]),
    "list_at_top": ("- a\n- b\n", 1, ["must be a mapping"]),
    "bad_yaml": ("market: {name: noise\nproof: 3\n", 2, ["valid YAML"]),
    "tab": ("market:\n\tname: noise\n", 2, ["spaces", "a tab"]),
    "duplicate_key": (
        "proof:\n  common_rounds: 3\n  common_rounds: 4\n",
        3,
        ["stand once", "'common_rounds'", "line 2"],
    ),
    "unknown_key": (
        "proof:\n  comon_rounds: 3\n",
        2,
        ["'comon_rounds'", "Did you mean 'common_rounds'?"],
    ),
    "unknown_section": ("marked:\n  name: x\n", 1, ["'marked'", "Did you mean 'market'?"]),
    "unit_percent": ("costs:\n  commission_frac: 20\n", 2, ["at most 0.1", "20", "fraction"]),
    "ratio_in_percent": ("splits:\n  train: 70\n  validation: 15\n  test: 15\n", 2, ["0.70 is 70"]),
    "ratio_sum": ("splits:\n  train: 0.8\n", 2, ["sum to 1", "0.8, 0.15, 0.15"]),
    "yes_is_no_bool": ("quality:\n  strict: yes\n", 2, ["true or false", "'yes'"]),
    "int_is_no_bool": ("quality:\n  strict: 1\n", 2, ["true or false", "was 1"]),
    "bool_is_no_int": ("proof:\n  common_rounds: true\n", 2, ["whole number", "True"]),
    "bool_is_no_float": ("costs:\n  slippage_frac: true\n", 2, ["a number", "True"]),
    "exponent_text": ("market:\n  seed: 1e9\n", 2, ["whole number", "'1e9'", "1000000000"]),
    "quoted_number": ("proof:\n  common_rounds: '8'\n", 2, ["whole number", "'8'"]),
    "octal": ("proof:\n  common_rounds: 010\n", 2, ["whole number", "'010'"]),
    "sexagesimal": ("proof:\n  common_rounds: 1:30\n", 2, ["whole number", "'1:30'"]),
    "float_for_int": ("proof:\n  common_rounds: 8.5\n", 2, ["whole number", "8.5"]),
    "negative": ("costs:\n  slippage_frac: -0.001\n", 2, ["at least 0", "-0.001"]),
    "zero": ("quality:\n  trailing_bars: 0\n", 2, ["at least 1", "was 0"]),
    "nan": ("costs:\n  slippage_frac: .nan\n", 2, ["finite", "nan"]),
    "infinity": ("costs:\n  slippage_frac: .inf\n", 2, ["finite", "inf"]),
    "nan_param": ("market:\n  params:\n    kappa: .nan\n", 3, ["market.params.kappa", "finite"]),
    "null_value": ("proof:\n  common_rounds:\n", 2, ["whole number", "None"]),
    "section_is_text": ("proof: many\n", 1, ["proof must be a mapping", "'many'"]),
    "start_after_end": (
        "market:\n  start: 2026-01-01\n",
        2,
        ["market.end must be after market.start"],
    ),
    "impossible_date": ("market:\n  start: 2023-02-30\n", 2, ["date must exist", "2023-02-30"]),
    "date_with_time": ("market:\n  start: 2023-02-03 10:00\n", 2, ["must be a date"]),
    "splits_outside": (
        "splits:\n  by: date\n  train: 2024-01-01\n  validation: 2025-01-01\n  test: 2027-01-01\n",
        None,
        ["between market.start and market.end", "2027-01-01"],
    ),
    "splits_falling": (
        "splits:\n  by: date\n  train: 2025-01-01\n  validation: 2024-01-01\n  test: 2025-10-01\n",
        3,
        ["three rising dates", "splits.train, splits.validation and splits.test"],
    ),
    "bad_timeframe": ("market:\n  timeframe: hourly\n", 2, ["count and m, h or d", "'hourly'"]),
    "bad_choice": ("scaling:\n  kind: zscore\n", 2, ["'standard', 'minmax' or 'robust'", "zscore"]),
    "bad_grid": ("market:\n  grid: sesion\n", 2, ["'session' or 'clock'", "sesion"]),
    "unknown_kind": ("scaling:\n  kind: robusst\n", 2, ["'robust'", "'robusst'"]),
    "python_object": ("proof: !!python/object:os.system {}\n", 1, ["tags", "python/object"]),
    "python_call": ("x: !!python/object/apply:os.system ['id']\n", 1, ["tags"]),
    "custom_tag": ("proof:\n  common_rounds: !env CUTS\n", 2, ["tags", "'!env'"]),
    "alias_bomb": (BOMB, 2, ["aliases", "*a"]),
    "environment_text": ("workspace: ${HOME}/x\n", 1, ["not expanded", "${HOME}"]),
    "two_documents": ("proof: {}\n---\nproof: {}\n", 2, ["valid YAML"]),
    "control_character": ("proof: \x07\n", None, ["valid YAML"]),
    "deep_nesting": ("a: " + "[" * 3000 + "]" * 3000, 1, ["at most 20 deep"]),
    "key_is_list": ("? [a, b]\n: 1\n", 1, ["keys must be words"]),
    "extends_unknown": ("extends: dmo\n", 1, ["known preset", "Did you mean 'demo'?"]),
    "extends_missing_file": ("extends: ./gone.yaml\n", None, ["must exist", "gone.yaml"]),
    "extends_itself": ("extends: ./case.yaml\n", None, ["come back", "case.yaml → case.yaml"]),
    "extends_list": ("extends: [demo, us143]\n", 1, ["one preset name or file"]),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_config_show_malformed_file_exits_2_with_one_line(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content, line, fragments = MALFORMED[name]
    file = tmp_path / "case.yaml"
    file.write_text(content)

    assert run(["config", "show", str(file)]) == 2

    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1
    assert (f"{file}:{line})" if line else "") in captured.err
    for fragment in fragments:
        assert fragment in captured.err


# Checked only where registries are at hand.
UNFIT = {
    "market": ("market:\n  name: noize\n", 2, "Did you mean 'noise'?"),
    "param": ("market:\n  name: noise\n  params:\n    phy: 0.5\n", 3, "Did you mean 'phi'?"),
    "param_range": ("market:\n  name: noise\n  params:\n    phi: 2.0\n", 3, "was 2.0"),
    "universe": ("market:\n  name: noise\n  universe: us134\n", 3, "Did you mean 'us143'?"),
    "window_beyond_data": (
        "market:\n  name: noise\n  start: 2025-09-01\nquality:\n  trailing_bars: 9000\n",
        5,
        "must be shorter than the data",
    ),
    "purge_beyond_data": (
        "market:\n  name: noise\nsplits:\n  purge_bars: 5000\n",
        4,
        "must be shorter than the data",
    ),
}


@pytest.mark.parametrize("name", UNFIT)
def test_config_check_unfit_value_exits_2_with_place(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content, line, fragment = UNFIT[name]
    file = tmp_path / "case.yaml"
    file.write_text(content)

    assert run(["config", "check", str(file)]) == 2

    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert f"{file}:{line})" in error
    assert fragment in error


def test_config_check_good_file_exits_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "good.yaml"
    file.write_text("market:\n  name: noise\n  universe: prototype10\n")

    assert run(["config", "check", str(file), "--json"]) == 0

    assert json.loads(capsys.readouterr().out)["valid"] is True


@pytest.mark.parametrize(
    "key", ["api_key", "alpaca_secret", "token", "PASSWORD", "key", "db-passwd"]
)
def test_config_secret_key_refused_without_showing_value(
    key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "leaky.yaml"
    file.write_text(f"market:\n  {key}: PK0123456789\n")

    assert run(["--debug", "config", "show", str(file)]) == 2

    captured = capsys.readouterr()
    assert f"{file}:2)" in captured.err
    assert "environment variable" in captured.err
    assert "PK0123456789" not in captured.out + captured.err


@pytest.mark.parametrize("key", ["monkey", "tokenizer", "keyboard"])
def test_config_harmless_key_is_not_called_a_secret(
    key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "case.yaml"
    file.write_text(f"{key}: 1\n")

    assert run(["config", "show", str(file)]) == 2

    assert "secret" not in capsys.readouterr().err


@pytest.mark.parametrize("reference", ["gone.yaml", "", "demoo"])
def test_config_missing_reference_exits_2(
    reference: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["config", "show", reference]) == 2

    assert capsys.readouterr().err.count("\n") == 1


def test_config_unreadable_kinds_exit_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    latin = tmp_path / "latin.yaml"
    latin.write_bytes(b"market:\n  name: caf\xe9\n")
    big = tmp_path / "big.yaml"
    big.write_bytes(b"#" * 1_000_001)
    folder = tmp_path / "folder.yaml"
    folder.mkdir()

    codes = [run(["config", "show", str(path)]) for path in (latin, big, folder)]

    lines = capsys.readouterr().err.splitlines()
    assert codes == [2, 2, 2]
    assert f"UTF-8 text ({latin}:2)" in lines[0]
    assert "1,000,001" in lines[1]
    assert "Is a directory" in lines[2]


def test_config_show_paths_of_many_kinds_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "with spaces" / "día ünïcode"
    folder.mkdir(parents=True)
    (folder / "base.yaml").write_text("proof:\n  common_rounds: 5\n")
    (folder / "child.yaml").write_text("extends: base.yaml\n")  # beside the child, not the cwd
    (tmp_path / "link.yaml").symlink_to(folder / "base.yaml")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    for reference in (str(folder / "child.yaml"), "link.yaml", "~/link.yaml", "./link.yaml"):
        assert run(["config", "show", reference, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["config"]["proof"]["common_rounds"] == 5


def test_config_show_output_reads_back_with_the_same_hash(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["config", "show", "planted"])
    first = capsys.readouterr().out
    (tmp_path / "again.yaml").write_text(first)

    run(["config", "show", str(tmp_path / "again.yaml")])

    assert capsys.readouterr().out == first


def test_config_list_json_has_every_preset(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["config", "list", "--json"]) == 0

    names = [entry["name"] for entry in json.loads(capsys.readouterr().out)]
    assert {"demo", "us143", "crypto12", "planted", "quick"} <= set(names)


def test_workspace_variable_blank_exits_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRADINGBOT_WORKSPACE", "  ")

    assert run(["config", "show"]) == 2

    assert "TRADINGBOT_WORKSPACE must name a folder" in capsys.readouterr().err


def test_config_knows_presets_of_trainings_and_evaluations(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["config", "list", "--json"]) == 0
    rows = {(each["kind"], each["name"]) for each in json.loads(capsys.readouterr().out)}
    assert {("pipeline", "us143"), ("training", "us143"), ("training", "prototype10")} <= rows
    assert ("evaluation", "full") in rows

    assert run(["config", "show", "prototype10"]) == 0  # no pipeline has that name
    shown = yaml.safe_load(capsys.readouterr().out)
    assert shown == load_train_config("prototype10").as_mapping()
    assert run(["config", "show", "us143", "--kind", "training", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["config_hash"] == load_train_config("us143").config_hash
    assert run(["config", "show", "us143", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["kind"] == "pipeline"
    assert run(["config", "check", "full"]) == 0
    assert "full is valid (evaluation)" in capsys.readouterr().out


@pytest.mark.parametrize("verb", ["show", "check"])
def test_config_of_a_name_that_several_presets_have_names_the_others(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["config", verb, "quick"]) == 0
    told = " ".join(capsys.readouterr().err.split())
    assert "--preset quick of train, supervised train is another: --kind training" in told
    assert "--kind evaluation" in told
    assert run(["config", verb, "quick", "--kind", "training"]) == 0
    assert "is another" not in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--preset", "--config"])
def test_presets_are_chosen_by_one_option(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["data", "split", "x"], ["features", "build", "x"], ["demo"]):
        assert run([*words, option, "nothing-of-that-name"]) == 2
        assert "must be a known preset" in capsys.readouterr().err


@pytest.mark.parametrize("first", ["--from", "--start"])
def test_days_are_chosen_by_one_option(first: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (
        ["data", "generate", "--name", "x"],
        ["market", "rollout", "x"],
        ["backtest", "macd", "--market", "planted"],
    ):
        assert run([*words, first, "31.1.2025"]) == 2
        assert "Write a day as e.g. 2025-01-31" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("extends: quick\nlearner: {name: direct}\nbudget: {n_envs: 4}\n", "training"),
        ("extends: quick\nseeds: {count: 3}\n", "evaluation"),
        ("extends: demo\nmarket: {name: noise}\n", "pipeline"),
        ("extends: prototype10\nsplits: {purge_bars: 9}\n", "training"),
        ("proof: {common_rounds: 3}\n", "pipeline"),
    ],
)
def test_kind_of_a_file_is_found_by_its_keys(
    text: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "best.yaml"
    file.write_text(text, encoding="utf-8")

    assert run(["config", "check", str(file), "--json"]) == 0, capsys.readouterr().err
    assert json.loads(capsys.readouterr().out)["kind"] == kind
