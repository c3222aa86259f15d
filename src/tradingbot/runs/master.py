"""The whole chain of a portfolio run as one policy: a master over what trades its sleeves.

    chain = load_chain(Path("workspace/runs/master"))
    chain.master(market, private)      # weights of sleeves and cash
    chain.agents                       # the agents of the sleeves, a `StoredPolicy`; or None
    chain.projection                   # through which the master sees their embeddings; or None

Nothing that learns is imported: simulated and live portfolios act by the same object.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from torch import Tensor

from tradingbot.agents.master_policy import MasterPolicy, build_master
from tradingbot.domain.errors import ConfigError, StorageError
from tradingbot.networks.projection import Projection
from tradingbot.runs.acting import JOINT_AGENTS, PROJECTION, ActingRecord, PortfolioRecord
from tradingbot.runs.directory import RunDirectory
from tradingbot.runs.finding import find_run, require_single_accounts
from tradingbot.runs.policy import StoredPolicy, load_policy
from tradingbot.runs.tensors import final_hash


@dataclass(frozen=True, eq=False)
class StoredChain:
    """A master, what trades its sleeves, and everything they act by."""

    loaded: StoredPolicy
    """The master's checkpoint, with its record of acting."""
    master: MasterPolicy
    record: PortfolioRecord
    agents: StoredPolicy | None
    """Of the sleeves, one per symbol in the record's order; None where a rule trades them."""
    agents_run: RunDirectory | None
    """That of the agents."""
    projection: Projection | None
    """How the master sees embeddings; None: as they are."""

    @property
    def acting(self) -> ActingRecord:
        """What the master's checkpoint says of acting."""
        return self.loaded.acting


def load_chain(run: Path | RunDirectory) -> StoredChain:
    """Build what a portfolio run does from its folder and, beside it, that of its sleeves' agents.

    Args:
        run: It acts from the selected checkpoint; else from the best; else from the final one.

    Raises:
        ConfigError: If it is no portfolio, does not say what its sleeves are, or there is no run
            that traded them.
        StorageError: If a checkpoint is missing or damaged, or agents are now others than those
            that the master was trained over.
    """
    folder = run if isinstance(run, RunDirectory) else RunDirectory.open(run)
    loaded = load_policy(folder)
    record = loaded.acting.portfolio
    if record is None:
        is_master = bool(loaded.acting.actor.n_components)
        was = "a master of before, which does not name its sleeves" if is_master else "no portfolio"
        rule = "a chain must have a master that says what its sleeves are"
        raise ConfigError(rule, was=was, where=folder.id, remedy="Train the master again")
    agents, agents_run = None, None
    if record.run:
        agents_run, agents = load_sleeves(record.run, folder.path.parent)
        if final_hash(agents.checkpoint.agent) != record.run_sha256:
            raise StorageError(
                "agents of the sleeves must be those that the master was trained over",
                was=f"other weights in run {agents_run.id}",
                where=folder.id,
                remedy="Train the master again, or bring the run back as it was",
            )
    tensors = loaded.checkpoint.agent
    agents = agents and as_learned(agents, tensors)
    projection = Projection.stored(tensors, PROJECTION)
    master = build_master(tensors, loaded.layout)
    return StoredChain(loaded, master, record, agents, agents_run, projection)


def as_learned(agents: StoredPolicy, tensors: Mapping[str, Tensor]) -> StoredPolicy:
    """Return agents as they learned with a master: themselves where they are frozen.

    Args:
        agents: Of the sleeves, as their own run left them.
        tensors: That the master acts by.
    """
    count = sum(name.startswith(JOINT_AGENTS) for name in tensors)
    parts = [tensors[f"{JOINT_AGENTS}{number}"] for number in range(count)]
    return replace(agents, learned=tuple(zip(parts[::2], parts[1::2], strict=True)))


def load_sleeves(reference: str, root: Path) -> tuple[RunDirectory, StoredPolicy]:
    """Open the run whose agents trade sleeves.

    Args:
        reference: The run's id, or the beginning of it.
        root: Folder of runs.

    Raises:
        ConfigError: If there is no such run, or it is a portfolio itself.
        StorageError: If it has no checkpoint to act from.
    """
    run = find_run(root, reference)
    require_single_accounts(run)
    return run, load_policy(run)
