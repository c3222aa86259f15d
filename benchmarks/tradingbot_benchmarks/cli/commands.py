"""`tradingbot bench`: speed, measured against references in the same run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tradingbot.app.cli.invocation import JsonOption
from tradingbot.app.cli.options import require_picture
from tradingbot.app.console import print_json, print_note, print_table, progress_bar
from tradingbot.learning.catalogue import known_learners, learner_spec
from tradingbot_benchmarks.cli import cluster as bench_cluster
from tradingbot_benchmarks.cli import dashboard as bench_dashboard
from tradingbot_benchmarks.cli import evaluate as bench_evaluate
from tradingbot_benchmarks.cli import portfolio as bench_portfolio
from tradingbot_benchmarks.cli import serve as bench_serve
from tradingbot_benchmarks.cli import supervised as bench_supervised
from tradingbot_benchmarks.cli import train as bench_train
from tradingbot_benchmarks.cli.table import (
    print_records,
    show_figure,
    tell_if_busy,
    tell_machine,
    tell_records,
)

if TYPE_CHECKING:
    from tradingbot_benchmarks.data.bench import Measured
    from tradingbot_benchmarks.record import BenchRecord

_MEASURED = tuple(name for name in known_learners() if learner_spec(name).measured)
"""Learners that say what they are measured with."""
app = typer.Typer(help="Measure speed and memory; results are checked for equality first.")
app.add_typer(bench_train.app)
app.add_typer(bench_supervised.app)
app.add_typer(bench_evaluate.app)
app.add_typer(bench_portfolio.app)
app.add_typer(bench_serve.app)
app.add_typer(bench_dashboard.app)
app.add_typer(bench_cluster.app)


@app.callback()
def _keep_verbs() -> None:
    """Measure speed and memory; results are checked for equality first."""


@app.command("data")
def bench_data(
    quick: Annotated[bool, typer.Option("--quick", help="Only 143 symbols × 2 years.")] = False,
    curve: Annotated[
        Path | None, typer.Option(help="Draw the growth of time and memory as a PNG file.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure generating, checking, features, panel and streaming (two to three minutes).

    The features are compared with a per-symbol pandas + TA-Lib loop, the stream with the batch,
    before anything is timed. Needs the extra: bench.

    Example: [bold]tradingbot bench data --json[/bold]
    """
    from tradingbot_benchmarks.data.bench import measure, records

    if curve is not None:
        require_picture(curve, "--curve")
    with progress_bar("bench") as progress:
        measured = measure(curve=not quick, progress=progress)
    found = records(measured)
    if curve is not None:
        _draw(measured, curve)
    if as_json:
        print_json(found)
        return
    rows = [
        (
            r.name,
            show_figure(r.value, r.unit),
            show_figure(r.reference, r.unit),
            r.reference_name,
            r.ratio,
        )
        for r in found
    ]
    print_table(
        "Data benchmark (synthetic bars; median of three fresh processes)",
        ["what", "measured", "reference", "", "reference ÷ measured"],
        rows,
    )
    tell_machine()


@app.command("simulator")
def bench_simulator(
    quick: Annotated[
        bool, typer.Option("--quick", help="Leave out growth and the learner's share.")
    ] = False,
    figure: Annotated[
        Path | None, typer.Option(help="Draw speed against environments as a PNG file.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure the simulator, its growth and its peers (six minutes; a minute with --quick).

    Rules and reward are the defaults, actions are random and drawn within the timed loop, and the
    observation is made. Before timing, native lanes and the lone
    environment are compared with the tensors. Needs the extra: bench; peers that are not
    installed are named as such.

    Example: [bold]tradingbot bench simulator --json[/bold]
    """
    from tradingbot_benchmarks.simulator.bench import records
    from tradingbot_benchmarks.simulator.measure import measure
    from tradingbot_benchmarks.simulator.results import say_limits
    from tradingbot_benchmarks.simulator.scale import FULL, QUICK

    if figure is not None:
        require_picture(figure, "--figure")
    tell_if_busy()
    with progress_bar("bench") as progress:
        measured = measure(QUICK if quick else FULL, progress)
    found = records(measured)
    if figure is not None:
        _draw_simulator(found, figure)
    if as_json:
        print_json(found)
        return
    _print_simulator(found)
    print_note(say_limits(found))
    tell_machine()


@app.command("encoder")
def bench_encoder(
    quick: Annotated[
        bool, typer.Option("--quick", help="Embed 8 symbols instead of 143, and time less.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Measure the encoder on the processor (two minutes; half a minute with --quick).

    The full encoder in float32 on random numbers. Whole history, windows and stream are compared
    before anything is timed.

    Example: [bold]tradingbot bench encoder --json[/bold]
    """
    from tradingbot_benchmarks.learning.encoder import FULL, QUICK, measure_encoder

    with progress_bar("bench") as progress:
        found = measure_encoder(QUICK if quick else FULL, progress)
    tell_records(
        "Encoder benchmark (random numbers; full encoder; CPU, float32)", found, wants_json=as_json
    )


@app.command("learning")
def bench_learning(
    markets: Annotated[
        str, typer.Option(help="Markets with known answers, separated by commas.")
    ] = (
        "planted_0.10,planted_0.05,opposed_0.10,corr30_0.06,corr50_0.06,hetero,mixed_0.08,"
        "turn_0.10,hidden_trend,cost_trap,noise"
    ),
    learners: Annotated[
        str, typer.Option(help=f"{', '.join(_MEASURED)}, separated by commas.")
    ] = ",".join(_MEASURED),
    seeds: Annotated[int, typer.Option(min=1, help="Seeds of each learner on each market.")] = 5,
    agents: Annotated[int, typer.Option(min=1, help="Agents, one per symbol.")] = 143,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    pooling: Annotated[
        str, typer.Option(help="How agents share heads: partial, pooled or independent.")
    ] = "partial",
    as_json: JsonOption = False,
) -> None:
    """Train learners where the answer is known; test them out of sample (hours on a processor).

    The figure is the share of the oracle's net return, or basis points per bar where there is
    nothing to earn. Settings of a learner are the same on all markets. Two years of synthetic
    hours to learn from, the last 15 % of them to decide what is kept, 1,512 bars to test.

    Example: [bold]tradingbot bench learning --markets noise --learners direct --agents 48[/bold]
    """
    from tradingbot.training.setup import choose_device
    from tradingbot_benchmarks.learning.curve.measure import LearningRun
    from tradingbot_benchmarks.learning.known_answers import measure_learning, require_pooling

    run = LearningRun(
        n_agents=agents,
        device=str(choose_device(device)),
        pooling=require_pooling(pooling),
        compiled=True,
    )
    with progress_bar("bench") as progress:
        found = measure_learning(_words(markets), _words(learners), seeds, run, progress)
    if as_json:
        print_json(found)
        return
    rows = [
        (r.name, f"{r.value:.3f} {r.unit}", f"{r.low:.3f} … {r.high:.3f}", r.reference, r.note)
        for r in found
    ]
    columns = ["market/learner", "measured", "95 % over seeds", "must reach", "note"]
    print_table("Learning benchmark (synthetic markets with known answers)", columns, rows)
    tell_machine()


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _print_simulator(found: list[BenchRecord]) -> None:
    print_records(
        "Simulator benchmark (synthetic bars; medians; default rules and reward, random actions)",
        found,
    )


def _draw_simulator(found: list[BenchRecord], path: Path) -> None:
    from tradingbot.data.atomic import atomic_file
    from tradingbot_benchmarks.figures.simulator_speed import draw_simulator_speed
    from tradingbot_benchmarks.simulator.results import speed_curves

    drawn = draw_simulator_speed(speed_curves(found))
    with atomic_file(path) as temporary:
        drawn.savefig(temporary, format="png", dpi=110)
    print_note(f"Drew {path}")


def _draw(measured: Measured, path: Path) -> None:
    from tradingbot.data.atomic import atomic_file
    from tradingbot_benchmarks.data.bench import STAGES
    from tradingbot_benchmarks.figures.scaling_curve import ScalingPoint, draw_scaling

    points = [
        ScalingPoint(
            "daily bars" if size.timeframe == "1d" else "hourly bars",
            figures["rows"],
            {stage: figures[stage] for stage in STAGES},
            figures["peak_bytes"],
        )
        for size, figures in measured.items()
    ]
    figure = draw_scaling(points, title="Seconds by stage (synthetic bars)")
    with atomic_file(path) as temporary:
        figure.savefig(temporary, format="png", dpi=110)
    print_note(f"Drew {path}")
