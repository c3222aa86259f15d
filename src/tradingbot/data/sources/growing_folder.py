"""A folder that files with bars appear in: a source that anything can feed.

A file is written under another name (one that begins with a dot) and renamed when it is whole. Any
number of symbols and bars may be in it, in the columns of an import; stamps are those of the close
and carry their zone. Of a bar that comes twice the first counts; a file with a bar that has not
closed yet is none of bars, and is left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl

from tradingbot.data.schema import BAR_COLUMNS, BAR_KEY
from tradingbot.data.sources.files import FileImport, FileSource
from tradingbot.data.sources.pacing import Clock
from tradingbot.data.sources.tables import FORMATS
from tradingbot.domain.errors import ConfigError, DataError, UserError
from tradingbot.domain.timeframe import BarGrid

_AHEAD = timedelta(seconds=60)
"""How far the clock of what writes files may be ahead of ours."""


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
    clock: Clock = field(default_factory=Clock)
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
        known = frozenset(self.problems)
        for file in sorted(self.path.iterdir()):
            is_whole = file.name.lower().endswith(tuple(FORMATS)) and file.name[0] != "."
            if is_whole and file.name not in self._read and file.name not in self.problems:
                self._take(file)
        new = [name for name in self.problems if name not in known]
        if new:
            rule, was = "a file of bars must be readable", self.problems[new[0]]
            remedy = "Write bars again under another name; it is left out"
            raise DataError(rule, was=was, where=", ".join(new), remedy=remedy)
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
            first_counts=True,
            min_rows=1,  # one symbol, or one that was late
        )
        try:
            bars = FileSource(asked).fetch().bars
            self._require_closed(bars, file.name)
            self._read[file.name] = bars.select(pl.col(c).cast(k) for c, k in BAR_COLUMNS.items())
        except UserError as e:
            self.problems[file.name] = str(e)

    def _require_closed(self, bars: pl.DataFrame, where: str) -> None:
        late = bars.filter(pl.col("closed_at") > self.clock.now() + _AHEAD)
        if late.height:
            rule, was = "bars must have closed by now", f"{late['closed_at'][0]}"
            raise DataError(rule, was=was, where=where, remedy="Stamps are those of the close")


def require_folder(path: Path) -> Path:
    """Refuse a path that is no folder.

    Raises:
        ConfigError: Naming it.
    """
    if not path.is_dir():
        rule, remedy = "a folder of bars must exist", "Make it, and let files be renamed into it"
        raise ConfigError(rule, was="no folder", where=str(path), remedy=remedy)
    return path
