"""`tradingbot tune NAME`: which settings do best on validation, every trial counted."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

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
from tradingbot.app.cli.options import (
    MarketOption,
    read_options,
    require_one_market,
    split_commas,
)
from tradingbot.app.console import print_json, print_note, print_table, print_text, progress_bar
from tradingbot.domain.errors import ConfigError, InterruptionError, require_known
from tradingbot.executors.workers import workers_by

if TYPE_CHECKING:
    from tradingbot.tuning.request import TuneRequest, TuneSettings
    from tradingbot.tuning.session import TunedStudy

app = typer.Typer()
_DATA_KEYS = ("dataset", "market.name", "learner.name", "device")


@app.command("tune")
def tune_settings(  # noqa: PLR0913 - one option for each thing that identifies a study
    context: typer.Context,
    name: Annotated[str, Argument(help="Of the study; the same name goes on with it.")],
    preset: Annotated[
        str | None, Option(help="Training preset or YAML file; prototype10 if left out.")
    ] = None,
    space: Annotated[
        str | None,
        Option(help="What is searched: ppo, sac, direct, rewards, encoder or YAML files."),
    ] = None,
    dataset: Annotated[str | None, Option(help="A dataset whose panel is proved causal.")] = None,
    market: MarketOption = None,
    learner: Annotated[str | None, Option(help="Learner that is tuned.")] = None,
    symbols: Annotated[
        str | None,
        Option(help="Symbols that trials learn on; the best learn on all of the preset's."),
    ] = None,
    device: Annotated[str | None, Option(help="auto, cpu or cuda.")] = None,
    settings: Annotated[
        list[str] | None,
        Option("--set", help="KEY=VALUE of the training, e.g. budget.n_envs=4."),
    ] = None,
    trials: Annotated[int | None, Option(min=1, help="Settings that are tried; 25.")] = None,
    wave: Annotated[int | None, Option(min=1, help="Trials chosen at once; 5.")] = None,
    together: Annotated[
        int | None, Option(min=1, help="Trials learned as one where shapes agree; 5.")
    ] = None,
    sampler: Annotated[str | None, Option(help="tpe or random.")] = None,
    pruner: Annotated[str | None, Option(help="median, hyperband or none.")] = None,
    random_trials: Annotated[
        int | None, Option(min=1, help="Drawn at random at the start; 8.")
    ] = None,
    evaluations: Annotated[int | None, Option(min=2, help="Points of a learning curve; 5.")] = None,
    steps_share: Annotated[
        float | None, Option(help="Steps of a trial ÷ those of the preset, in (0, 1]; 0.5.")
    ] = None,
    seeds: Annotated[int | None, Option(min=1, help="Trainings of each trial; 1.")] = None,
    top: Annotated[int | None, Option(min=1, help="Trials that are trained again; 3.")] = None,
    seed: Annotated[int, Option(min=0, help="Root of the choice and of training seeds.")] = 0,
    storage: Annotated[
        str | None, Option(help="URL of a SQLite or PostgreSQL database of its own.")
    ] = None,
    jobs: Annotated[
        int | None,
        Option(min=1, help="Processes; as many as cores if left out.", show_default=False),
    ] = None,
    executor: ExecutorOption = PROCESSES,
    address: AddressOption = None,
    token_file: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Search settings of a training by its alpha Sharpe on validation; train the best again.

    Trials look at the first half of validation alone, and each is counted in the ledger of trials
    before it begins. The best are trained again on all symbols; the best of those becomes a
    preset, with its evidence, tables and a page. The same command goes on after a kill.

    Needs the extras: tune, plot.

    Example: [bold]tradingbot tune first --space direct --symbols SPY,AAPL[/bold]

    Example: [bold]tradingbot tune us143-ppo --preset us143 --learner ppo --space ppo,encoder[/bold]

    Then: [bold]tradingbot train --preset workspace/tuning/first/best.yaml[/bold]
    """
    invocation = invocation_of(context)
    workers = choose_workers(invocation, executor, address, token_file)
    wanted = _settings(
        trials=trials,
        wave=wave,
        together=together,
        sampler=sampler,
        pruner=pruner,
        random_trials=random_trials,
        evaluations=evaluations,
        steps_share_frac=steps_share,
        seeds=seeds,
        top=top,
        seed=seed,
    )
    require_one_market(dataset, market, "Leave one of them out")
    given = dict(zip(_DATA_KEYS, (dataset, market, learner, device), strict=True))
    options = read_options(settings, "--set") | {k: v for k, v in given.items() if v is not None}
    options |= {} if market is None else {"dataset": None}
    names = () if symbols is None else split_commas(symbols, "--symbols", "symbols", "SPY,AAPL")
    request = _request(invocation, name, preset, space, options, tuple(names), wanted, storage)
    # Torch takes seconds to import: what can be refused without it is refused by now.
    with workers_by(workers, lambda text: print_note(f"• {text}")):
        study = _tune(request, invocation, jobs or usual_count(workers), as_json=as_json)
    _show(study, as_json=as_json)


def _settings(**given: object) -> TuneSettings:
    from dataclasses import replace

    from tradingbot.tuning.request import TuneSettings

    told = {key: value for key, value in given.items() if value is not None}
    if "trials" in told:  # fewer trials than are trained again by default
        usual = TuneSettings()
        told.setdefault("top", min(usual.top, int(str(told["trials"]))))
    return replace(TuneSettings(), **told)  # type: ignore[arg-type]


def _request(  # noqa: PLR0913 - what the options came to
    invocation: Invocation,
    name: str,
    preset: str | None,
    space: str | None,
    options: dict[str, object],
    symbols: tuple[str, ...],
    wanted: TuneSettings,
    storage: str | None,
) -> TuneRequest:
    """Refuse what can be refused without torch."""
    from tradingbot.configuration.files import known_presets
    from tradingbot.training.config_files import DEFAULT_PRESET, load_train_config
    from tradingbot.training.early_refusals import refuse_early
    from tradingbot.tuning.optuna_study import require_optuna
    from tradingbot.tuning.request import TuneRequest, require_study_name
    from tradingbot.tuning.search_space import load_space
    from tradingbot.tuning.space_check import refuse_tuned, require_symbols, require_tunable
    from tradingbot.tuning.storage_url import require_storage

    require_study_name(name)
    require_storage(storage or "")
    chosen = preset or DEFAULT_PRESET
    config = load_train_config(chosen, options)
    if config.environment.kind == "portfolio":
        rule = "tuning must have agents of single accounts"
        raise ConfigError(rule, was="environment.kind: portfolio", remedy="Tune its sleeves")
    texts = split_commas(space, "--space", "names", "ppo,encoder") if space else None
    for text in texts or ():
        if "/" not in text and not text.endswith((".yaml", ".yml")):
            rule = "--space must name search spaces, or .yaml files"
            require_known(text, known_presets("tuning"), rule)
    found = load_space(texts or [config.learner.name])
    refuse_tuned(options, found)
    require_tunable(config, found)
    refuse_early(config, invocation.workspace)
    require_symbols(config, symbols, invocation.workspace)
    require_optuna()
    return TuneRequest(
        name=name,
        config=config,
        space=found,
        settings=wanted,
        symbols=symbols,
        storage=storage or "",
        preset=chosen,
        options=tuple(options.items()),
        command=_command(invocation, name, chosen, found.names, options, symbols, wanted),
    )


def _command(
    invocation: Invocation,
    name: str,
    preset: str,
    spaces: tuple[str, ...],
    options: dict[str, object],
    symbols: tuple[str, ...],
    wanted: TuneSettings,
) -> str:
    """Write the command that does the same again; a database of its own is left out."""
    words = ["tradingbot"]
    words += [word for plugin in invocation.plugins for word in ("--plugin", plugin)]
    words += ["tune", name, "--preset", preset, "--space", ",".join(spaces)]
    for key, value in options.items():
        words += ["--set", f"{key}={'null' if value is None else value}"]
    words += ["--symbols", ",".join(symbols)] if symbols else []
    words += ["--trials", str(wanted.trials), "--wave", str(wanted.wave)]
    words += ["--together", str(wanted.together)]
    words += ["--sampler", wanted.sampler, "--pruner", wanted.pruner]
    words += ["--random-trials", str(wanted.random_trials)]
    words += ["--evaluations", str(wanted.evaluations), "--seeds", str(wanted.seeds)]
    words += ["--steps-share", str(wanted.steps_share_frac), "--top", str(wanted.top)]
    return shlex.join([*words, "--seed", str(wanted.seed)])


def _tune(request: TuneRequest, invocation: Invocation, jobs: int, *, as_json: bool) -> TunedStudy:
    from tradingbot.app.signals import stop_on_signals
    from tradingbot.training.session import SessionCallbacks
    from tradingbot.tuning.session import TuneCallbacks, tune

    with stop_on_signals() as stop:
        try:
            with progress_bar("tune") as progress:
                note = (lambda _: None) if as_json else (lambda text: print_note(f"• {text}"))
                callbacks = TuneCallbacks(
                    progress, note, stop, SessionCallbacks(note=note, interrupted=stop)
                )
                return tune(request, invocation.workspace, jobs=jobs, callbacks=callbacks)
        except InterruptionError:
            print_note("Interrupted; finished trials are kept, and the same command goes on")
            raise typer.Exit(stop.exit_code) from None


def _show(study: TunedStudy, *, as_json: bool) -> None:
    files = study.files
    if as_json:
        places = {"folder": files.folder, "page": files.page, "preset": files.preset}
        print_json({"answer": files.evidence.words, **places, "evidence": files.evidence})
        return
    print_text(f"{files.evidence.words}. {files.evidence.counts}")
    rows = [
        (each.run, each.trial, f"{each.trial_score:.2f}", f"{each.score:.2f}", each.agents)
        for each in files.evidence.retrained
    ]
    columns = ["run", "trial", "score as a trial", "score trained again", "agents that trade"]
    kind = "synthetic" if files.evidence.synthetic else "observed bars, simulated trading"
    caption = (
        "Scores: mean alpha Sharpe of the agents, first half of validation, net of costs "
        f"({files.evidence.costs})"
    )
    print_table(f"{files.evidence.label} ({kind})", columns, rows, caption=caption)
    print_text(files.evidence.terms)
    print_text(f"Report: {files.page}")
    if files.preset is not None:
        print_text(f"Preset: {files.preset}")
