"""The database of a study: opened, or only looked at, and refused where it is another's."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tradingbot.domain.errors import ConfigError
from tradingbot.tuning.storage_url import shown_storage, without_secrets

if TYPE_CHECKING:
    from optuna.storages import RDBStorage
    from optuna.study import Study

IDENTITY, FACTS, ASKED = "identity", "facts", "asked"
_OWN_TABLE = "studies"
_WRITTEN = {"number", "seeds", "config_hash"}
"""What every trial of a study says of itself."""
_OTHERS = (ImportError, ValueError)
"""What is raised of a driver that is not installed, and of an address that is none."""


@dataclass(frozen=True)
class KnownStudy:
    """What a study wrote down when it began."""

    identity: str | None = None
    facts: Mapping[str, str] | None = None
    """Of data and code; None in studies of versions that noted none."""
    asked: Mapping[str, Any] | None = None
    """What was asked for, in full; None in studies of versions that kept its hash alone."""
    ended: tuple[tuple[int, tuple[int, ...], str], ...] = ()
    """(number, seeds, hash of the configuration) of every trial that is kept."""

    @property
    def trials(self) -> int:
        """How many trials it has, at least."""
        return max((number + 1 for number, _, _ in self.ended), default=0)

    @property
    def trials_kept(self) -> int:
        """How many of them are there; one that two workspaces made counts once."""
        return len({number for number, _, _ in self.ended})


def known_of(study: Study, storage: str) -> KnownStudy:
    """Return what a study wrote down.

    Raises:
        ConfigError: If something else made it: another program keeps trials with Optuna as well.
    """
    told = [each.user_attrs for each in study.get_trials(deepcopy=False)]
    if len(study.directions) > 1 or any(not _WRITTEN.issubset(each) for each in told):
        raise _refusal(storage, f"one with a study {study.study_name!r} of something else")
    ended = tuple((e["number"], tuple(e["seeds"]), e["config_hash"]) for e in told)
    kept = study.user_attrs
    return KnownStudy(kept.get(IDENTITY), kept.get(FACTS), kept.get(ASKED), ended)


def look_up_study(name: str, storage: str) -> KnownStudy:
    """Return what a study wrote down, without making anything; nothing where there is none.

    Raises:
        ConfigError: If the database cannot be opened, or is one of another kind.
    """
    import optuna

    with _refusals(storage):
        if not _may_have_tables(storage) or not _tables_of(storage):
            return KnownStudy()
        with quiet_optuna():
            try:
                study = optuna.load_study(study_name=name, storage=_keep_in(storage))
            except KeyError:  # there is none of that name
                return KnownStudy()
            return known_of(study, storage)


def open_database(name: str, storage: str) -> Study:
    """Open a study in its database, each made where it is absent.

    Raises:
        ConfigError: If the database cannot be opened, or is one of another kind.
    """
    import optuna

    with _refusals(storage), quiet_optuna():
        _tables_of(storage)
        kept = _keep_in(storage)
        study = optuna.create_study(
            study_name=name, storage=kept, direction="maximize", load_if_exists=True
        )
        known_of(study, storage)
        return study


@contextmanager
def quiet_optuna() -> Iterator[None]:
    """Let Optuna say nothing of experiments and of every trial."""
    import optuna

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            optuna.logging.set_verbosity(before)


def _keep_in(storage: str) -> RDBStorage:
    """Open what Optuna keeps trials in; no connection stays open between two questions."""
    from optuna.storages import RDBStorage
    from sqlalchemy.pool import NullPool

    return RDBStorage(storage, engine_kwargs={"poolclass": NullPool})


def _may_have_tables(storage: str) -> bool:
    """Tell whether there is anything to look at; looking must make no file of SQLite."""
    from sqlalchemy import make_url

    if not storage.startswith("sqlite:"):
        return True
    file = Path(make_url(storage).database or "")
    if not file.absolute().parent.is_dir():
        raise _refusal(storage, "a file of a folder that is not there")
    return file.exists()


def _tables_of(storage: str) -> set[str]:
    """Return the names of the tables, and refuse those of something else."""
    from optuna.storages._rdb import models
    from sqlalchemy import create_engine, inspect
    from sqlalchemy.pool import NullPool

    own = {*models.BaseModel.metadata.tables, "alembic_version"}
    engine = create_engine(storage, poolclass=NullPool)
    try:
        found = inspect(engine)
        tables = set(found.get_table_names())
        has_own = _OWN_TABLE in tables
        columns = {each["name"] for each in found.get_columns(_OWN_TABLE)} if has_own else set()
    finally:
        engine.dispose()
    if tables and not {"study_id", "study_name"} <= columns:
        # Migrations of many programs have a table alembic_version: the rest says whose they are.
        raise _refusal(storage, f"one with the table {min(tables - own or tables)!r}")
    if tables - own:
        raise _refusal(storage, f"one with the table {min(tables - own)!r} as well")
    return tables


@contextmanager
def _refusals(storage: str) -> Iterator[None]:
    import optuna
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    # Optuna says with a RuntimeError that another version of it made the tables.
    except (SQLAlchemyError, optuna.exceptions.OptunaError, RuntimeError, *_OTHERS) as e:
        raise _refusal(storage, str(e).splitlines()[0][:160]) from None  # the cause tells the URL


def _refusal(storage: str, was: str) -> ConfigError:
    return ConfigError(
        "the database of trials must be one of its own that can be opened",
        was=without_secrets(was, storage),
        where=shown_storage(storage),
        remedy="Name an empty database with --storage; journals and MLflow keep theirs apart",
    )
