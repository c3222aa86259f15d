"""Gates A to E, each on the run that has the part: the tables of docs/results/recovery_gates.md.

python benchmarks/recovery_gates.py --workspace FOLDER [--dataset NAME] [--seeds 1 2 3]
    [--phases A B C D E] [--bench FILE …]

For each seed and phase: trains the preset of the phase with a small budget, evaluates the run, and
at last prints `tradingbot gates --phase A=RUN …` as a table. Runs that the workspace has are not
made again. A run takes one to three minutes of one core. Without --dataset each preset has its own
synthetic market. Uses the commands of the product alone.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

SYMBOLS = "SPY,QQQ,AAPL,MSFT"
COMMON: Mapping[str, str] = {
    "validation.shrink": "false",
    "splits.by": "ratio",
    "splits.train": "0.6",
    "splits.validation": "0.2",
    "splits.test": "0.2",
    "threads": "1",
    "tracking.mlflow": "off",
    "tracking.tensorboard": "off",
}
"""Validation keeps nothing back: what is measured are the agents as they were trained."""
_SMALL_SAC: Mapping[str, str] = {
    "learner.sac.actor.hidden": "[64]",
    "learner.sac.critic.hidden": "[64]",
    "budget.steps_per_agent": "32768",  # 131,072 of all agents: gate A asks for 100,000
}
PHASES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "A": ("recovery_a", _SMALL_SAC),
    "B": ("recovery_b", {}),
    "C": ("recovery_c", _SMALL_SAC),
    "D": ("recovery_d", {"encoder.preset": "row", "learner.es.actor.hidden": "[32]"}),
    "E": ("curriculum", {"encoder.preset": "skip"}),
}
"""Phase → its preset, and what makes it small. E pre-trains an encoder besides."""
ANALYSES = "policy,regimes"
"""Beside the required ones: use of options, shares of rewards, sampled coverage, regimes."""


def main() -> None:
    """Make the runs that are missing, and print the table."""
    options = read_options()
    phases = [
        (phase, make_run(options, phase, seed))
        for phase in options.phases
        for seed in options.seeds
    ]
    asked = [f"--phase={phase}={run}" for phase, run in phases]
    benches = [f"--bench={file}" for file in options.bench]
    told = tradingbot(options.workspace, "gates", *asked, *benches, "--json")
    print(as_markdown(json.loads(told)))


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workspace", type=Path, required=True)
    parser.add_argument("--dataset", help="with a proved panel; a synthetic market without one")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--phases", nargs="+", default=list(PHASES), choices=list(PHASES))
    parser.add_argument(
        "--bench", type=Path, nargs="*", default=[], help="JSON of tradingbot bench"
    )
    return parser.parse_args()


def make_run(options: argparse.Namespace, phase: str, seed: int) -> str:
    """Train and evaluate the run of a phase, unless it is there; return its name."""
    preset, small = PHASES[phase]
    name = f"{preset}_{options.dataset or 'synthetic'}_{seed}"
    folder = options.workspace / "runs" / name
    if not (folder / "result.json").is_file():
        source = {"dataset": options.dataset} if options.dataset else {}
        settings = [f"--set={key}={value}" for key, value in {**COMMON, **small, **source}.items()]
        given = ("--preset", preset, "--symbols", SYMBOLS, "--seed", str(seed), "--name", name)
        tradingbot(options.workspace, "train", *given, *settings)
    if not (folder / "evaluation" / "dossier.json").is_file():
        analyses = ("--preset", "required", "--analyses", ANALYSES, "--jobs", "1")
        tradingbot(options.workspace, "evaluate", name, *analyses)
    return name


def tradingbot(workspace: Path, *words: str) -> str:
    """Run a command of the product and return what it printed; what it says meanwhile is shown."""
    sources = str(Path(__file__).resolve().parents[1] / "src")
    command = [sys.executable, "-m", "tradingbot.app.cli", "--workspace", str(workspace), *words]
    print("$ tradingbot", *words, file=sys.stderr, flush=True)
    surroundings = os.environ | {"PYTHONPATH": sources}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=surroundings)
    if done.returncode:
        sys.exit(f"{done.stdout}\ntradingbot ended with {done.returncode}")
    return done.stdout


def as_markdown(judged: Sequence[Mapping[str, Any]]) -> str:
    """Return one row per gate, with what each seed's run came to."""
    gates: dict[str, list[Mapping[str, Any]]] = {}
    for each in judged:
        gates.setdefault(each["result"]["gate"], []).append(each)
    lines = ["| gate | asked | measured, by seed | outcome |", "|---|---|---|---|"]
    for name, judgements in gates.items():
        results = [each["result"] for each in judgements]
        figures = ", ".join(_figure(each) for each in results)
        outcomes = [each["outcome"] for each in results]
        passed = f"{outcomes.count('pass')} of {len(results)} pass"
        told = outcomes[0] if len(results) == 1 else passed
        asked = f"{results[0]['words']} | {results[0]['target']}"
        lines.append(f"| {name}: {asked} | {figures} | {told} |")
    return "\n".join(lines)


def _figure(result: Mapping[str, Any]) -> str:
    value = result["measured"]
    if value is None:
        return f"not measured: {result['reason']}"
    return f"{value:.3g}".replace("-", "−") + (f" ({result['reason']})" if result["reason"] else "")


if __name__ == "__main__":
    main()
