"""Where a campaign begins, or goes on from; what it cannot go on with is refused untouched."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from tradingbot.campaign.data_phase import BARS_DIGITS, require_bars_of_before
from tradingbot.campaign.phases import PHASES
from tradingbot.campaign.request import CampaignRequest
from tradingbot.campaign.status import STATUS_FILE, CampaignStatus, PhaseRecord, read_status
from tradingbot.campaign.stored_bars import require_bars_asked_for
from tradingbot.data.atomic import write_text
from tradingbot.data.store import BarStore
from tradingbot.domain.errors import ConfigError
from tradingbot.runs import RunDirectory
from tradingbot.runs.compatibility import few_differences
from tradingbot.training.session import RUNS_FOLDER
from tradingbot.tuning.request import TUNING_FOLDER

ASKED_FILE = "asked.json"
"""What a campaign was asked for: it decides nothing, and says what differs."""
_TRAINED = ("prototype", "full", "master")


def begin_campaign(
    request: CampaignRequest, workspace: Path, until: str
) -> tuple[CampaignStatus, str]:
    """Return the status that a campaign begins with, and the label of data it learned from before.

    Phases after the last one that is to be walked stay as they are, and with them the verdict. One
    that has learned nothing yet, as where its bars were refused, begins anew with other options.

    Raises:
        ConfigError: If a campaign of this name learned something else, or from other bars than
            those that have their name now, or those do not come from what is asked for.
    """
    phases = tuple(PhaseRecord(name) for name in PHASES)
    begun = CampaignStatus(request.name, "", request.identity, "running", phases)
    begun, folder = replace(begun, terms=request.terms), request.folder(workspace)
    before = read_status(folder) if (folder / STATUS_FILE).is_file() else None
    if before is not None and before.identity != request.identity:
        if _has_learned(request, workspace):
            raise ConfigError(
                "a campaign must go on with the data and settings that it began with",
                was=few_differences(_asked_before(folder), request.asked),
                where=str(folder),
                remedy="Choose another --name, or give the options of before, and files of presets "
                "as they were",
            )
        before = None
    begun_with = _require_bars("" if before is None else before.label, request, workspace)
    require_bars_asked_for(request, workspace)
    if before is None:
        return begun, begun_with
    return _go_on(replace(begun, label=begun_with), before, until), begun_with


def write_asked(request: CampaignRequest, folder: Path) -> None:
    """Write down what was asked for.

    Raises:
        StorageError: If the disk refuses.
    """
    write_text(folder / ASKED_FILE, json.dumps(request.asked, indent=1, ensure_ascii=False) + "\n")


def _asked_before(folder: Path) -> Mapping[str, Any] | None:
    """Return what was asked for before; None where that was not written, or cannot be read."""
    with suppress(OSError, ValueError):
        found = json.loads((folder / ASKED_FILE).read_bytes())
        return found if isinstance(found, dict) else None
    return None


def _go_on(begun: CampaignStatus, before: CampaignStatus, until: str) -> CampaignStatus:
    """Keep what was found in phases that are not walked now."""
    names = list(PHASES)
    for phase in before.phases:
        is_done = phase.state not in ("waiting", "running")
        if phase.name in names[names.index(until) + 1 :] and is_done:
            begun = begun.with_phase(phase)
    if any(begun.phase(name).state != "waiting" for name in ("full", "final")):
        begun = replace(begun, verdict=before.verdict, headline=before.headline)
    return begun


def _require_bars(label: str, request: CampaignRequest, workspace: Path) -> str:
    """Return the label of what was learned from; refuse bars that are stored now and differ."""
    found = [_bars_of(workspace / RUNS_FOLDER / request.run_name(each)) for each in _TRAINED]
    known = [each for each in found if each]
    begun_with = f"{request.dataset} {known[0]}" if known else ""
    if label and _has_learned(request, workspace):
        begun_with = label
    store = BarStore(workspace)
    if request.dataset in store.names():
        require_bars_of_before(store.open(request.dataset), request, begun_with)
    return begun_with


def _bars_of(folder: Path) -> str:
    """Return the beginning of the hash of the bars that a run learned from; empty: no such run."""
    if not folder.is_dir():
        return ""
    return (RunDirectory.open(folder).record.data.dataset_sha256 or "")[:BARS_DIGITS]


def _has_learned(request: CampaignRequest, workspace: Path) -> bool:
    """Tell whether one of this name began a run or a study: phases find those by name."""
    runs = [workspace / RUNS_FOLDER / request.run_name(each) for each in _TRAINED]
    return any(
        each.is_dir() for each in (*runs, workspace / TUNING_FOLDER / request.run_name("tuning"))
    )
