"""A folder that files with bars appear in: a source that anything can feed.

A file is written under another name (one that begins with a dot) and renamed when it is whole. Any
number of symbols and bars may be in it, in the columns of an import; stamps are those of the close
and carry their zone. Of a bar that comes twice the first counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import polars as pl

from tradingbot.data.schema import BAR_COLUMNS, BAR_KEY
from tradingbot.data.sources.files import FileImport, FileSource
from tradingbot.data.sources.tables import FORMATS
from tradingbot.domain.errors import ConfigError, DataError, UserError
from tradingbot.domain.timeframe import BarGrid


@dataclass
class GrowingFolder:
    """Bars of every file that is in a folder by now.

    Raises:
        ConfigError: If it is no folder.
    """

    path: Path
    timeframe: str = "1h"
    grid: BarGrid = BarGrid.SESSION
    calendar: str = "XNYS"
    problems: dict[str, str] = field(default_factory=dict, init=False)
    """Name of a file that cannot be read → why; told once, and left out from then on."""
    _read: dict[str, pl.DataFrame] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        require_folder(self.path)

    def fetch(self, since: datetime) -> pl.DataFrame:
        """Return bars that closed after a moment, in the bar schema, in order of files.

        Raises:
            ConfigError: If the folder is gone.
            DataError: If a new file cannot be read; asked again, the others are returned.
        """
        require_folder(self.path)
        n_problems = len(self.problems)
        for file in sorted(self.path.iterdir()):
            is_whole = file.name.lower().endswith(tuple(FORMATS)) and file.name[0] != "."
            if is_whole and file.name not in self._read and file.name not in self.problems:
                self._take(file)
        if len(self.problems) > n_problems:
            name, reason = list(self.problems.items())[-1]
            remedy = "Write bars again under another name; it is left out"
            raise DataError(
                "a file of bars must be readable", was=reason, where=name, remedy=remedy
            )
        empty = pl.DataFrame(schema=BAR_COLUMNS)
        fresh = [bars.filter(pl.col("closed_at") > since) for bars in self._read.values()]
        self._read = {  # bars that were asked for once are not asked for again
            name: empty if kept.is_empty() else kept
            for name, kept in zip(self._read, fresh, strict=True)
        }
        return pl.concat([empty, *fresh]).unique(BAR_KEY, keep="first", maintain_order=True)

    def _take(self, file: Path) -> None:
        asked = FileImport(
            path=file,
            stamps="close",
            timeframe=self.timeframe,
            grid=self.grid,
            calendar=self.calendar,
            sort=True,
        )
        try:
            bars = FileSource(asked).fetch().bars
            self._read[file.name] = bars.select(pl.col(c).cast(k) for c, k in BAR_COLUMNS.items())
        except UserError as e:
            self.problems[file.name] = str(e)


def require_folder(path: Path) -> Path:
    """Refuse a path that is no folder.

    Raises:
        ConfigError: Naming it.
    """
    if not path.is_dir():
        rule, remedy = "a folder of bars must exist", "Make it, and let files be renamed into it"
        raise ConfigError(rule, was="no folder", where=str(path), remedy=remedy)
    return path
