"""Reading one Parquet or CSV (.gz) file whole, or saying in one line why not."""

from __future__ import annotations

import codecs
import gzip
import zlib
from io import BufferedIOBase
from pathlib import Path
from typing import Any

import polars as pl

from tradingbot.data.memory import require_memory
from tradingbot.data.regular_files import describe_path
from tradingbot.domain.errors import ConfigError, DataError, SchemaError

FORMATS = {".parquet": "parquet", ".pq": "parquet", ".csv.gz": "csv", ".csv": "csv"}
"""File ending → source id."""
_TABS = ("\\t", "tab")  # what a shell lets people type for a tab
MIN_ROWS = 2
"""Of a table from which something is to be learned."""
_CHUNK = 1 << 20
_LONGEST_LINE = _CHUNK
_MEMORY_FACTOR = 8
"""Memory of an import ÷ uncompressed size of its file; 10 were measured on hourly bars as CSV."""


def read_table(
    file: Path, *, delimiter: str = ",", max_bytes: int, min_rows: int = MIN_ROWS
) -> pl.DataFrame:
    """Read a table; CSV cells come as text, empty ones as null.

    Args:
        file: Ends in one of `FORMATS`.
        delimiter: Between cells of CSV; a tab may also be written as the word `tab`.
        max_bytes: Largest size when uncompressed.
        min_rows: Fewest rows after the header.

    Raises:
        DataError: If the file is absent, empty, cut short, damaged, too large or unreadable.
        SchemaError: If its lines do not all have as many cells as the header.
    """
    delimiter = "\t" if delimiter.lower() in _TABS else delimiter
    if len(delimiter) != 1 or delimiter in '"\r\n':
        remedy = "Write e.g. --delimiter ';'"
        raise ConfigError(
            "delimiter must be one character, or tab", was=repr(delimiter[:40]), remedy=remedy
        )
    if (kind := describe_path(file)) != "a file":
        remedy = f"Name a {', '.join(FORMATS)} file that exists"
        raise DataError("file to read must exist", was=kind, where=str(file), remedy=remedy)
    try:
        if not file.stat().st_size:
            remedy = "Fetch or write it again"
            raise DataError("file must not be empty", was="0 bytes", where=file.name, remedy=remedy)
        if file.name.lower().endswith((".parquet", ".pq")):
            table = _read_parquet(file, max_bytes)
        else:
            table = _read_csv(file, delimiter, max_bytes)
    except (OSError, EOFError, zlib.error, ValueError, pl.exceptions.PolarsError) as e:
        raise DataError(
            "file must be readable to its end",
            was=str(e).splitlines()[0][:160] if str(e) else type(e).__name__,
            where=file.name,
            remedy="It is damaged or cut short: fetch or write it again",
        ) from e
    if table.height < min_rows:
        rule = f"file must have at least {min_rows} row{'s' * (min_rows > 1)}"
        was, remedy = f"{table.height} after the header", "Fetch a longer period"
        raise DataError(rule, was=was, where=file.name, remedy=remedy)
    return table


def _read_parquet(file: Path, max_bytes: int) -> pl.DataFrame:
    # Arrow, not polars: on a damaged page polars panics and writes to stderr.
    import pyarrow.parquet as pq
    from pyarrow import ArrowException

    try:
        with pq.ParquetFile(file, page_checksum_verification=True) as opened:
            groups = [opened.metadata.row_group(i) for i in range(opened.num_row_groups)]
            size = sum(group.total_byte_size for group in groups)
            _require_size(size, max_bytes, file)
            _require_room(size, file)
            table = opened.read()
            table.validate(full=True)
            return _to_polars(table)
    except ArrowException as e:
        raise EOFError(str(e)) from e


def _read_csv(file: Path, delimiter: str, max_bytes: int) -> pl.DataFrame:
    import pyarrow as pa
    from pyarrow import csv

    opener = gzip.open if file.name.lower().endswith(".gz") else open
    with opener(file, "rb") as stream:
        _require_readable(stream, max_bytes, file)
    with opener(file, "rb") as stream:
        header = _header(stream.readline(), file)
        names = [cell.strip().strip('"') for cell in header.split(delimiter)]
        _require_unique(names, file)
        try:
            table = csv.read_csv(
                stream,
                read_options=csv.ReadOptions(column_names=names, use_threads=False),
                parse_options=csv.ParseOptions(delimiter=delimiter),
                convert_options=csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.string()),
                    null_values=[""],
                    strings_can_be_null=True,
                ),
            )
        except pa.ArrowInvalid as e:
            if "Empty CSV" in str(e):
                return pl.DataFrame(schema=dict.fromkeys(names, pl.String))
            raise SchemaError(
                f"lines must all have {len(names)} cells of UTF-8 text",
                was=str(e).splitlines()[0].removeprefix("CSV parse error: ")[:160],
                where=file.name,
                remedy="The file is cut short or has another delimiter: write it again",
            ) from e
    return _to_polars(table)


def _header(line: bytes, file: Path) -> str:
    """First line of a CSV file as text.

    Raises:
        DataError: If it is that of another kind of file, or of text in another encoding.
    """
    for mark, kind, ending in ((b"PAR1", "Parquet", ".parquet"), (b"\x1f\x8b", "gzip", ".csv.gz")):
        if line.startswith(mark):
            rule = "file must be what its ending says"
            remedy = f"This is a {kind} file: let its name end in {ending}"
            raise DataError(rule, was=f"{kind} content", where=file.name, remedy=remedy)
    try:
        text = line.removeprefix(codecs.BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:  # UTF-16 without a mark is valid UTF-8, with zeros
        rule = "file must be UTF-8 text"
        remedy = "Write it again as UTF-8"
        raise DataError(rule, was=f"header {line[:12]!r}", where=file.name, remedy=remedy)
    return text.strip("\r\n")


def _to_polars(table: Any) -> pl.DataFrame:
    # Asking raises where a name or zone is not UTF-8; polars would panic.
    _ = table.schema.names, [getattr(field.type, "tz", None) for field in table.schema]
    frame = pl.from_arrow(table.replace_schema_metadata(None))
    assert isinstance(frame, pl.DataFrame)
    return frame


def _require_unique(names: list[str], file: Path) -> None:
    if len(set(names)) != len(names):
        was, remedy = ", ".join(names)[:200], "Rename or drop one of those that repeat"
        raise SchemaError("column names must differ", was=was, where=file.name, remedy=remedy)


def _require_readable(stream: BufferedIOBase, max_bytes: int, file: Path) -> None:
    """Refuse what a parser would need absurd memory for: too many bytes, or a line without end."""
    size = line = 0
    while chunk := stream.read(_CHUNK):
        size += len(chunk)
        _require_size(size, max_bytes, file)
        begin, end = chunk.find(b"\n"), chunk.rfind(b"\n")
        longest = line + (len(chunk) if begin < 0 else begin)
        if longest > _LONGEST_LINE:
            rule = f"lines must be at most {_LONGEST_LINE:,} bytes"
            remedy = "This is no table of bars, or its lines end in something else than newlines"
            raise DataError(rule, was="longer", where=file.name, remedy=remedy)
        line = longest if begin < 0 else len(chunk) - end - 1
    _require_room(size, file)


def _require_room(size: int, file: Path) -> None:
    rule = "file must fit into memory while it is read and checked"
    remedy = "Split it by symbols or years and import the parts under names of their own"
    require_memory(_MEMORY_FACTOR * size, rule, where=file.name, remedy=remedy)


def _require_size(size: int, max_bytes: int, file: Path) -> None:
    if size > max_bytes:
        rule = "uncompressed file must not be larger than the limit"
        remedy = "Split the file into several and import their folder"
        raise DataError(rule, was=f"more than {max_bytes:,} bytes", where=file.name, remedy=remedy)
