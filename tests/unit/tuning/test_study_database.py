"""Databases that hold something else are refused, named and left as they were."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import optuna
import pytest

from tradingbot.app.cli.application import run
from tradingbot.domain.errors import ConfigError
from tradingbot.tuning.study_database import look_up_study, open_database


def address_of(folder: Path) -> str:
    return f"sqlite:///{folder}/trials.db"


def write_sql(folder: Path, *commands: str) -> None:
    with closing(sqlite3.connect(folder / "trials.db")) as database, database:
        for command in commands:
            database.execute(command)


def migrations_alone(folder: Path) -> None:
    write_sql(folder, "create table alembic_version (version_num text)")


def studies_of_a_school(folder: Path) -> None:
    write_sql(folder, "create table studies (id integer, title text)")


def a_journal_beside_trials(folder: Path) -> None:
    open_database("mine", address_of(folder))
    write_sql(folder, "create table events (id integer)")


def study_of_another_program(folder: Path) -> None:
    other = optuna.create_study(study_name="mine", storage=address_of(folder))
    other.add_trial(optuna.trial.create_trial(value=1.0))


def study_of_two_aims(folder: Path) -> None:
    both = ["maximize", "minimize"]
    optuna.create_study(study_name="mine", storage=address_of(folder), directions=both)


def another_version_of_optuna(folder: Path) -> None:
    open_database("mine", address_of(folder))
    write_sql(folder, "update alembic_version set version_num = 'v0.9.0.a'")


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (migrations_alone, "one with the table 'alembic_version'"),
        (studies_of_a_school, "one with the table 'studies'"),
        (a_journal_beside_trials, "one with the table 'events' as well"),
        (study_of_another_program, "a study 'mine' of something else"),
        (study_of_two_aims, "a study 'mine' of something else"),
        (another_version_of_optuna, "version"),
    ],
)
@pytest.mark.parametrize("ask", [open_database, look_up_study])
def test_database_of_something_else_is_refused_and_not_touched(
    make: Callable[[Path], None], named: str, ask: Callable[[str, str], object], tmp_path: Path
) -> None:
    make(tmp_path)
    before = (tmp_path / "trials.db").read_bytes()

    with pytest.raises(ConfigError, match="must be one of its own") as refusal:
        ask("mine", address_of(tmp_path))

    assert named in str(refusal.value.was)
    assert (tmp_path / "trials.db").read_bytes() == before


def test_study_of_another_program_under_another_name_is_no_hindrance(tmp_path: Path) -> None:
    study_of_another_program(tmp_path)

    assert not open_database("ours", address_of(tmp_path)).get_trials()
    assert not look_up_study("neither", address_of(tmp_path)).ended


def test_study_of_another_program_is_the_users_mistake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study_of_another_program(tmp_path)
    command = ["--workspace", str(tmp_path / "w"), "tune", "mine", "--preset", "quick"]

    assert run([*command, "--storage", address_of(tmp_path)]) == 2

    assert "the database of trials must be one of its own" in capsys.readouterr().err
    assert not (tmp_path / "w" / "tuning").exists()
