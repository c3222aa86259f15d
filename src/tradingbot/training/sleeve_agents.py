"""Trained agents of another run as what trades the sleeves of a portfolio: frozen, and watched."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from tradingbot.agents.confidence import read_confidence
from tradingbot.agents.network_policy import NetworkPolicy, by_agent
from tradingbot.agents.policy import Policy, PolicyInputs
from tradingbot.domain.day_range import DayRange
from tradingbot.domain.errors import ConfigError
from tradingbot.domain.symbol import PORTFOLIO
from tradingbot.envs.population.layout import market_table
from tradingbot.envs.world import World
from tradingbot.market.params import SimulatorParams
from tradingbot.plugins.reference import RUN_PREFIX
from tradingbot.runs import require_fit
from tradingbot.runs.master import load_sleeves
from tradingbot.runs.policy import StoredPolicy
from tradingbot.runs.record import DataIdentity, RunRecord
from tradingbot.runs.tensors import final_hash
from tradingbot.training.config_files import config_of_mapping
from tradingbot.training.trained_sleeves import SleeveAgents


class WatchedPolicy:
    """A policy that also remembers how sure it was, call by call."""

    def __init__(self, policy: Policy) -> None:
        """Ask a policy; one of networks says how sure it is, another by the size of its action."""
        self._policy = policy
        self.confidence: list[Tensor] = []

    @torch.no_grad()
    def __call__(self, seen: PolicyInputs) -> Tensor:
        """Return what the policy wants, (B,)."""
        actions = self._policy(seen)
        if isinstance(self._policy, NetworkPolicy):
            n_agents = self._policy.actor.n_agents
            allowed = seen.allowed
            codes = None if allowed is None else by_agent(allowed, n_agents).movedim(0, -1)
            sure = read_confidence(self._policy.outputs(seen), self._policy.squash, codes)
            self.confidence.append(sure.T.reshape(-1))
        else:
            self.confidence.append(actions.abs().clamp_max(1.0))
        return actions


def open_sleeve_agents(
    sleeves: str,
    world: World,
    identity: DataIdentity,
    workspace: Path,
    *,
    periods: Mapping[str, DayRange] | None = None,
    keeps: bool = True,
) -> SleeveAgents | None:
    """Open the agents of a run on the data of a portfolio; None where a rule trades its sleeves.

    Args:
        sleeves: `run:` and the run's id, or the beginning of it; or a rule.
        world: What is traded.
        identity: One agent per symbol; features, scale and symbols must be the run's.
        workspace: Where the run is, and where embeddings are kept.
        periods: Days on which a master is validated and tested, where it is to be trained or
            judged: agents must not have learned from them.
        keeps: Whether they are; not those of worlds that are looked at once.

    Raises:
        ConfigError: If there is no such run, it was trained on other features or symbols, or it
            learned from bars that the master is judged on.
        StorageError: If it has no checkpoint to act from.
    """
    if not sleeves.startswith(RUN_PREFIX):
        return None
    run, loaded = load_sleeves(sleeves.removeprefix(RUN_PREFIX), workspace / "runs")
    scalers = [scaler.sha256 for scaler in world.scalers] or None
    require_fit(
        loaded.checkpoint.manifest,
        feature_ids=identity.feature_ids,
        agents=identity.agents,
        normaliser_sha256=identity.normaliser_sha256,
        scaler_sha256=scalers if identity.normaliser_sha256 else None,
    )
    if periods is not None:
        _require_unseen(run.record, identity, periods)
    rules = config_of_mapping(run.record.config).task.rules
    return sleeve_agents_of(loaded, rules, world, workspace=workspace if keeps else None)


def _require_unseen(
    record: RunRecord, identity: DataIdentity, periods: Mapping[str, DayRange]
) -> None:
    """Refuse agents that learned, or were chosen, on days on which their master is judged.

    Parts are compared by their first days; a generated market of another seed has other bars.
    """
    own = record.data
    if own.synthetic and identity.synthetic and own.dataset_sha256 != identity.dataset_sha256:
        return
    for part in ("validation", "test"):
        begun = record.periods[part].first_day if part in record.periods else None
        if begun is None or begun > periods[part].first_day:
            raise ConfigError(
                f"{part} of a master must not begin before {part} of the agents of its sleeves: "
                "what they learned from would judge them",
                was=f"{periods[part].first_day}, agents {begun or 'of a run that does not say'}",
                where=f"run {record.id}",
                remedy="Train the master with the splits of that run, or its agents again",
            )


def sleeve_agents_of(
    loaded: StoredPolicy, rules: SimulatorParams, world: World, *, workspace: Path | None = None
) -> SleeveAgents:
    """Return the agents of a checkpoint on a world that fits them.

    Args:
        loaded: What they act by.
        rules: Of the accounts that they were trained with.
        world: What is traded.
        workspace: Embeddings are kept there; nowhere by default.
    """
    table = market_table(world)
    seen = loaded.see(table, workspace)
    policy = loaded.on_table(table, seen=seen)
    embeddings = seen.movedim(0, 1).float().numpy()
    weights = final_hash(loaded.checkpoint.agent)
    return SleeveAgents(loaded.checkpoint.manifest.run_id, policy, rules, embeddings, weights)


def portfolio_identity(identity: DataIdentity, agents: SleeveAgents | None) -> DataIdentity:
    """Return the identity of data of one agent for all symbols.

    Weights that trade the sleeves are part of it: a master over others is another run.
    """
    changes: dict[str, object] = {"agents": (PORTFOLIO,)}
    if agents is not None:
        both = identity.data_sha256 + agents.sha256
        changes["data_sha256"] = hashlib.sha256(both.encode()).hexdigest()
    return identity.model_copy(update=changes)
