"""What somebody pastes into the analyses of a run does not reach its dossier."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from fixtures.tiny_evaluation import tiny_evaluation
from tradingbot.evaluation.pipeline.session import ANALYSES_FOLDER, EvaluationRequest, evaluate_run
from tradingbot.runs.ledger import Ledger
from tradingbot.runs.receipt import RECEIPT_FILE, read_receipts


def test_piece_with_other_figures_under_its_own_key_is_made_again(
    evaluated_workspace: Path, tmp_path: Path
) -> None:
    workspace = Path(shutil.copytree(evaluated_workspace, tmp_path / "copy"))
    request, ledger = EvaluationRequest("tiny", tiny_evaluation()), Ledger(workspace)
    honest = evaluate_run(request, workspace)
    folder = workspace / "runs" / "tiny" / "evaluation" / ANALYSES_FOLDER
    files = {path: path.read_bytes() for path in folder.glob("*.json")}
    noted = [each for each in ledger.entries() if each.kind == "analysis"]
    assert len(noted) >= len(files) > 3
    performance = folder / "performance.json"
    pasted = json.loads(files[performance])
    row = pasted["record"]["parts"][-1]["policies"][0]
    assert row["total_return_frac"] != 9.0
    row["total_return_frac"] = 9.0
    performance.write_text(json.dumps(pasted) + "\n")
    assert performance.read_bytes() != files[performance]

    again = evaluate_run(request, workspace)

    assert again.dossier.parts == honest.dossier.parts
    assert {path: path.read_bytes() for path in folder.glob("*.json")} == files
    assert [each for each in ledger.entries() if each.kind == "analysis"] == noted


def test_evaluation_and_trials_of_an_ablation_are_witnessed_by_the_run(
    evaluated_workspace: Path, tmp_path: Path
) -> None:
    workspace = Path(shutil.copytree(evaluated_workspace, tmp_path / "copy"))

    evaluate_run(EvaluationRequest("tiny", tiny_evaluation("ablation")), workspace)

    seen = {each.sequence for each in read_receipts(workspace / "runs/tiny" / RECEIPT_FILE)}
    entries = Ledger(workspace).entries()
    kinds = ("training", "tuning", "evaluation", "result")
    assert {each.kind for each in entries} >= {*kinds, "analysis", "dossier"}
    own = {each.sequence for each in entries if each.kind in kinds and each.run == "tiny"}
    assert own <= seen
