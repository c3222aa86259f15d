"""The proof of every bar in a process of its own: it takes as long as the rest of a proof.

Apart from the phase of data, because the process imports this one and needs no torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tradingbot.data.sources.source import Progress
from tradingbot.data.store import BarStore, Dataset
from tradingbot.domain.feature_set import FeatureSet
from tradingbot.executors.executor import Work, WorkItem
from tradingbot.executors.processes import ProcessExecutor
from tradingbot.features.causality.prover import prove_every_bar
from tradingbot.features.causality.subject import ProofVerdict
from tradingbot.features.panel import panel_specs
from tradingbot.features.pipeline import read_inputs
from tradingbot.plugins.loading import load_from_environment


@contextmanager
def prove_stream_beside(
    dataset: Dataset, workspace: Path, progress: Progress, features: FeatureSet = "default"
) -> Iterator[Callable[[], tuple[ProofVerdict, ...]]]:
    """Begin to prove every bar of a dataset's features; give what waits for the verdicts.

    Args:
        dataset: Of the panel that is proved.
        workspace: Where it is stored.
        progress: Told of the bars while they are waited for.
        features: Which features per bar.
    """
    opening = partial(open_stream_proof, workspace, dataset.id, features)
    with ProcessExecutor(opening, 1) as process:
        process.submit(WorkItem("proof of every bar", None))
        yield lambda: process.wait(progress).result()


def open_stream_proof(workspace: Path, dataset: str, features: FeatureSet) -> Work:
    """Return what proves every bar of a stored dataset; the work of the process."""
    load_from_environment()

    def prove(_: None, progress: Progress) -> tuple[ProofVerdict, ...]:
        inputs = read_inputs(BarStore(workspace).open(dataset))
        specs = panel_specs(inputs.covariates, features)
        return prove_every_bar(inputs, specs, progress=progress)

    return prove
