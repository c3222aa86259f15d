"""Whether a study may go on: with the settings, the data and the code that it began with.

Trials of two datasets in one study would be one answer about neither. What a configuration names
can change under its name, so data are compared by their hashes, as runs compare them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from tradingbot.domain.errors import ConfigError
from tradingbot.runs.compatibility import few_differences
from tradingbot.runs.environment import source_sha256
from tradingbot.runs.ledger import Ledger
from tradingbot.training.data import TrainingData
from tradingbot.training.trial_ledger import data_key
from tradingbot.tuning.request import TuneRequest, study_key
from tradingbot.tuning.study_database import KnownStudy
from tradingbot.tuning.trial_record import ended_hash

_DIGITS = 12


def facts_of(data: TrainingData) -> dict[str, str]:
    """Return what results follow from beside the request, each as a hash."""
    own = data.identity
    features = hashlib.sha256("\n".join((*own.feature_ids, *own.agents)).encode()).hexdigest()
    return {
        "data": own.data_sha256,
        "bars": own.dataset_sha256 or "",
        "scaler": own.normaliser_sha256 or "",
        "features": features,
        "code": source_sha256(),
    }


def require_same_study(
    known: KnownStudy,
    request: TuneRequest,
    data: TrainingData,
    workspace: Path,
    *,
    code_counts: bool = True,
) -> None:
    """Refuse to go on with a study that began as something else; one without trials began nothing.

    Args:
        known: What it wrote down.
        request: What is asked for now.
        data: That trials learn from now.
        workspace: Where the ledger is.
        code_counts: Not where nothing is left to be made.

    Raises:
        ConfigError: Naming what differs.
    """
    if not known.ended:
        return
    if known.identity is not None and known.identity != request.identity:
        raise ConfigError(
            "a study must go on with the configuration, space and settings it began with",
            was=few_differences(known.asked, request.asked),
            where=request.name,
            remedy="Choose another name, or give the command of before; only --top may change, "
            "and --trials may grow",
        )
    if known.facts is not None:
        now = facts_of(data)
        if not code_counts:
            now.pop("code")
        _require_facts(known.facts, now, request.name)
    else:
        _require_counted(known, request, data_key(data.identity), workspace)
    if request.settings.trials < known.trials:
        raise ConfigError(
            "a study must go on with no fewer trials than it has: each of them was a choice",
            was=f"--trials {request.settings.trials}",
            where=request.name,
            remedy=f"Give --trials {known.trials} or more, or choose another name",
        )


def _require_facts(before: Mapping[str, str], now: Mapping[str, str], name: str) -> None:
    other = [key for key in now if before.get(key) != now[key]]
    if other:
        was, found = (str(facts.get(other[0], ""))[:_DIGITS] for facts in (before, now))
        raise ConfigError(
            "a study must go on with the data and code it began with",
            was=f"{other[0]}: {was or 'none'} → {found or 'none'}",
            where=name,
            remedy="Choose another name, or bring back the data and the version of before",
        )


def _require_counted(known: KnownStudy, request: TuneRequest, data: str, workspace: Path) -> None:
    """Refuse trials of a version that noted no data, unless the ledger has them on these bars."""
    entries = Ledger(workspace).entries(run=study_key(request.name), data=data)
    here = {each.config_hash for each in entries if each.kind == "tuning"}
    if not all(ended_hash(*each) in here for each in known.ended):
        raise ConfigError(
            "a study must go on with the data it began with; it is not known which data they were",
            was="trials that the ledger of this workspace does not count on these bars",
            where=request.name,
            remedy="Choose another name",
        )
