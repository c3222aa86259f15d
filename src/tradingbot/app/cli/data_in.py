"""`tradingbot data import | generate | download | join | plant`: bars on the way to the store."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from tradingbot.app.cli.invocation import Invocation, JsonOption, invocation_of
from tradingbot.app.cli.options import DatasetArgument, read_options, read_pairs, split_commas
from tradingbot.app.cli.stored_data import show_stored
from tradingbot.app.console import progress_bar
from tradingbot.domain.errors import require_known

if TYPE_CHECKING:
    import polars as pl

    from tradingbot.data.sources.source import BarSource
    from tradingbot.domain.universe import Universe

app = typer.Typer()

_SYMBOLS = ("--symbols", "symbols", "AAPL,MSFT")
_ADJUSTMENTS = ("none", "split", "split_dividend")
SentimentRange = Annotated[
    tuple[float, float], Option("--sentiment-range", help="Scores that mean worst and best.")
]
SentimentColumn = Annotated[str, Option("--sentiment-column", help="Column of the score.")]
SentimentDelay = Annotated[
    str | None,
    Option("--sentiment-delay", help="How long after its stamp a score was known, e.g. 1d."),
]
NameOption = Annotated[str, Option("--name", help="What to call the dataset from now on.")]
UniverseOption = Annotated[
    str | None,
    Option("--universe", help="Universe by name or CSV file; other symbols are refused."),
]
StartOption = Annotated[
    datetime, Option("--from", "--start", formats=["%Y-%m-%d"], help="First day.")
]
EndOption = Annotated[
    datetime, Option("--to", "--end", formats=["%Y-%m-%d"], help="Last day, included.")
]


@app.command("import")
def import_files(  # noqa: PLR0913 - one option for each way in which vendors' files differ
    context: typer.Context,
    path: Annotated[Path, Argument(help="A .parquet, .csv or .csv.gz file, or a folder.")],
    name: NameOption,
    universe: UniverseOption = None,
    columns: Annotated[
        list[str] | None, Option("--map", help="FIELD=COLUMN, e.g. timestamp=time.")
    ] = None,
    time_zone: Annotated[
        str | None, Option(help="Zone of stamps that carry none, e.g. America/New_York.")
    ] = None,
    stamps: Annotated[str, Option(help="What a stamp marks: the bar's open or close.")] = "open",
    timeframe: Annotated[str, Option(help="Length of a bar: 15m, 1h, 1d …")] = "1h",
    grid: Annotated[
        str, Option(help="session: 09:30, 10:30 …; clock: 09:30, 10:00, 11:00 …")
    ] = "session",
    calendar: Annotated[
        str | None, Option(help="Exchange calendar, or 24/7; by default the universe's.")
    ] = None,
    adjustment: Annotated[
        str, Option(help="How prices are adjusted: none, split or split_dividend.")
    ] = "split",
    symbols: Annotated[str | None, Option(help="Only these, e.g. AAPL,MSFT.")] = None,
    rename: Annotated[list[str] | None, Option("--rename", help="OLD=NEW symbol.")] = None,
    delimiter: Annotated[str, Option(help="Between the cells of a CSV file.")] = ",",
    sort: Annotated[bool, Option("--sort", help="Sort rows that go back in time.")] = False,
    strict: Annotated[
        bool, Option("--strict", help="Refuse the file instead of quarantining rows.")
    ] = False,
    sentiment: Annotated[
        Path | None, Option(help="File of sentiment scores to store beside the bars.")
    ] = None,
    sentiment_range: SentimentRange = (-1.0, 1.0),
    sentiment_column: SentimentColumn = "sentiment",
    sentiment_delay: SentimentDelay = None,
    as_json: JsonOption = False,
) -> None:
    """Import bars from Parquet or CSV files; bad rows go to quarantine with a reason.

    Example: [bold]tradingbot data import bars.parquet --name us143 --universe us143[/bold]

    Example: [bold]tradingbot data import csv/ --name mine --time-zone America/New_York
    --stamps close --map volume=vol[/bold]
    """
    from tradingbot.data.sources.files import FileImport, FileSource
    from tradingbot.domain.timeframe import BarGrid

    members = _load_universe(universe)
    config = FileImport(
        path=path,
        columns=read_pairs(columns, "--map", "FIELD=COLUMN", "volume=vol"),
        time_zone=time_zone,
        stamps=_choice("--stamps", stamps, ("open", "close")),  # type: ignore[arg-type]
        timeframe=timeframe,
        grid=BarGrid(_choice("--grid", grid, [g.value for g in BarGrid])),
        calendar=calendar or (members.calendar if members else "XNYS"),
        adjustment=_choice("--adjustment", adjustment, _ADJUSTMENTS),  # type: ignore[arg-type]
        renames=read_pairs(rename, "--rename", "OLD=NEW", "FB=META"),
        symbols=None if symbols is None else tuple(split_commas(symbols, *_SYMBOLS)),
        delimiter=delimiter,
        sort=sort,
    )
    scores = None
    if sentiment:
        scores = _read_scores(sentiment, sentiment_column, sentiment_range, sentiment_delay)
    options = {"universe": members, "strict": strict, "extra_covariates": scores}
    _store(invocation_of(context), FileSource(config), name, as_json=as_json, **options)


@app.command("join")
def join_sentiment(  # noqa: PLR0913 - one option for each way in which files of scores differ
    context: typer.Context,
    dataset: DatasetArgument,
    name: NameOption,
    sentiment: Annotated[Path, Option(help="File of sentiment scores.")],
    sentiment_range: SentimentRange = (-1.0, 1.0),
    sentiment_column: SentimentColumn = "sentiment",
    sentiment_delay: SentimentDelay = None,
    as_json: JsonOption = False,
) -> None:
    """Join sentiment scores to a stored dataset, whatever its source; the old one stays.

    Example: [bold]tradingbot data join us143 --sentiment scores.parquet --name us143-scored[/bold]
    """
    from tradingbot.app.dataset_users import id_behind
    from tradingbot.data.dataset_names import require_name
    from tradingbot.data.ingest import Ingested, join_covariates
    from tradingbot.data.store import BarStore

    require_name(name)
    invocation = invocation_of(context)
    store = BarStore(invocation.workspace)
    opened = store.open(dataset)
    scores = _read_scores(sentiment, sentiment_column, sentiment_range, sentiment_delay)
    before = id_behind(store, name)
    joined = join_covariates(opened, scores, store, name=name)
    show_stored(invocation, Ingested(joined, ()), name, before=before, as_json=as_json)


def _read_scores(
    file: Path, column: str, between: tuple[float, float], delay: str | None
) -> pl.DataFrame:
    from tradingbot.data.sources.sentiment import read_sentiment
    from tradingbot.domain.timeframe import Timeframe

    low, high = between
    known_after = Timeframe.parse(delay).duration if delay else None
    return read_sentiment(file, column=column, low=low, high=high, delay=known_after)


@app.command("generate")
def generate_market(  # noqa: PLR0913 - one option for each thing that identifies a market
    context: typer.Context,
    name: NameOption,
    market: Annotated[str, Option(help="See: tradingbot market list.")] = "regimes",
    universe: Annotated[str, Option(help="Universe by name or CSV file.")] = "us143",
    start: StartOption = datetime(2023, 10, 2),  # noqa: DTZ001 - a day, not a time
    end: EndOption = datetime(2025, 10, 1),  # noqa: DTZ001
    timeframe: Annotated[str, Option(help="Length of a bar: 15m, 1h, 1d …")] = "1h",
    seed: Annotated[int, Option(help="The same seed gives the same bits.")] = 7,
    params: Annotated[
        list[str] | None, Option("--set", help="PARAMETER=VALUE of that market.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Generate a synthetic market and store its bars; no network needed.

    Example: [bold]tradingbot data generate --name demo[/bold]

    Example: [bold]tradingbot data generate --name easy --market planted --set kappa=0.1[/bold]
    """
    from tradingbot.data.sources.synthetic import SyntheticSource
    from tradingbot.data.universes import load_universe

    source = SyntheticSource(
        universe=load_universe(universe),
        start=start.date(),
        end=end.date(),
        market=market,
        seed=seed,
        timeframe=timeframe,
        params=read_options(params, "--set"),
    )
    _store(invocation_of(context), source, name, as_json=as_json)


@app.command("plant")
def plant_signal(
    context: typer.Context,
    dataset: DatasetArgument,
    name: NameOption,
    kappa: Annotated[
        float, Option(min=0.0, max=1.0, help="Strength in units of volatility; 0 plants nothing.")
    ],
    phi: Annotated[float, Option(help="Persistence of the signal per bar, in [0, 1).")] = 0.9,
    seed: Annotated[int, Option(min=0, help="The same seed gives the same bits.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Plant a signal of known strength into a stored dataset; the old one stays.

    The new dataset is labelled synthetic: an edge that is found in it was put there.

    Example: [bold]tradingbot data plant us143 --name us143-planted --kappa 0.06[/bold]
    """
    from tradingbot.app.dataset_users import id_behind
    from tradingbot.data.dataset_names import require_name
    from tradingbot.data.ingest import Ingested
    from tradingbot.data.store import BarStore
    from tradingbot.data.synthetic.planted_dataset import plant_dataset

    require_name(name)
    invocation = invocation_of(context)
    store = BarStore(invocation.workspace)
    before = id_behind(store, name)
    planted = plant_dataset(store.open(dataset), store, name=name, kappa=kappa, phi=phi, seed=seed)
    show_stored(invocation, Ingested(planted, ()), name, before=before, as_json=as_json)


@app.command("download")
def download(  # noqa: PLR0913 - one option for each thing that identifies a download
    context: typer.Context,
    source: Annotated[str, Option(help="yfinance or alpaca.")],
    name: NameOption,
    start: StartOption,
    end: EndOption,
    universe: Annotated[str, Option(help="Universe by name or CSV file.")] = "us143",
    timeframe: Annotated[str, Option(help="Length of a bar: 15m, 1h, 1d …")] = "1h",
    adjustment: Annotated[str, Option(help="none, split or split_dividend.")] = "split",
    strict: Annotated[
        bool, Option("--strict", help="Refuse the data instead of quarantining rows.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Download bars from a vendor; an interrupted download goes on where it stopped.

    Alpaca reads its keys from APCA_API_KEY_ID and APCA_API_SECRET_KEY.

    Example: [bold]tradingbot data download --source alpaca --name us143 --from 2023-10-02
    --to 2025-10-01[/bold]
    """
    from tradingbot.data.sources.download import DownloadRequest
    from tradingbot.data.sources.vendors import open_vendor
    from tradingbot.data.universes import load_universe
    from tradingbot.domain.timeframe import Timeframe

    members = load_universe(universe)
    request = DownloadRequest(
        symbols=members.symbols,
        start=start.date(),
        end=end.date(),
        timeframe=Timeframe.parse(timeframe),
        adjustment=_choice("--adjustment", adjustment, _ADJUSTMENTS),  # type: ignore[arg-type]
        calendar=members.calendar,
    )
    invocation = invocation_of(context)
    vendor = open_vendor(source, request, invocation.workspace / "downloads")
    _store(invocation, vendor, name, as_json=as_json, universe=members, strict=strict)


def _store(
    invocation: Invocation, source: BarSource, name: str, *, as_json: bool, **options: Any
) -> None:
    """Ingest what a source delivers and say what was stored; options are those of `ingest`."""
    from tradingbot.app.dataset_users import id_behind
    from tradingbot.data.atomic import require_writable
    from tradingbot.data.ingest import ingest
    from tradingbot.data.store import BarStore

    require_writable(invocation.workspace)  # before bars are fetched or generated
    with progress_bar("bars") as progress:
        store = BarStore(invocation.workspace)
        before = id_behind(store, name)
        ingested = ingest(source, store, name=name, progress=progress, **options)
    show_stored(invocation, ingested, name, before=before, as_json=as_json)


def _load_universe(name: str | None) -> Universe | None:
    from tradingbot.data.universes import load_universe

    return load_universe(name) if name else None


def _choice(option: str, text: str, known: list[str] | tuple[str, ...]) -> str:
    return require_known(text, known, f"{option} must be one of {', '.join(known)}")
