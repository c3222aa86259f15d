"""How often the verdict is GO where there is nothing, and where there is an edge: whole pipelines.

Every market is another seed: generated, learned from by a small population, evaluated and judged
like any run. A market whose required analyses already say NO-GO is not evaluated further: gates of
the phase `edge` ask for nothing else, and no other analysis can change that verdict. Both
evaluations have the same settings, so the second reuses the analyses of the first.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tradingbot.app.console import Progress
from tradingbot.configuration.files import load_config
from tradingbot.evaluation.pipeline.config import load_evaluate_config
from tradingbot.evaluation.pipeline.session import Evaluation, EvaluationRequest, evaluate_run
from tradingbot.evaluation.statistics.interval import wilson_interval
from tradingbot.executors.executor import Work, WorkItem, run_items
from tradingbot.executors.workers import start_workers
from tradingbot.training.config_files import load_train_config
from tradingbot.training.session import begin_run
from tradingbot_benchmarks.record import BenchRecord
from tradingbot_benchmarks.simulator.bench import absent

NOISE, PLANTED, DEMO = "noise", "planted", "demo"
FIRST_SEED = 2000
"""Of market and training; no seed that anything was tuned on: 1000 to 1039 were, for the budget."""
GOALS = {NOISE: 0.02, PLANTED: 0.95, DEMO: 0.95}
"""Share of GO: at most on noise, at least where a signal is planted (κ = 0.10)."""
_RECORDS = {NOISE: "false_go", PLANTED: "true_go", DEMO: "demo_go"}
_EXTENT = {
    NOISE: "noise markets (synthetic, 10 symbols, 8 years)",
    PLANTED: "planted markets (synthetic, 10 symbols, 8 years)",
    DEMO: "training seeds on the demo's market (synthetic, `prototype10`, then `quick`)",
}
_ALONE: dict[str, object] = {"tracking.mlflow": "off", "tracking.tensorboard": "off", "threads": 1}
_TRAINING: dict[str, object] = {
    "market.start": "2017-10-02",
    "splits.train": "2021-12-31",
    "splits.validation": "2023-06-30",
    "encoder.preset": "row",
    "budget.steps_per_agent": 40_960,
    "validation.every_updates": 10,
    **_ALONE,
}
"""Ten symbols and eight years: of what a year tells ten agents, too much is luck."""
_ANALYSES = ("walk_forward", "sensitivity", "placebos")
"""What the gates that GO requires ask for, besides the required analyses."""
_EVALUATION: dict[str, object] = {
    "walk_forward.retrain_every": 12,
    "walk_forward.steps_share_frac": 1.0,
}


@dataclass(frozen=True)
class GoResult:
    """The verdict on one market."""

    market: str
    seed: int
    verdict: str
    net_bps_per_bar: float
    deflated_sharpe: float
    missed: tuple[str, ...]
    """Required gates that did not pass."""


def settings(params: Mapping[str, float] | None = None) -> dict[str, object]:
    """Return everything that results follow from, besides market and seed; plain values."""
    training = {**_TRAINING, "market.params": dict(params or {})}
    return {"training": training, "evaluation": _EVALUATION, "pieces": list(_ANALYSES)}


def judge_market(market: str, seed: int, params: Mapping[str, float] | None = None) -> GoResult:
    """Generate, train, evaluate and judge one market in a workspace that is thrown away.

    Of `DEMO` the seed is that of training alone, and presets stand as they are.

    Args:
        market: Its name.
        seed: Of market and training.
        params: Of the market; noise has no strength.
    """
    left_out = {"kappa"} if market == NOISE else set()
    chosen = {key: value for key, value in (params or {}).items() if key not in left_out}
    own: dict[str, object] = {"market.name": market, "market.seed": seed, "market.params": chosen}
    if market == DEMO:
        shown = load_config("demo").config.market
        own = {"market.name": shown.name, "market.params": dict(shown.params)}
    options = {**(_ALONE if market == DEMO else _TRAINING), **own, "seed": seed}
    config = load_train_config("prototype10", options)
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder)
        run = begin_run(config, workspace).run.id
        if market == DEMO:
            request = EvaluationRequest(run=run, config=load_evaluate_config("quick", {}))
            found = evaluate_run(request, workspace)
        else:
            found = _evaluate(run, workspace, ())
            if found.memo.verdict != "NO-GO":
                found = _evaluate(run, workspace, _ANALYSES)
    gates = [each for each in found.memo.gates if each.is_required and each.outcome != "pass"]
    return GoResult(
        market=market,
        seed=seed,
        verdict=found.memo.verdict,
        net_bps_per_bar=found.dossier.test.policies[0].net_bps_per_bar.estimate,
        deflated_sharpe=found.dossier.statistics.deflated_sharpe,
        missed=tuple(f"{each.gate}: {each.outcome}" for each in gates),
    )


def judge_markets(
    wanted: Sequence[tuple[str, int]],
    *,
    jobs: int,
    progress: Progress,
    params: Mapping[str, float] | None = None,
) -> Iterator[GoResult]:
    """Judge many markets, several at a time; yields each as it is done.

    Args:
        wanted: Market and seed.
        jobs: Processes.
        progress: Told (markets done, in all, label).
        params: Of all markets.
    """
    items = [WorkItem(f"market {market} {seed}", (market, seed)) for market, seed in wanted]
    progress(0, len(wanted), "markets")
    with start_workers(partial(_open_judge, dict(params or {})), jobs) as executor:
        for done, outcome in enumerate(run_items(executor, items), start=1):
            yield outcome.result()
            progress(done, len(wanted), "markets")


def measure_rates(counts: Mapping[str, int], *, jobs: int, progress: Progress) -> list[BenchRecord]:
    """Measure the share of GO on so many markets of each kind; none gives a record that says so."""
    wanted = [
        (market, FIRST_SEED + index) for market, count in counts.items() for index in range(count)
    ]
    results = list(judge_markets(wanted, jobs=jobs, progress=progress)) if wanted else []
    return [
        rate_record(market, results)
        if count
        else absent(_RECORDS[market], "share", f"no {market} market was asked for")
        for market, count in counts.items()
    ]


def rate_record(market: str, results: Sequence[GoResult]) -> BenchRecord:
    """Return the share of GO on one kind of market, with its interval in the note."""
    mine = [each for each in results if each.market == market]
    go = sum(each.verdict == "GO" for each in mine)
    share = wilson_interval(go, len(mine))
    note = (
        f"{go} of {len(mine)} {_EXTENT[market]}, 95 % [{share.low:.3f}, {share.high:.3f}], Wilson"
    )
    what = "goal, at most" if market == NOISE else "goal, at least"
    return BenchRecord(_RECORDS[market], share.estimate, "share", GOALS[market], what, note=note)


def _open_judge(params: dict[str, float]) -> Work:
    """Return what judges a market in a worker, which has one torch thread."""
    import torch

    torch.set_num_threads(1)
    return lambda wanted, _: _judge(params, wanted)


def _judge(params: dict[str, float], wanted: tuple[str, int]) -> GoResult:
    from tradingbot.domain.errors import TrainingError

    try:
        return judge_market(*wanted, params)
    except TrainingError:  # halted by a guard: there is nothing that could trade
        return GoResult(*wanted, "NO-GO", 0.0, 0.0, ("training: halted",))


def _evaluate(run: str, workspace: Path, analyses: tuple[str, ...]) -> Evaluation:
    config = load_evaluate_config("quick", {**_EVALUATION, "analyses": list(analyses)})
    return evaluate_run(EvaluationRequest(run=run, config=config), workspace)
