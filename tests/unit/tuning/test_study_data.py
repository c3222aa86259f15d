"""A study goes on with the bars and code that it began with; anything else is refused untouched."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest

from fixtures.tiny_training import tiny_config
from fixtures.tiny_tuning import SETTINGS, see_other_bars, skip_training, stamps_of, tiny_study
from tradingbot.domain.errors import ConfigError, DataError
from tradingbot.executors.workers import workers_by
from tradingbot.tuning import session, study_facts
from tradingbot.tuning.search_space import SearchSpace
from tradingbot.tuning.session import tune

FOUR = replace(SETTINGS, trials=4)
GAIN = "learner.direct.squash_gain"
OTHER_SPACE = SearchSpace(
    ("direct",),
    tuple(
        replace(each, high=9.0) if each.key == GAIN else each
        for each in tiny_study().space.parameters
    ),
)
"""The same, but for the end of one range."""


@pytest.fixture(autouse=True)
def _no_training() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        skip_training(patch)
        yield


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    tune(tiny_study(settings=FOUR), tmp_path)
    return tmp_path


def forget_data(workspace: Path) -> None:
    """Make the study one of a version that noted no data."""
    file = workspace / "tuning" / "first" / "study.db"
    with closing(sqlite3.connect(file)) as database, database:
        done = database.execute("delete from study_user_attributes where key = 'facts'")
        assert done.rowcount == 1


@pytest.mark.parametrize(
    ("facts", "named"),
    [
        ({"data_sha256": "f" * 64}, "data: "),
        ({"dataset_sha256": "e" * 64}, "bars: "),
        ({"normaliser_sha256": "d" * 64}, "scaler: "),
    ],
)
def test_study_of_other_bars_is_refused_and_nothing_is_written(
    facts: dict[str, str], named: str, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = stamps_of(workspace)
    see_other_bars(monkeypatch, **facts)

    with pytest.raises(ConfigError, match="the data and code it began with") as refusal:
        tune(tiny_study(settings=FOUR), workspace)

    assert named in str(refusal.value)
    assert stamps_of(workspace) == before


def test_study_of_other_sources_is_refused(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study_facts, "source_sha256", lambda: "c" * 64)

    with pytest.raises(ConfigError, match="the data and code it began with") as refusal:
        tune(tiny_study(settings=FOUR), workspace)

    assert "code: " in str(refusal.value)


def test_study_that_noted_no_data_goes_on_with_the_bars_its_trials_are_counted_on(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget_data(workspace)

    tune(tiny_study(settings=FOUR), workspace)

    see_other_bars(monkeypatch, data_sha256="f" * 64)  # noted by now
    with pytest.raises(ConfigError, match="the data and code it began with"):
        tune(tiny_study(settings=FOUR), workspace)


def test_study_that_noted_no_data_is_refused_where_the_ledger_counts_other_bars(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget_data(workspace)
    see_other_bars(monkeypatch, dataset_sha256="e" * 64)
    before = stamps_of(workspace)

    with pytest.raises(ConfigError, match="not known which data"):
        tune(tiny_study(settings=FOUR), workspace)

    assert stamps_of(workspace) == before


def test_study_that_noted_no_data_is_refused_where_the_ledger_counts_some_trials_only(
    workspace: Path,
) -> None:
    forget_data(workspace)
    ledger = workspace / "ledger.jsonl"
    ledger.write_bytes(b"".join(ledger.read_bytes().splitlines(keepends=True)[:2]))

    with pytest.raises(ConfigError, match="not known which data"):
        tune(tiny_study(settings=FOUR), workspace)


def test_other_settings_are_refused_and_nothing_is_written(workspace: Path) -> None:
    before = stamps_of(workspace)

    with pytest.raises(ConfigError, match="configuration, space and settings it began with"):
        tune(tiny_study(settings=replace(FOUR, seed=1)), workspace)

    assert stamps_of(workspace) == before


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"settings": replace(FOUR, seed=1, wave=4)}, "seed: 0 → 1; wave: 2 → 4"),
        ({"symbols": ("SPY",)}, "symbols: [] → ['SPY']"),
        ({"config": tiny_config(seed=9)}, "config.seed: None → 9"),
        ({"space": OTHER_SPACE}, "space.learner.direct.squash_gain.high: 10.0 → 9.0"),
    ],
)
def test_each_thing_that_trials_follow_from_is_compared_and_named(
    changes: dict[str, Any], named: str, workspace: Path
) -> None:
    with pytest.raises(ConfigError, match="configuration, space and settings") as refusal:
        tune(replace(tiny_study(settings=FOUR), **changes), workspace)

    assert refusal.value.was == named


def test_many_differences_are_told_as_the_first_few(workspace: Path) -> None:
    other = replace(FOUR, seed=1, wave=4, evaluations=2, seeds=2, sampler="random")

    with pytest.raises(ConfigError, match="; and 2 more"):
        tune(tiny_study(settings=other), workspace)


def test_study_without_trials_is_begun_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(session, "_run_waves", refuse_waves)
        with pytest.raises(ConfigError, match="no value"):
            tune(tiny_study(settings=replace(FOUR, seed=1)), tmp_path)
    see_other_bars(monkeypatch, data_sha256="f" * 64)

    tune(tiny_study(settings=FOUR), tmp_path)

    known = session.open_study(tiny_study(), tmp_path).known
    assert (known.identity, known.trials) == (tiny_study().identity, 4)
    assert known.facts is not None
    assert known.facts["data"] == "f" * 64
    with pytest.raises(ConfigError, match="seed: 0 → 1"):
        tune(tiny_study(settings=replace(FOUR, seed=1)), tmp_path)


def refuse_waves(*_: object) -> None:
    raise ConfigError("no value of this could be trained")


def test_cluster_that_does_not_answer_leaves_no_study(tmp_path: Path) -> None:
    def start(*_: object) -> NoReturn:
        raise ConfigError("a cluster must answer")

    with workers_by(start), pytest.raises(ConfigError, match="must answer"):
        tune(tiny_study(settings=FOUR), tmp_path)

    assert [each.name for each in (tmp_path / "tuning" / "first").iterdir()] == ["lock"]


def test_study_is_made_no_shorter(workspace: Path) -> None:
    with pytest.raises(ConfigError, match="no fewer trials") as refusal:
        tune(tiny_study(settings=replace(FOUR, trials=3)), workspace)

    assert "--trials 4" in str(refusal.value)
    assert len(tune(tiny_study(settings=replace(FOUR, top=2)), workspace).results) == 4


def test_storage_that_is_refused_leaves_no_folder(tmp_path: Path) -> None:
    nowhere = replace(tiny_study(), storage=f"sqlite:///{tmp_path}/gone/trials.db")
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("create table alembic_version (version_num text)")
    taken = replace(tiny_study(), storage=f"sqlite:///{tmp_path}/other.db")

    for refused in (nowhere, taken):
        with pytest.raises(ConfigError, match="database of trials"):
            tune(refused, tmp_path / "w")

    assert not (tmp_path / "w" / "tuning").exists()
    shutil.rmtree(tmp_path / "w", ignore_errors=True)


def test_worker_that_sees_other_data_is_refused(tmp_path: Path) -> None:
    request = tiny_study()
    asked = session._identity_of(session._open_bench(request, tmp_path))
    (tmp_path / "tuning" / "first").mkdir(parents=True)

    assert session._open_work(request, tmp_path, asked)
    with pytest.raises(DataError, match="a worker must see the run, data, configuration"):
        session._open_work(request, tmp_path, "0" * 64)
