"""`tradingbot demo`: the product's main job, end to end."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from tradingbot.app import console
from tradingbot.app.cli.invocation import JsonOption, invocation_of
from tradingbot.app.cli.options import choose_workspace, require_market
from tradingbot.domain.errors import MissingExtraError

if TYPE_CHECKING:
    from tradingbot.app.demo.story import DemoResult
    from tradingbot.app.demo.training import TrainingDemo
    from tradingbot.configuration.pipeline import PipelineConfig
    from tradingbot.evaluation.pipeline.session import Evaluation

app = typer.Typer()


@app.command("demo")
def show_demo(
    context: typer.Context,
    config: Annotated[str, Option("--preset", "--config", help="Preset or YAML file.")] = "demo",
    market: Annotated[
        str | None,
        Option(
            help="Another synthetic market; noise: the same one without its signal. "
            "See: tradingbot market list."
        ),
    ] = None,
    trade: Annotated[
        bool, Option("--trade/--no-trade", help="Let the agents trade the last week on paper.")
    ] = True,
    as_json: JsonOption = False,
) -> None:
    """The whole story: generate a market, prove features causal, train agents, judge them.

    Ends in a verdict: GO where there is an edge, NO-GO where there is none. Then the agents trade
    the last week on the built-in paper broker, beside the backtest of the same bars. Writes the
    report of the evaluation, and a page about market, features, training and trading.

    Needs the extras: plot; serve and trade for the week on paper. Takes a few minutes on two cores.

    Example: [bold]tradingbot demo[/bold]

    Example: [bold]tradingbot demo --market noise[/bold]

    Example: [bold]tradingbot demo --preset quick[/bold]
    """
    from tradingbot.configuration.files import load_config
    from tradingbot.data.atomic import require_writable, write_text

    settings = load_config(config).config
    if market is not None:
        settings = with_market(settings, market)
    workspace = choose_workspace(invocation_of(context), settings)
    section = settings.market
    require_market(section.name, section.universe, section.params)
    require_writable(workspace)
    lacking = missing_extra() if trade else None
    if lacking is not None:
        console.print_note(f"The week on paper is left out: {lacking}")
    # Torch takes seconds to import: what can be refused without it is refused by now.
    from tradingbot.app.demo.page import render_demo
    from tradingbot.app.demo.story import EVALUATION_PRESET, SMALL_EVALUATION_PRESET, run_demo
    from tradingbot.app.demo.training import DEMO_PRESET, SMALL_PRESET

    with ExitStack() as bars:

        def announce(step: str) -> console.Progress:
            bars.close()
            console.print_note(f"• {step} …")
            return bars.enter_context(console.progress_bar(step))

        presets = (DEMO_PRESET, EVALUATION_PRESET)
        if config != "demo":
            presets = (SMALL_PRESET, SMALL_EVALUATION_PRESET)
        training, evaluation = presets
        result = run_demo(
            settings,
            workspace,
            announce,
            training=training,
            evaluation=evaluation,
            trades=trade and lacking is None,
        )
        announce("draw the page")
        page = workspace / "reports" / f"demo-{result.dataset.id}.html"
        write_text(page, render_demo(result))
    if as_json:
        console.print_json(_as_record(result, str(page)))
    else:
        _print_summary(result, str(page), workspace)
    raise typer.Exit(0 if result.certificate and result.quality.ready else 1)


def missing_extra() -> MissingExtraError | None:
    """Say which extra the week on paper lacks; None where all are installed."""
    try:
        from tradingbot.runtime import journal  # noqa: F401 - it says which extra is missing
        from tradingbot.serving import onnx_runtime  # noqa: F401
    except MissingExtraError as e:
        return e
    return None


def with_market(settings: PipelineConfig, name: str) -> PipelineConfig:
    """Take another market, with its own parameters; everything else stays.

    Noise is the market that would be shown, without its signal, where it has one.
    """
    from tradingbot.data.synthetic.registry import market

    own = settings.market
    changed: dict[str, object] = {"name": market(name).name, "params": {}}
    if name == "noise" and "kappa" in market(own.name).defaults.model_fields:
        changed = {"params": {**own.params, "kappa": 0.0}}
    return settings.model_copy(update={"market": own.model_copy(update=changed)})


def _print_summary(result: DemoResult, page: str, workspace: Path) -> None:
    manifest, proof = result.dataset.manifest, result.proof
    planted = result.oracles[0]
    net = planted.simulated.net_bps_per_bar
    shape = " × ".join(map(str, result.built.panel.manifest.shapes["features"]))
    rows = [
        ("generate", f"{manifest.rows:,} synthetic bars of {len(manifest.symbols)} symbols, "
         f"{manifest.first_closed_at:%Y-%m-%d} … {manifest.last_closed_at:%Y-%m-%d}"),
        ("validate", f"{'ready' if result.quality.ready else 'NOT READY'}; "
         f"{result.quality.quarantined_rows} rows in quarantine"),
        ("features", f"{shape} tensor (N × T × F) and "
         f"{len(result.built.panel.manifest.regimes)} regime indicators"),
        ("prove causal", f"{sum(v.is_causal for v in proof.verdicts)} of {len(proof.verdicts)} "
         f"outputs proved; {proof.comparisons:,} past values compared bit for bit"),
        ("stylised facts", f"kurtosis {result.facts.excess_kurtosis.median:.1f}, volatility "
         f"{result.facts.annual_volatility.median:.0%} a year (medians)"),
        ("known answers", f"planted κ=0.10: {planted.expected_net_bps:.2f} bp/bar expected, "
         f"{net.estimate:.2f} [{net.low:.2f}, {net.high:.2f}] simulated"),
    ]  # fmt: skip
    if result.training is not None and result.evaluation is not None:
        rows.append(("train", _training_words(result.training)))
        rows.append(("evaluate", _evaluation_words(result.evaluation)))
    if result.trading is not None:
        rows.append(("trade", result.trading.words))
    console.print_table(
        "Demo (synthetic market)",
        ["step", "result", "seconds"],
        [(step, what, round(result.seconds[step], 1)) for step, what in rows],
    )
    console.print_note(f"Market, features and training, with pictures: {page}")
    if result.evaluation is not None:
        memo = result.evaluation.memo
        console.print_text(f"{memo.verdict}: {memo.headline}")
        console.print_text(f"Report: {result.evaluation.page}")
    if (week := result.trading) is not None:
        place = f"tradingbot --workspace {workspace} paper"
        console.print_note(f"Its week on paper: {place} status {week.session}")
        console.print_note(f"Trade it yourself: {place} start {week.model} --name first")


def _training_words(training: TrainingDemo) -> str:
    from tradingbot.app.demo.training import is_pretrained

    test = training.result.parts[-1]
    share, gate = test.share_of_oracle, training.result.gates[-1]
    earned = "no oracle that earns"
    if share is not None:
        earned = f"{share.estimate:.0%} of the oracle (fat tails, and a minute's budget)"
    encoder_words = " on a pre-trained encoder" if is_pretrained(training.config) else ""
    return f"{len(test.agents)} agents{encoder_words}: {earned} on the test part; {gate.words}"


def _evaluation_words(evaluation: Evaluation) -> str:
    """Say what the dossier found."""
    gates, statistics = evaluation.memo.gates, evaluation.dossier.statistics
    held = sum(each.outcome == "pass" for each in gates if each.is_required)
    required = sum(each.is_required for each in gates)
    return (
        f"{evaluation.memo.verdict}: {held} of {required} required gates hold; deflated Sharpe "
        f"{statistics.deflated_sharpe:.3f} ({statistics.n_trials} trials counted)"
    )


def _as_record(result: DemoResult, page: str) -> dict[str, object]:
    return {
        "synthetic": True,
        "dataset": result.dataset.id,
        "config_hash": result.config.config_hash,
        "ready": result.quality.ready,
        "causal": result.proof.is_causal,
        "certificate_sha256": result.certificate.sha256 if result.certificate else None,
        "seconds": result.seconds,
        "oracles": result.oracles,
        "training": result.training.result if result.training else None,
        "verdict": result.evaluation.memo.verdict if result.evaluation else None,
        "memo": result.evaluation.memo if result.evaluation else None,
        "report": str(result.evaluation.page) if result.evaluation else None,
        "trading": result.trading,
        "page": page,
    }
