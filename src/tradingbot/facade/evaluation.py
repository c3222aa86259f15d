"""`tb.evaluate`: the dossier of a run, its memo and the page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tradingbot.evaluation.pipeline.config import load_evaluate_config
from tradingbot.evaluation.pipeline.session import Evaluation, EvaluationRequest, evaluate_run
from tradingbot.facade.policy import locate_run
from tradingbot.facade.training import Run


def evaluate(
    run: Run | str | Path,
    *,
    preset: str = "quick",
    gates: str = "product",
    jobs: int = 1,
    workspace: str | Path | None = None,
    settings: Mapping[str, object] | None = None,
) -> Evaluation:
    """Evaluate a finished run: GO, CONDITIONAL or NO-GO, with what speaks for and against.

    What is there of an earlier evaluation is not made again; the ledger of trials counts it.

    Args:
        run: What `tb.train` returned; or the id of a run, the beginning of it, or its folder.
        preset: full, quick, or required for a first look; or a YAML file.
        gates: Gates that come with the package, or a file.
        jobs: Processes; more than 1 needs the caller's module to be importable.
        workspace: Where the run is; told from the folder by default.
        settings: Dotted key of the evaluation → value, e.g. {"seeds.count": 3}.

    Returns:
        Dossier, memo, the folder of tables, and the page.

    Raises:
        UserError: If the run cannot be evaluated.
    """
    found, folder = locate_run(run, workspace)
    request = EvaluationRequest(
        run=str(found.path),
        config=load_evaluate_config(preset, dict(settings or {})),
        gates=gates,
        command=f"tradingbot evaluate {found.id} --preset {preset}",
    )
    return evaluate_run(request, folder, jobs=jobs)
