"""Stored models take part in the proof of the panel that they judge."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tradingbot.features.causality.subject import unregister_subject
from tradingbot.features.panel import Panel
from tradingbot.supervised.causality import register_model
from tradingbot.supervised.model_files import open_model
from tradingbot.supervised.model_store import list_models, models_folder
from tradingbot.supervised.table import table_of_panel


@contextmanager
def registered_models(panel: Panel, workspace: Path) -> Iterator[tuple[str, ...]]:
    """Register the models of a workspace that were fitted on a panel, for as long as it is proved.

    Models of other data cannot be joined to this panel, and one whose manifest cannot be read to
    none at all: neither has anything to be proved here.

    Args:
        panel: Whose features they were fitted on; it needs no certificate yet.
        workspace: Where models are stored.

    Yields:
        Names of the subjects.

    Raises:
        StorageError: If a model of this panel is damaged.
    """
    lines = [line for line in list_models(workspace) if line.manifest is not None]
    sha256 = table_of_panel(panel).sha256 if lines else ""
    subjects: list[str] = []
    try:
        for line in lines:
            if line.manifest is not None and line.manifest.data.data_sha256 == sha256:
                model, _ = open_model(models_folder(workspace), line.name)
                subjects.append(register_model(line.name, model))
        yield tuple(subjects)
    finally:
        for subject in subjects:
            unregister_subject(subject)
