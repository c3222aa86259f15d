"""The database of a study: opened, or only looked at, and refused where it is another's."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tradingbot.domain.errors import ConfigError
from tradingbot.tuning.storage_url import shown_storage, without_secrets

if TYPE_CHECKING:
    from optuna.storages import RDBStorage
    from optuna.study import Study

IDENTITY, FACTS = "identity", "facts"
_OWN_TABLE = "studies"


@dataclass(frozen=True)
class KnownStudy:
    """What a study wrote down when it began."""

    identity: str | None = None
    facts: Mapping[str, str] | None = None
    """Of data and code; None in studies of versions that noted none."""
    ended: tuple[tuple[int, tuple[int, ...], str], ...] = ()
    """(number, seeds, hash of the configuration) of every trial that is kept."""

    @property
    def trials(self) -> int:
        """How many trials it has, at least."""
        return max((number + 1 for number, _, _ in self.ended), default=0)


def known_of(study: Study) -> KnownStudy:
    """Return what a study wrote down."""
    told = [each.user_attrs for each in study.get_trials(deepcopy=False)]
    ended = tuple((e["number"], tuple(e["seeds"]), e["config_hash"]) for e in told)
    attributes = study.user_attrs
    return KnownStudy(attributes.get(IDENTITY), attributes.get(FACTS), ended)


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
                return known_of(optuna.load_study(study_name=name, storage=_keep_in(storage)))
            except KeyError:
                return KnownStudy()


def open_database(name: str, storage: str) -> Study:
    """Open a study in its database, each made where it is absent.

    Raises:
        ConfigError: If the database cannot be opened, or is one of another kind.
    """
    import optuna

    with _refusals(storage), quiet_optuna():
        _tables_of(storage)
        kept = _keep_in(storage)
        return optuna.create_study(
            study_name=name, storage=kept, direction="maximize", load_if_exists=True
        )


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
    from sqlalchemy import create_engine, inspect
    from sqlalchemy.pool import NullPool

    engine = create_engine(storage, poolclass=NullPool)
    try:
        tables = set(inspect(engine).get_table_names())
    finally:
        engine.dispose()
    if tables and _OWN_TABLE not in tables:
        raise _refusal(storage, f"one with the table {min(tables)!r}")
    return tables


@contextmanager
def _refusals(storage: str) -> Iterator[None]:
    import optuna
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (SQLAlchemyError, optuna.exceptions.OptunaError, ImportError, ValueError) as e:
        raise _refusal(storage, str(e).splitlines()[0][:160]) from None  # the cause tells the URL


def _refusal(storage: str, was: str) -> ConfigError:
    return ConfigError(
        "the database of trials must be one of its own that can be opened",
        was=without_secrets(was, storage),
        where=shown_storage(storage),
        remedy="Name an empty database with --storage; journals and MLflow keep theirs apart",
    )
