"""The page of a campaign: every phase, what its gates asked for and what was found."""

from __future__ import annotations

from pathlib import Path

from tradingbot import __version__
from tradingbot.campaign.request import CampaignRequest
from tradingbot.campaign.status import CampaignStatus, PhaseRecord
from tradingbot.data.atomic import write_text
from tradingbot.evaluation.report.blocks import Block, Section, Words
from tradingbot.evaluation.report.page import Page, render_page
from tradingbot.evaluation.report.table import Tone, table_of

PAGE_FILE = "campaign.html"
COLUMNS = ("gate", "asked", "found", "outcome")
_TONES: dict[str, Tone] = {"passed": "good", "failed": "bad"}


def write_report(folder: Path, status: CampaignStatus, request: CampaignRequest) -> Path:
    """Write the page, and return its path.

    Raises:
        MissingExtraError: If what draws pages is not installed.
        StorageError: If the disk refuses.
    """
    path = folder / PAGE_FILE
    write_text(path, render_campaign(status, request))
    return path


def render_campaign(status: CampaignStatus, request: CampaignRequest) -> str:
    """Render the page of a campaign."""
    synthetic = "synthetic" in status.label
    headline = status.headline or f"The campaign {status.state}"
    return render_page(
        Page(
            title=f"Campaign {status.name}",
            top="Verdict",
            word=status.verdict,
            kicker=("Campaign", status.name, f" · {status.state}"),
            headline=headline,
            is_synthetic=synthetic,
            scope=f"{status.label}. {request.terms}. Gates of evaluations: test part, net of "
            "those costs.",
            sections=[_section(phase) for phase in status.phases],
            footer=f"tradingbot {__version__}",
        )
    )


def gate_rows(phase: PhaseRecord) -> list[list[str | float]]:
    """Lay the gates of a phase out under `COLUMNS`."""
    return [
        [f"{gate.gate}: {gate.words}", gate.wanted, gate.found or gate.reason, gate.outcome]
        for gate in phase.gates
    ]


def _section(phase: PhaseRecord) -> Section:
    blocks: list[Block] = []
    if phase.run:
        place = f"Run {phase.run}; its page: runs/{phase.run}/evaluation/report.html"
        blocks.append(Words([place]))
    if phase.gates:
        note = "As the gates ask; intervals are 95 %."
        blocks.append(table_of(COLUMNS, gate_rows(phase), note, words=COLUMNS))
    return Section(
        id=phase.name,
        title=phase.name.capitalize(),
        finding=phase.words or "Not begun.",
        blocks=blocks,
        is_left_out=phase.state in ("left out", "waiting"),
        badge=phase.state,
        tone=_TONES.get(phase.state, "soft"),
    )
