"""`tradingbot supervised train | list | show | backtest`: classifiers of the next move."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer
from typer import Argument, Option

from tradingbot.app.cli.invocation import JsonOption, invocation_of
from tradingbot.app.cli.options import MarketOption, read_options, require_one_market, spell_options
from tradingbot.app.cli.performance_table import print_performance
from tradingbot.app.console import print_table, print_text, progress_bar, show_json
from tradingbot.domain.errors import ConfigError, join_choices, require_known

if TYPE_CHECKING:
    from tradingbot.evaluation.analyses.probability_thresholds import ThresholdTable
    from tradingbot.supervised.model_manifest import ModelManifest
    from tradingbot.training.config import TrainConfig

app = typer.Typer(help="Train, list, show and backtest classifiers of the next move.")

_LABELS = ("horizon", "barriers")
ModelArgument = Annotated[str, Argument(metavar="MODEL", help="Name of a model.")]


@app.command("train")
def train(  # noqa: PLR0913 - one option for each thing that identifies a model
    context: typer.Context,
    name: Annotated[str, Option(help="Name of the new model.")],
    model: Annotated[str, Option(help="mlp, lstm, gru or lightgbm.")] = "lightgbm",
    preset: Annotated[
        str | None,
        Option(help="Training preset or YAML file that names data and splits.", show_default=False),
    ] = None,
    dataset: Annotated[str | None, Option(help="A dataset whose panel is proved causal.")] = None,
    market: MarketOption = None,
    labels: Annotated[
        str, Option(help="horizon (return over it) or barriers (first one passed).")
    ] = "horizon",
    horizon: Annotated[int, Option(min=1, help="Bars a label looks ahead.")] = 7,
    barrier: Annotated[
        float, Option(min=0.0, help="Least move that counts, in volatilities × √horizon.")
    ] = 0.43,
    blocks: Annotated[
        int, Option(min=2, help="Blocks of the training part; the first gets thirds.")
    ] = 6,
    seed: Annotated[int, Option(min=0, help="Root of all randomness.")] = 0,
    settings: Annotated[
        list[str] | None, Option("--set", help="KEY=VALUE of the model, e.g. width=64.")
    ] = None,
    data_settings: Annotated[
        list[str] | None,
        Option("--data", help="KEY=VALUE of the preset, e.g. market.params.kappa=0.05."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Fit a classifier of the next move, prove its probabilities causal, and store it.

    Each bar of the training part is judged by a model of the bars before it, purge and embargo
    between them; everything later by the model of the whole training part. A training run shows
    these probabilities to its agents with --set task.probabilities=NAME. Every fit is a trial.

    Example: [bold]tradingbot supervised train --model lightgbm --market planted --name trees[/bold]

    Example: [bold]tradingbot supervised train --model gru --preset us143 --dataset us143
    --name gru-1[/bold]
    """
    invocation = invocation_of(context)
    config = _config(preset, dataset, market, data_settings)
    given = read_options(settings, "--set")
    _refuse_early(config, model, labels, name, invocation.workspace)
    from tradingbot.supervised import FitConfig, FoldConfig, LabelConfig

    _require_settings(model, given)
    look_ahead = LabelConfig(labels, horizon, barrier)  # type: ignore[arg-type]
    fit = FitConfig(look_ahead, FoldConfig(n_blocks=blocks), seed)
    # Torch takes seconds to import: what can be refused without it is refused by now.
    from tradingbot.training.supervised.fit import ModelRequest, train_model

    request = ModelRequest(name, model, given, fit)
    with progress_bar("supervised") as progress:
        manifest = train_model(config, request, invocation.workspace, progress=progress)
    if show_json(as_json, manifest):
        return
    _print_model(manifest)
    invocation.print_hint(f"Next: tradingbot supervised backtest {name}")


@app.command("list")
def list_all(context: typer.Context, as_json: JsonOption = False) -> None:
    """List the models of the workspace.

    Example: [bold]tradingbot supervised list[/bold]
    """
    from tradingbot.supervised.model_manifest import list_models

    invocation = invocation_of(context)
    lines = list_models(invocation.workspace)
    if show_json(as_json, lines):
        return
    rows: list[tuple[object, ...]] = []
    for line in lines:
        manifest = line.manifest
        if manifest is None:
            rows.append((line.name, "damaged", "", None, None, line.problem))
            continue
        test = manifest.scores.get("test", {})
        horizon = f"{manifest.labels['kind']}, {manifest.labels['horizon_bars']} bars"
        gain, accuracy = test.get("gain_nats"), test.get("accuracy")
        rows.append((line.name, manifest.model, horizon, gain, accuracy, manifest.data.label))
    columns = ["model", "kind", "labels", "gain (nats)", "accuracy", "data"]
    caption = "gain: log loss of the base rate less the model's, per bar of the test part"
    print_table("Supervised models", columns, rows, caption=caption, unbroken=("model",))
    if not lines:
        invocation.print_hint("no model yet; fit one with: tradingbot supervised train")


@app.command("show")
def show_model(context: typer.Context, name: ModelArgument, as_json: JsonOption = False) -> None:
    """Show a model: data, labels, stages, scores before and after calibration; checks its files.

    Example: [bold]tradingbot supervised show trees[/bold]
    """
    _require_model(context, name)
    # Torch takes seconds to import: what can be refused without it is refused by now.
    from tradingbot.supervised.model_files import open_model
    from tradingbot.supervised.model_names import models_folder

    _, manifest = open_model(models_folder(invocation_of(context).workspace), name)
    if show_json(as_json, manifest):
        return
    _print_model(manifest)
    rows = [
        (
            *(index, stage.from_bar, stage.seen_until),
            stage.calibration["inverse_temperature"],
            *(stage.calibration["down_bias"], stage.calibration["up_bias"]),
            int(stage.calibration["n"]),
        )
        for index, stage in enumerate(manifest.stages)
    ]
    columns = ["stage", "asked from bar", "saw bars before", "1 / temperature", "down", "up", "n"]
    print_table("Stages and their calibration", columns, rows)


@app.command("backtest")
def backtest_model(
    context: typer.Context,
    name: ModelArgument,
    thresholds: Annotated[
        str | None,
        Option(help="Thresholds of P(up), separated by commas; else 1 to 1.5 × the base rate."),
    ] = None,
    part: Annotated[str, Option(help="validation or test.")] = "test",
    costs: Annotated[str, Option(help="Cost profile.")] = "alpaca",
    as_json: JsonOption = False,
) -> None:
    """Trade a model by itself: long while P(up) is at or above a threshold, else flat.

    Each threshold on the test part is in the ledger once; a model's first is no trial more.

    Example: [bold]tradingbot supervised backtest trees[/bold]

    Example: [bold]tradingbot supervised backtest trees --thresholds 0.4,0.5 --costs retail[/bold]
    """
    levels, chosen = _thresholds(thresholds) if thresholds is not None else (), _part(part)
    from tradingbot.configuration.part_names import require_costs

    _require_model(context, name)
    require_costs(costs, "--costs")
    # Torch takes seconds to import: what can be refused without it is refused by now.
    from tradingbot.evaluation.analyses.probability_thresholds import backtest_thresholds

    with progress_bar("backtest") as progress:
        table = backtest_thresholds(
            name,
            invocation_of(context).workspace,
            thresholds=levels,
            part=chosen,
            costs=costs,
            progress=progress,
        )
    if show_json(as_json, table):
        return
    _print_thresholds(table)


def _config(
    preset: str | None, dataset: str | None, market: str | None, pairs: list[str] | None
) -> TrainConfig:
    from tradingbot.training.config_files import DEFAULT_PRESET, load_train_config

    require_one_market(dataset, market, "Leave one out")
    options = read_options(pairs, "--data")
    own = {} if dataset is None else {"dataset": "--dataset"}
    options |= {} if dataset is None else {"dataset": dataset}
    if market is not None:
        options |= {"dataset": None, "market.name": market}
        own = {"dataset": "--market", "market.name": "--market"}
    spelled = spell_options(options, own, "--data")
    return load_train_config(DEFAULT_PRESET if preset is None else preset, options, spelled)


def _require_model(context: typer.Context, name: str) -> None:
    from tradingbot.supervised.model_names import models_folder, require_model

    require_model(models_folder(invocation_of(context).workspace), name)


def _refuse_early(config: TrainConfig, model: str, labels: str, name: str, workspace: Path) -> None:
    """Refuse names that are unknown or taken, data that are not there, a disk that refuses."""
    from tradingbot.configuration.part_names import require_classifier
    from tradingbot.data.atomic import require_writable
    from tradingbot.supervised.model_names import models_folder, require_free_name
    from tradingbot.training.early_refusals import refuse_data_early

    require_classifier(model, "--model")
    require_known(labels, _LABELS, f"--labels must be {join_choices(_LABELS)}")
    require_free_name(models_folder(workspace), name)
    refuse_data_early(config, workspace)
    require_writable(workspace)


def _require_settings(model: str, given: dict[str, object]) -> None:
    from tradingbot.supervised.classifier_settings import boosting_settings, network_settings

    if model == "lightgbm":
        boosting_settings(given)
    else:
        network_settings(cast(Literal["mlp", "lstm", "gru"], model), given)


def _thresholds(text: str) -> list[float]:
    try:
        levels = [float(word) for word in text.split(",")]
    except ValueError:
        levels = []
    if not levels or not all(0.0 <= level <= 1.0 for level in levels):
        raise ConfigError(
            "--thresholds must be numbers in [0, 1] with commas between them",
            was=repr(text),
            remedy="Write e.g. --thresholds 0.60,0.70,0.80",
        )
    return levels


def _part(word: str) -> Literal["validation", "test"]:
    if word not in ("validation", "test"):
        rule, remedy = "--part must be validation or test", "Write e.g. --part validation"
        raise ConfigError(rule, was=repr(word), remedy=remedy)
    return cast(Literal["validation", "test"], word)


def _print_model(manifest: ModelManifest) -> None:
    data, labels = manifest.data, manifest.labels
    rows = [
        ("kind", manifest.model),
        (
            "labels",
            f"{labels['kind']}, {labels['horizon_bars']} bars, {labels['barrier_vols']:g} σ",
        ),
        ("data", data.label),
        ("symbols, features", f"{len(data.symbols)}, {len(manifest.features)}"),
        ("trained on", f"{data.first_day} … {data.last_day}"),
        ("base rates", ", ".join(f"{rate:.1%}" for rate in manifest.base_rates)),
        ("stages", str(len(manifest.stages))),
        ("causality", f"{manifest.proof.comparisons:,} past values unchanged by other futures"),
        ("hash", manifest.sha256[:16]),
    ]
    print_table(f"Model {manifest.name}", ["", ""], rows)
    keys = ("n", "log_loss", "base_log_loss", "gain_nats", "gain_low", "gain_high")
    more = ("direction_gain_nats", "ece", "accuracy", "base_accuracy")
    scores = [
        (part, *(figures.get(key) for key in (*keys, *more)))
        for part, figures in manifest.scores.items()
    ]
    word = "synthetic" if data.synthetic else "observed bars"
    columns = ["part", "n", "log loss", "base", "gain", "low", "high"]
    columns += ["direction", "ECE", "accuracy", "base"]
    caption = (
        "nats per bar; low, high: 95 % of the gain; direction: gain on up or down alone; "
        "raw: before calibration"
    )
    print_table(f"Scores ({word})", columns, scores, caption=caption, unbroken=("part",))


def _print_thresholds(table: ThresholdTable) -> None:
    word = "synthetic" if table.synthetic else "observed bars, simulated trading"
    levels = [line for line in table.lines if line.reached_frac is not None]
    reached = ", ".join(f"{line.reached_frac:.0%}" for line in levels)
    caption = (
        f"{table.label}; {table.n_symbols} symbols, {table.n_bars:,} bars, costs "
        f"{table.costs}; highest P(up) {table.highest_up:.2f}; reached at {reached} of all bars"
    )
    title = f"{table.model}, {table.part} ({word}, net of costs)"
    print_performance(title, [line.performance for line in table.lines], 9, caption)
    if table.caveat:
        print_text(table.caveat)
