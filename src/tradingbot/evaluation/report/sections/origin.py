"""Origin of the figures, caveats, and how to reproduce them."""

from __future__ import annotations

from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.dossier.training_facts import TrainingFacts
from tradingbot.evaluation.report.blocks import Block, Code, Points, Section
from tradingbot.evaluation.report.numbers import count, percent
from tradingbot.evaluation.report.table import table_of


def caveats_section(dossier: Dossier) -> Section:
    """Say what every figure is to be read with."""
    header, blocks = dossier.header, list[Block]()
    if header.caveats:
        blocks.append(Points("To be read with every figure", header.caveats))
    kind = (
        "The data are synthetic: a market that was made up, with a known answer. It says whether "
        "the method works, not whether any real market can be beaten."
        if header.synthetic
        else "The data are of a real market. Symbols that exist today were chosen with today's "
        "knowledge unless a caveat below says otherwise."
    )
    return Section("caveats", "Data and caveats", kind, blocks)


def origin_section(dossier: Dossier) -> Section:
    """Give the command and the hashes."""
    header = dossier.header
    facts = (
        ("Run", header.run),
        ("Data and period", header.label),
        ("Learner and encoder", f"{header.learner}, {header.encoder}"),
        ("Agents", count(header.agents)),
        ("Steps per agent", count(header.steps_per_agent)),
        ("Seed", str(header.seed)),
        ("Costs", header.costs),
        ("What validation decided", header.decision),
        ("Evaluated at", header.evaluated_at),
        ("Version", header.version),
        ("Data, SHA-256", header.data_sha256),
        ("Configuration, hash", header.config_hash),
        ("Weights, SHA-256", header.weights_sha256),
        *_training_facts(dossier.training),
    )
    heads = ("What", "Value")
    table = table_of(heads, facts, "What this page was made of.", words=heads)
    finding = "The same data, weights and command give the same page."
    blocks = (Code("Reproduce:", header.command), table)
    return Section("origin", "Reproduce", finding, blocks)


def _training_facts(facts: TrainingFacts | None) -> tuple[tuple[str, str], ...]:
    """Say what the run's records tell of data and training; what is unknown is left out."""
    if facts is None:
        return ()
    absent = ", ".join(facts.symbols_without_bars)
    bars = f"{facts.universe}, {count(facts.universe_symbols)} symbols; without bars: "
    known = bars + (absent or "none") if facts.universe_symbols else facts.universe or "not named"
    differ = facts.equal_runs_that_differ
    said = [
        ("Universe", known),
        ("Updates, and of these not finite", _of(facts.updates, facts.updates_not_finite)),
        ("Equal runs, and of these that differ", _of(facts.equal_runs, differ)),
    ]
    if facts.is_scaler_of_train is not None:
        said.append(("Scaler fitted on train only", "yes" if facts.is_scaler_of_train else "no"))
    if facts.over_budget is not None:
        said.append(("Budgets of parameters", "; ".join(facts.over_budget) or "all kept"))
    if facts.curriculum_stages_passed is not None:
        passed = count(facts.curriculum_stages_passed)
        said.append(("Stages of the curriculum that every agent passed", passed))
    for each in facts.auxiliary_tasks:
        words = f"{percent(each.accuracy_frac)}, base rate {percent(each.base_frac)}"
        said.append((f"Accuracy of {each.task.replace('_', ' ')}, held out", words))
    if facts.auxiliary_accuracy_frac is not None and not facts.auxiliary_tasks:
        accuracy = percent(facts.auxiliary_accuracy_frac)
        said.append(("Accuracy of auxiliary tasks, held out", accuracy))
    return tuple(said)


def _of(whole: int, part: int) -> str:
    return f"{count(whole)}, {count(part)}"
