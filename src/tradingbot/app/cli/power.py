"""`tradingbot power DATASET|RUN`: how strong must an edge be for the pipeline to find it here?"""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from tradingbot.app.cli.executor_options import (
    PROCESSES,
    AddressOption,
    ExecutorOption,
    TokenOption,
    choose_workers,
    usual_count,
)
from tradingbot.app.cli.invocation import Invocation, JsonOption, invocation_of
from tradingbot.app.cli.options import look_up_run, read_options, runs_root, split_commas
from tradingbot.app.console import print_json, print_note, print_table, print_text, progress_bar
from tradingbot.domain.errors import ConfigError
from tradingbot.executors.workers import workers_by

if TYPE_CHECKING:
    from tradingbot.evaluation.power.request import PowerRequest, PowerSettings
    from tradingbot.evaluation.power.session import MeasuredPower
    from tradingbot.runs import RunDirectory
    from tradingbot.training.config import TrainConfig

app = typer.Typer()
_INTERRUPTED = 130


@app.command("power")
def show_power(  # noqa: PLR0913 - one option for each thing that identifies a measurement
    context: typer.Context,
    subject: Annotated[
        str, Argument(metavar="DATASET|RUN", help="Name of a dataset, or id of a run.")
    ],
    preset: Annotated[
        str | None,
        Option(help="Training preset or YAML file for a dataset; a run has its own."),
    ] = None,
    symbols: Annotated[
        str | None,
        Option(help="Read and trade only these: the market is theirs alone, e.g. SPY,AAPL."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        Option("--set", help="KEY=VALUE of a dataset's training, e.g. budget.n_envs=4."),
    ] = None,
    kappas: Annotated[
        str | None,
        Option(help="Strengths in units of volatility, e.g. 0,0.02,0.05,0.1; 0 is the null."),
    ] = None,
    repetitions: Annotated[int | None, Option(min=2, help="Pipelines per strength; 10.")] = None,
    phi: Annotated[
        float | None, Option(help="Persistence of the signal per bar, in [0, 1); 0.9.")
    ] = None,
    steps_share: Annotated[
        float | None, Option(help="Steps ÷ those of the run or preset, in (0, 1]; 1.")
    ] = None,
    seed: Annotated[int, Option(min=0, help="Root of signals and training seeds.")] = 0,
    quick: Annotated[
        bool, Option("--quick", help="A first look: 4 strengths, 4 repetitions, ¼ of the steps.")
    ] = False,
    jobs: Annotated[
        int | None,
        Option(min=1, help="Processes; as many as cores if left out.", show_default=False),
    ] = None,
    executor: ExecutorOption = PROCESSES,
    address: AddressOption = None,
    token_file: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Plant signals of known strength into one's own bars and count how often they are found.

    Each pipeline trains on bars with a planted signal, lets validation decide and is judged on
    test; volatility, correlation, gaps and calendar stay those of the bars. Says the smallest edge
    that is found with 80 % probability. Finished trials are kept: the same command resumes.

    Needs the extra: plot.

    Example: [bold]tradingbot power us143 --symbols SPY,AAPL,XOM,JPM --quick[/bold]

    Example: [bold]tradingbot power 20260105 --repetitions 20 --jobs 2[/bold]

    Example: [bold]tradingbot power mine --preset prototype10 --kappas 0,0.05,0.1[/bold]
    """
    invocation = invocation_of(context)
    workers = choose_workers(invocation, executor, address, token_file)
    wanted = _settings(kappas, repetitions, phi, steps_share, quick=quick, seed=seed)
    names = () if symbols is None else split_commas(symbols, "--symbols", "symbols", "SPY,AAPL")
    options = read_options(settings, "--set") | ({"symbols": list(names)} if names else {})
    request = _request(invocation, subject, preset, options, wanted)
    # Symbols of a preset say what is traded; what all of them make up is the market either way.
    request = replace(request, symbols=tuple(names))
    # Torch takes seconds to import: what can be refused without it is refused by now.
    from tradingbot.evaluation.power.session import measure_power

    count = jobs or usual_count(workers)
    try:
        with progress_bar("power") as progress, workers_by(workers):
            found = measure_power(request, invocation.workspace, jobs=count, progress=progress)
    except KeyboardInterrupt:
        print_note("Interrupted; finished trials are kept, and the same command resumes")
        raise typer.Exit(_INTERRUPTED) from None
    _show(found, as_json=as_json)


def _settings(
    kappas: str | None,
    repetitions: int | None,
    phi: float | None,
    steps_share: float | None,
    *,
    quick: bool,
    seed: int,
) -> PowerSettings:
    """Lay options over the usual settings or those of a first look."""
    from tradingbot.evaluation.power.request import PowerSettings, quick_settings

    ladder = None if kappas is None else tuple(_numbers(kappas))
    given: dict[str, Any] = {
        "kappas": ladder,
        "repetitions": repetitions,
        "phi": phi,
        "steps_share_frac": steps_share,
        "seed": seed,
    }
    base = quick_settings() if quick else PowerSettings()
    return replace(base, **{key: value for key, value in given.items() if value is not None})


def _numbers(text: str) -> list[float]:
    words = split_commas(text, "--kappas", "numbers", "0,0.05,0.1")
    try:
        return [float(word) for word in words]
    except ValueError as e:
        rule = "--kappas must be numbers with commas between them"
        raise ConfigError(rule, was=repr(text), remedy="Write e.g. --kappas 0,0.05,0.1") from e


def _request(
    invocation: Invocation,
    subject: str,
    preset: str | None,
    options: dict[str, object],
    wanted: PowerSettings,
) -> PowerRequest:
    """Find the run or dataset, and refuse what can be refused without torch."""
    from tradingbot.evaluation.power.request import PowerRequest

    words = _command(invocation, subject, preset, options, wanted)
    if _is_run(invocation, subject):
        run, config = _run_config(invocation, subject, preset, options)
        return PowerRequest(run.id, config, wanted, run=run, command=words)
    from tradingbot.training.config_files import DEFAULT_PRESET, load_train_config
    from tradingbot.training.early_refusals import refuse_early

    _require_dataset(invocation, subject)
    config = load_train_config(preset or DEFAULT_PRESET, {**options, "dataset": subject})
    refuse_early(config, invocation.workspace)
    return PowerRequest(subject, config, wanted, command=words)


def _is_run(invocation: Invocation, subject: str) -> bool:
    """Tell a run from a dataset; a name that is both is a dataset where a run only begins so."""
    from tradingbot.runs.finding import list_runs

    names = [folder.name for folder in list_runs(runs_root(invocation))]
    if subject in names or "/" in subject:
        return True
    has_dataset = (invocation.workspace / "names" / subject).is_file()
    return not has_dataset and any(name.startswith(subject) for name in names)


def _run_config(
    invocation: Invocation, subject: str, preset: str | None, options: dict[str, object]
) -> tuple[RunDirectory, TrainConfig]:
    from tradingbot.training.config_files import config_of_mapping
    from tradingbot.training.early_refusals import refuse_data_early
    from tradingbot.training.own_dataset_names import require_own_dataset

    if preset is not None or options:
        raise ConfigError(
            "--preset, --symbols and --set must stand with a dataset: a run has its own settings",
            was=f"run {subject}",
            remedy="Leave them out, or name the dataset",
        )
    run = look_up_run(invocation, subject)
    config = require_own_dataset(config_of_mapping(run.record.config), run, invocation.workspace)
    refuse_data_early(config, invocation.workspace)
    return run, config


def _require_dataset(invocation: Invocation, subject: str) -> None:
    from tradingbot.data.store import BarStore
    from tradingbot.domain.errors import DataError

    try:
        BarStore(invocation.workspace).find(subject)
    except DataError as e:
        rule = "power must be asked of a dataset or a run of the workspace"
        raise ConfigError(rule, was=e.was, where=e.where, remedy=e.remedy) from e


def _command(
    invocation: Invocation,
    subject: str,
    preset: str | None,
    options: dict[str, object],
    wanted: PowerSettings,
) -> str:
    """Write the command that measures the same again."""
    words = ["tradingbot"]
    words += [word for plugin in invocation.plugins for word in ("--plugin", plugin)]
    words += ["power", subject] + ([] if preset is None else ["--preset", preset])
    for key, value in options.items():
        if isinstance(value, list):
            words += [f"--{key}", ",".join(value)]
        else:
            words += ["--set", f"{key}={value}"]
    words += ["--kappas", ",".join(f"{kappa:g}" for kappa in wanted.kappas)]
    words += ["--repetitions", str(wanted.repetitions), "--phi", f"{wanted.phi:g}"]
    words += ["--steps-share", f"{wanted.steps_share_frac:g}", "--seed", str(wanted.seed)]
    return shlex.join(words)


def _show(found: MeasuredPower, *, as_json: bool) -> None:
    curve = found.curve
    if as_json:
        from tradingbot.evaluation.dossier.codec import to_plain

        places = {"folder": str(found.folder), "page": str(found.page)}
        print_json({"answer": curve.words, **places, **to_plain(curve)})
        return
    from tradingbot.evaluation.report.power_page import COLUMNS, power_rows

    print_text(curve.words)
    title = f"{curve.label}, {curve.symbols} symbols, test {curve.test}"
    print_table(title, COLUMNS, power_rows(curve))
    print_text(f"Report: {found.page}")
