"""Bars under the name of a campaign's dataset: used where they are those that are asked for.

A name alone says nothing of what was stored. What stored bars say of where they come from is
compared with what the file or the market would be stored with now.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tradingbot.campaign.request import CampaignRequest
from tradingbot.data.manifest import Provenance
from tradingbot.data.sources.files import FileSource
from tradingbot.data.store import BarStore
from tradingbot.domain.errors import ConfigError, DataError, SchemaError
from tradingbot.features.pipeline import synthetic_source

_LONGEST = 40


def require_bars_asked_for(request: CampaignRequest, workspace: Path) -> None:
    """Refuse stored bars that come from elsewhere than the file or market that is asked for.

    Raises:
        ConfigError: Naming the first difference.
        UserError: If the file cannot be read as it is asked for.
    """
    store = BarStore(workspace)
    if request.dataset not in store.names():
        return
    if request.bars is not None:
        with naming_the_import(request):
            asked = FileSource(request.bars).fetch().provenance
        of, remedy = "file", "Run it under another name, or leave out --file to use what is stored"
    elif request.generates:
        asked = synthetic_source(request.config.market).provenance
        of, remedy = "market", f"Choose another --name, or run what is stored: {request.dataset}"
    else:
        return
    difference = _difference(store.open(request.dataset).manifest.provenance, asked)
    if difference:
        raise ConfigError(
            f"bars that are stored must come from the {of} that is asked for",
            was=difference,
            where=f"dataset {request.dataset}",
            remedy=remedy,
        )


@contextmanager
def naming_the_import(request: CampaignRequest) -> Iterator[None]:
    """Say in refusals of a file where the options stand that a campaign does not have."""
    try:
        yield
    except (ConfigError, DataError, SchemaError) as e:
        if request.bars is None:
            raise
        name = request.dataset
        own = "" if not e.remedy else e.remedy if e.remedy.endswith((".", "?")) else f"{e.remedy}."
        raise type(e)(
            e.rule,
            was=e.was,
            where=e.where,
            remedy=f"{own} Options that run does not have are those of: tradingbot data import "
            f"{request.bars.path.name} --name {name}; then run {name} without --file",
        ) from e


def _difference(stored: Provenance, asked: Provenance) -> str:
    """Return the first thing that two records of where bars come from do not say alike."""
    was, now = (
        {**each.model_dump(mode="json", exclude={"detail"}), **each.detail}
        for each in (stored, asked)
    )
    for key in {**now, **was}:
        if was.get(key) != now.get(key):
            return f"{key}: {_shown(was.get(key))} → {_shown(now.get(key))}"
    return ""


def _shown(value: object) -> str:
    return "none" if value is None else str(value)[:_LONGEST]
