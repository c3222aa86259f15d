"""`tradingbot demo`: the product's main job, end to end."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from tradingbot.app.cli.invocation import JsonOption, invocation_of
from tradingbot.app.cli.options import choose_workspace
from tradingbot.app.console import (
    Progress,
    print_json,
    print_note,
    print_table,
    progress_bar,
)

if TYPE_CHECKING:
    from tradingbot.app.demo import DemoResult

app = typer.Typer()


@app.command("demo")
def show_demo(
    context: typer.Context,
    config: Annotated[str, typer.Option(help="Preset or YAML file.")] = "demo",
    as_json: JsonOption = False,
) -> None:
    """Generate a market, check it, build features, prove them causal, trade on it, train agents.

    Writes a page with pictures.

    Needs the extra: plot. Takes about two minutes on two cores.

    Example: [bold]tradingbot demo[/bold]

    Example: [bold]tradingbot demo --config quick[/bold]
    """
    from tradingbot.app.config_files import load_config
    from tradingbot.app.demo import run_demo
    from tradingbot.app.demo_page import render_demo
    from tradingbot.app.training.demo import DEMO_PRESET, SMALL_PRESET
    from tradingbot.data.atomic import write_text

    settings = load_config(config).config
    workspace = choose_workspace(invocation_of(context), settings)
    with ExitStack() as bars:

        def announce(step: str) -> Progress:
            bars.close()
            print_note(f"• {step} …")
            return bars.enter_context(progress_bar(step))

        training = DEMO_PRESET if config == "demo" else SMALL_PRESET
        result = run_demo(settings, workspace, announce, training=training)
        announce("draw the page")
        page = workspace / "reports" / f"demo-{result.dataset.id}.html"
        write_text(page, render_demo(result))
    if as_json:
        print_json(_as_record(result, str(page)))
    else:
        _print_summary(result, str(page))
    raise typer.Exit(0 if result.certificate and result.quality.ready else 1)


def _print_summary(result: DemoResult, page: str) -> None:
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
    if result.rollout is not None:
        returns = [
            f"{each.policy.replace('_', ' ')} {each.total_return_frac:+.1%}"
            for each in result.rollout.statistics
        ]
        rows.append(("rollout", f"{', '.join(returns)} net of costs"))
    rows.append(("train", _training_words(result)))
    print_table(
        "Demo (synthetic market)",
        ["step", "result", "seconds"],
        [(step, what, round(result.seconds[step], 1)) for step, what in rows],
    )
    print_note(f"Page with pictures: {page}")


def _training_words(result: DemoResult) -> str:
    test = result.training.result.parts[-1]
    share = test.share_of_oracle
    earned = "oracle unknown" if share is None else f"{share:.0%} of the oracle"
    return f"{len(test.agents)} agents: {earned} on the test part; {test.gate.words}"


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
        "rollout": result.rollout.statistics if result.rollout else None,
        "training": result.training.result,
        "page": page,
    }
