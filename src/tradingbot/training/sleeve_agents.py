"""Trained agents of another run as what trades the sleeves of a portfolio: frozen, and watched."""

from __future__ import annotations

import hashlib
from pathlib import Path

import torch
from torch import Tensor

from tradingbot.agents.confidence import read_confidence
from tradingbot.agents.network_policy import NetworkPolicy, by_agent
from tradingbot.agents.policy import Policy, PolicyInputs
from tradingbot.domain.symbol import PORTFOLIO
from tradingbot.envs.population.layout import market_table
from tradingbot.envs.world import World
from tradingbot.networks.threads import torch_threads
from tradingbot.plugins.reference import RUN_PREFIX
from tradingbot.runs import require_fit
from tradingbot.runs.embeddings import kept_embeddings
from tradingbot.runs.master import load_sleeves
from tradingbot.runs.record import DataIdentity
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
    keeps: bool = True,
) -> SleeveAgents | None:
    """Open the agents of a run on the data of a portfolio; None where a rule trades its sleeves.

    Args:
        sleeves: `run:` and the run's id, or the beginning of it; or a rule.
        world: What is traded.
        identity: One agent per symbol; features, scale and symbols must be the run's.
        workspace: Where the run is, and where embeddings are kept.
        keeps: Whether they are; not those of worlds that are looked at once.

    Raises:
        ConfigError: If there is no such run, or it was trained on other features or symbols.
        StorageError: If it has no checkpoint to act from.
    """
    if not sleeves.startswith(RUN_PREFIX):
        return None
    run, loaded = load_sleeves(sleeves.removeprefix(RUN_PREFIX), workspace / "runs")
    table = market_table(world)
    scalers = [scaler.sha256 for scaler in world.scalers] or None
    require_fit(
        loaded.checkpoint.manifest,
        feature_ids=identity.feature_ids,
        agents=identity.agents,
        normaliser_sha256=identity.normaliser_sha256,
        scaler_sha256=scalers if identity.normaliser_sha256 else None,
    )
    place = workspace if keeps else None
    policy, seen = loaded.on_table(table, workspace=place), table
    if loaded.encoder is not None:
        with torch_threads(loaded.acting.threads):
            seen = kept_embeddings(loaded.encoder, table, place)
    rules = config_of_mapping(run.record.config).task.rules
    embeddings = seen.movedim(0, 1).float().numpy()
    weights = final_hash(loaded.checkpoint.agent)
    return SleeveAgents(run.id, policy, rules, embeddings, weights)


def portfolio_identity(identity: DataIdentity, agents: SleeveAgents | None) -> DataIdentity:
    """Return the identity of data of one agent for all symbols.

    Weights that trade the sleeves are part of it: a master over others is another run.
    """
    changes: dict[str, object] = {"agents": (PORTFOLIO,)}
    if agents is not None:
        both = identity.data_sha256 + agents.sha256
        changes["data_sha256"] = hashlib.sha256(both.encode()).hexdigest()
    return identity.model_copy(update=changes)
