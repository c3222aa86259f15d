"""`tradingbot evaluate RUN`: is this policy worth anything? The dossier, the memo and the page."""

from __future__ import annotations

import math
import shlex
from pathlib import Path
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
from tradingbot.app.cli.options import look_up_run, read_options, spell_options, split_commas
from tradingbot.app.cli.performance_table import print_performance
from tradingbot.app.console import print_json, print_note, print_table, print_text, progress_bar
from tradingbot.data.atomic import chosen_by
from tradingbot.domain.errors import ConfigError
from tradingbot.evaluation.performance.table import ALPHA_NOTE, write_interval
from tradingbot.executors.workers import workers_by

if TYPE_CHECKING:
    from tradingbot.evaluation.dossier.dossier import Dossier
    from tradingbot.evaluation.dossier.robustness import Sensitivity, WalkForward
    from tradingbot.evaluation.pipeline.session import Evaluation

app = typer.Typer()
_OWN_GATES = "product"  # `app.gates_file.DEFAULT_GATES`, which takes long to import
_INTERRUPTED = 130


@app.command("evaluate")
def evaluate(  # noqa: PLR0913 - one option for each thing that identifies an evaluation
    context: typer.Context,
    reference: Annotated[
        str, Argument(metavar="RUN", help="Id of a finished run, the beginning of it, or folder.")
    ],
    preset: Annotated[
        str, Option(help="Preset or YAML file: full, quick, or required for a first look.")
    ] = "full",
    settings: Annotated[
        list[str] | None, Option("--set", help="KEY=VALUE of the evaluation, e.g. seeds.count=10.")
    ] = None,
    analyses: Annotated[
        str | None,
        Option(
            "--analyses",
            "--pieces",
            help="These, the required ones, and what was made before under the same settings; "
            "e.g. walk_forward,seeds.",
        ),
    ] = None,
    gates: Annotated[
        str, Option(help="Gates that come with the package, or a YAML file.")
    ] = _OWN_GATES,
    jobs: Annotated[
        int | None,
        Option(min=1, help="Processes; as many as cores if left out.", show_default=False),
    ] = None,
    out: Annotated[
        Path | None, Option(help="Folder for the results; in the run's if left out.")
    ] = None,
    executor: ExecutorOption = PROCESSES,
    address: AddressOption = None,
    token_file: TokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Evaluate a finished run: dossier, statistics, gates and one HTML page; the verdict first.

    Every analysis is stored when it is made: after Ctrl-C or a crash the same command resumes,
    and a second evaluation makes only what changed.

    Example: [bold]tradingbot evaluate 20260105[/bold]

    Example: [bold]tradingbot evaluate 20260105 --preset quick --jobs 2[/bold]

    Example: [bold]tradingbot evaluate 20260105 --analyses seeds --set seeds.count=10[/bold]

    Example: [bold]tradingbot evaluate 20260105 --executor ray[/bold]
    """
    invocation = invocation_of(context)
    workers = choose_workers(invocation, executor, address, token_file)
    example = "walk_forward,seeds"
    named = None if analyses is None else split_commas(analyses, "--analyses", "names", example)
    options = read_options(settings, "--set")
    if out is not None and out.exists() and not out.is_dir():
        raise ConfigError(
            "--out must name a folder", was="a file", where=str(out), remedy="Name another"
        )
    from tradingbot.evaluation.pipeline.analysis_names import REQUIRED
    from tradingbot.evaluation.pipeline.config import load_evaluate_config

    _refuse_early(invocation, reference, gates, tuple(named or ()))
    options |= {"analyses": named} if named else {}
    spelled = spell_options(options, {"analyses": "--analyses"} if named else {})
    config = load_evaluate_config(preset, options, spelled)
    # Torch takes seconds to import: what can be refused without it is refused by now.
    from tradingbot.evaluation.pipeline.session import EvaluationRequest, evaluate_run, with_stored

    if named:
        config = with_stored(reference, invocation.workspace, config)
        analyses = ",".join(config.analyses)
    request = EvaluationRequest(
        run=reference,
        config=config,
        gates=gates,
        must_have=tuple(name for name in named or () if name not in REQUIRED),
        command=_command(reference, preset, settings, analyses, gates, invocation.plugins),
        out=out,
    )
    count = jobs or usual_count(workers)
    try:
        with (
            progress_bar("evaluate") as progress,
            chosen_by("--out", out),
            workers_by(workers),
        ):
            found = evaluate_run(request, invocation.workspace, jobs=count, progress=progress)
    except KeyboardInterrupt:
        print_note("Interrupted; finished analyses are kept, and the same command resumes")
        raise typer.Exit(_INTERRUPTED) from None
    _show(found, as_json=as_json)
    if not as_json:
        invocation.print_hint(f"Gates, one by one: tradingbot gates {found.dossier.header.run}")


def _refuse_early(invocation: Invocation, run: str, gates: str, analyses: tuple[str, ...]) -> None:
    """Refuse a run, analysis or file of gates that is not there or cannot be read."""
    from tradingbot.evaluation.gates.gates_file import load_gates
    from tradingbot.evaluation.pipeline.analysis_names import require_analyses

    look_up_run(invocation, run)
    require_analyses(analyses, where="--analyses")
    load_gates(gates)


def _command(
    reference: str,
    preset: str,
    settings: list[str] | None,
    analyses: str | None,
    gates: str,
    plugins: tuple[str, ...],
) -> str:
    own = [word for plugin in plugins for word in ("--plugin", plugin)]
    words = ["tradingbot", *own, "evaluate", reference, "--preset", preset]
    words += [word for setting in settings or () for word in ("--set", setting)]
    if analyses is not None:
        words += ["--analyses", analyses]
    return shlex.join(words + ([] if gates == _OWN_GATES else ["--gates", gates]))


def _show(found: Evaluation, *, as_json: bool) -> None:
    from tradingbot.evaluation.gates.idleness import no_agent_trades

    if as_json:
        from tradingbot.evaluation.dossier.codec import to_plain

        plain = {"memo": to_plain(found.memo), "dossier": to_plain(found.dossier)}
        places = {"folder": str(found.folder), "page": str(found.page)}
        verdict = {"verdict": found.memo.verdict, "headline": found.memo.headline}
        print_json({**verdict, **places, **plain})
        return
    memo, dossier = found.memo, found.dossier
    print_text(f"{memo.verdict}: {memo.headline}")
    for reason in memo.reasons:
        print_text(f"  - {reason}")
    if no_agent_trades(dossier):
        print_text(
            "No agent trades: figures of the agents are those of cash, and say nothing of them."
        )
    _print_policies(dossier)
    _print_summary(dossier)
    for caveat in dossier.header.caveats:
        print_text(caveat)
    if dossier.workers_lost:
        print_text(
            f"Workers lost and replaced while evaluating: {dossier.workers_lost}; their analyses "
            "were made again."
        )
    for analysis, reason in dossier.left_out:
        print_note(f"Left out: {analysis}: {reason}")
    print_text(f"Report: {found.page}")


def _windows(found: WalkForward) -> str:
    traded, out = len(found.traded), len(found.windows) - len(found.traded)
    more = f"; stayed out of {out} more" if out else ""
    return f"{found.share_positive.estimate:.0%} of {traded} traded{more}"


def _print_policies(dossier: Dossier) -> None:
    test = dossier.test
    word = "synthetic" if dossier.header.synthetic else "observed bars, simulated trading"
    title = f"{test.part}: {test.period} ({word}, net of {dossier.header.costs})"
    note = ALPHA_NOTE.format(factor=test.factor) if test.factor else ""
    print_performance(title, test.policies, 7, note)


def _print_summary(dossier: Dossier) -> None:
    """Write one line for each question that was asked."""
    statistics, leak = dossier.statistics, dossier.leak_check
    spa_p = statistics.spa_p_consistent
    rows = [
        ("deflated Sharpe ratio", f"{statistics.deflated_sharpe:.2f}", "≥ 0.95"),
        ("trials counted on these data", f"{statistics.n_trials:,}", ""),
        ("SPA p-value, best baseline", f"{spa_p:.3f}" if spa_p >= 0.001 else "< 0.001", "< 0.05"),
        ("leak check", "; ".join(leak.words) or leak.gap or "clean", "clean"),
    ]
    if statistics.overfitting_probability is not None:
        share = statistics.overfitting_probability
        rows.append(("probability of overfitting", f"{share:.0%}", "≤ 20 %"))
    if dossier.walk_forward is not None:
        rows.append(("walk-forward windows with alpha", _windows(dossier.walk_forward), "≥ 70 %"))
    if dossier.sensitivity is not None:
        rows.append(("break-even cost of alpha, bp", *_break_even(dossier.sensitivity)))
    if dossier.regimes is not None:
        count = len(dossier.regimes.rows)
        rows.append(("regimes with alpha", f"{dossier.regimes.profitable} of {count}", "≥ 3"))
    if dossier.stress is not None and dossier.stress.rows:
        worst = dossier.stress.worst_drawdown_frac
        rows.append(("worst drawdown under stress", f"{worst:.1%}", "≤ 40 %"))
    if dossier.seeds is not None:
        iqm = dossier.seeds.alpha_bps_iqm or dossier.seeds.net_bps_iqm
        rows.append(("alpha over seeds, bp/bar (IQM)", write_interval(iqm), "> 0"))
    print_table("What the dossier says", ["question", "answer", "wanted"], rows)


def _break_even(found: Sensitivity) -> tuple[str, str]:
    """Say the cost of each fill at which nothing is left, and what is wanted."""
    from tradingbot.evaluation.gates.cost_reserve import reserve_basis_bps

    cost, wanted = found.break_even_cost_bps[0], f"≥ {2.0 * reserve_basis_bps(found):.1f}"
    if cost is None:
        return "none at any cost", wanted
    return (f"> {max(found.cost_bps):g}" if math.isinf(cost) else f"{cost:.2f}"), wanted
