"""Export of a run: graphs, golden vectors and manifest into one bundle, compared before written."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tradingbot.domain.errors import ConfigError
from tradingbot.features.tensor_files import pack_tensors
from tradingbot.market.private_features import PRIVATE_FEATURES
from tradingbot.networks.view import TableView
from tradingbot.risk.limits import SessionLimits
from tradingbot.runs.directory import RunDirectory
from tradingbot.runs.finding import is_portfolio
from tradingbot.runs.master import StoredChain, load_chain
from tradingbot.runs.policy import StoredPolicy, load_policy
from tradingbot.serving import graph_contract as contract
from tradingbot.serving.bundle import (
    GOLDEN_FILE,
    Bundle,
    BundleManifest,
    BundleRun,
    BundleVerdict,
    ParityRecord,
    write_bundle,
)
from tradingbot.serving.export import master_export
from tradingbot.serving.export.encoder_graph import describe_encoder, stream_model, window_model
from tradingbot.serving.export.heads_graph import confidence_kind, heads_model
from tradingbot.serving.export.master_graph import master_model
from tradingbot.serving.export.parity import (
    HOSTILE_ROWS,
    hostile_inputs,
    measure_gaps,
    record_parity,
)
from tradingbot.serving.golden import MASTER_INPUTS, answer_golden
from tradingbot.serving.served_model import ServedModel

_GOLDEN_AGENTS = 8
_GOLDEN_BARS = 3  # beyond the lookback
_GOLDEN_VIEWS = 16  # of a master
_VIEWS_PER_ROW = 5  # hostile ones of a master, which costs less than an encoder
_MOST_REAL_ROWS = 20_000
_NOT_MEASURED = ParityRecord(
    n_real=0, n_hostile=0, largest_difference=0.0, n_decisions=0, n_decisions_differ=0
)


@dataclass(frozen=True)
class ExportedRun:
    """A bundle that was written."""

    path: Path
    sha256: str
    manifest: BundleManifest


def export_run(
    run: RunDirectory,
    path: Path,
    *,
    verdict: BundleVerdict | None = None,
    real: Tensor | None = None,
    real_sleeves: Tensor | None = None,
    n_hostile: int = HOSTILE_ROWS,
) -> ExportedRun:
    """Write what a run acts by as a bundle.

    Args:
        run: Finished, with a checkpoint to act from.
        path: Of the bundle.
        verdict: Of the gates; None: it was not evaluated.
        real: (N, T, F) scaled rows of the run's data, of which the last are compared; None: only
            hostile ones are.
        real_sleeves: (T, N · D + S) what the master of a portfolio saw of its sleeves, of which the
            last are compared; None: only hostile ones are.
        n_hostile: Rows of hostile inputs that are compared, at the least, of agents and of a
            master.

    Raises:
        ConfigError: If the run follows options, has no scalers, sleeves are traded by a rule, or
            ONNX Runtime disagrees.
        StorageError: If a checkpoint is damaged, or the disk refuses.
    """
    chain, loaded = _load(run)
    _require_exportable(loaded)
    files, manifest = build_graphs(loaded, run, verdict or BundleVerdict(), chain)
    draft = ServedModel(Bundle(path, "", manifest, files))
    n_bars = max(4 * draft.lookback_bars, _MOST_REAL_ROWS // len(loaded.agents))
    compared = None if real is None else real[:, -n_bars:].contiguous()
    hostile, seen = measure_gaps(loaded, draft, compared, n_hostile=n_hostile)
    if chain is not None:
        inputs = master_export.hostile_views(chain, _VIEWS_PER_ROW * n_hostile)
        hostile.append(master_export.compare_master(chain, draft, inputs))
        if real_sleeves is not None:
            own = master_export.with_portfolios(chain, real_sleeves[-_MOST_REAL_ROWS:])
            seen.append(master_export.compare_master(chain, draft, own))
    parity = record_parity(hostile, seen, where=str(loaded.checkpoint.folder))
    files[GOLDEN_FILE] = _golden(loaded, draft, chain)
    manifest = manifest.model_copy(update={"parity": parity})
    sha256 = write_bundle(path, manifest, files)
    return ExportedRun(path, sha256, ServedModel.open(path, sha256=sha256).manifest)


def _load(run: RunDirectory) -> tuple[StoredChain | None, StoredPolicy]:
    """Return the chain of a portfolio, if it is one, and the agents: its sleeves' or the run's."""
    if not is_portfolio(run):
        return None, load_policy(run)
    chain = load_chain(run)
    master_export.require_agents(chain, run)
    assert chain.agents is not None
    return chain, chain.agents


def build_graphs(
    loaded: StoredPolicy,
    run: RunDirectory,
    verdict: BundleVerdict,
    chain: StoredChain | None = None,
) -> tuple[dict[str, bytes], BundleManifest]:
    """Return the graphs of a policy, and of a master over it, and what describes them."""
    encoder = loaded.seen_through
    width, n_private = encoder.width, len(loaded.layout.private)
    policy = loaded.policy_on(TableView(torch.zeros(len(loaded.agents), 1, width)))
    files = {
        contract.WINDOW_FILE: window_model(encoder),
        contract.STREAM_FILE: stream_model(encoder),
        contract.HEADS_FILE: heads_model(policy, width, n_private),
    }
    sizes = contract.GraphSizes(
        n_agents=len(loaded.agents),
        n_features=loaded.n_columns,
        lookback_bars=encoder.lookback_bars,
        width=width,
        n_private=n_private,
        n_outputs=policy.actor.n_outputs,
        has_codes=policy.squash is None,
        memory=describe_encoder(encoder).memory,
    )
    described, portfolio = _describe_run(loaded, run), None
    if chain is not None:
        assert chain.agents_run is not None
        n_inputs = master_export.n_master_inputs(chain)
        files[contract.MASTER_FILE] = master_model(chain.master, n_inputs)
        sizes = sizes.model_copy(update={"n_master_inputs": n_inputs})
        agents = _describe_run(loaded, chain.agents_run)
        portfolio = master_export.describe_portfolio(chain, run, agents)
        described = _describe_run(chain.loaded, run)
    manifest = BundleManifest(
        files={},
        run=described,
        symbols=loaded.agents,
        acting=loaded.acting,
        sizes=sizes,
        account_numbers=tuple(feature.name for feature in PRIVATE_FEATURES),
        confidence=confidence_kind(policy),
        session_limits=asdict(SessionLimits()),
        periods=run.record.periods,
        verdict=verdict,
        parity=_NOT_MEASURED,
        portfolio=portfolio,
    )
    return files, manifest


def _describe_run(loaded: StoredPolicy, run: RunDirectory) -> BundleRun:
    stored, data = loaded.checkpoint.manifest, run.record.data
    return BundleRun(
        id=run.id,
        checkpoint=stored.name,
        learner=stored.learner,
        weights_sha256=stored.weights_sha256,
        config_sha256=stored.config_sha256,
        data_sha256=stored.data_sha256,
        code_version=stored.code_version,
        code_sha256=stored.code_sha256,
        data_label=data.label,
        synthetic=data.synthetic,
    )


def _golden(loaded: StoredPolicy, draft: ServedModel, chain: StoredChain | None) -> bytes:
    """Return inputs of a few agents, and what the draft answers."""
    n_agents = len(loaded.agents)
    drawn = hostile_inputs(loaded, draft.lookback_bars + _GOLDEN_BARS, seed=1)
    agent = np.unique(np.linspace(0, n_agents - 1, min(n_agents, _GOLDEN_AGENTS)).astype(np.int64))
    inputs: dict[str, Any] = {
        "agent": agent,
        "rows": np.ascontiguousarray(drawn.rows[agent].transpose(0, 1).numpy()),
        "private": np.ascontiguousarray(drawn.private[..., agent].numpy()),
        "allowed": np.ascontiguousarray(drawn.allowed[..., agent].numpy()),
    }
    if chain is not None:
        inputs[MASTER_INPUTS] = master_export.hostile_views(chain, _GOLDEN_VIEWS, seed=1)
    return pack_tensors({**inputs, **answer_golden(draft, inputs)})


def _require_exportable(loaded: StoredPolicy) -> None:
    """Refuse what no bundle can serve, before anything is built."""
    where = str(loaded.checkpoint.folder)
    if loaded.layout.n_components:
        raise ConfigError(
            "a run must trade accounts with one number or code to be exported",
            was=f"vectors of {loaded.layout.n_components} weights",
            where=where,
        )
    if loaded.acting.options is not None:
        raise ConfigError(
            "a run must act by one head to be exported",
            was="a controller over options, which remembers from bar to bar",
            where=where,
            remedy="Export a run of another learner; this one can be backtested and evaluated",
        )
    if not loaded.scalers:
        raise ConfigError(
            "a run must hold its scalers to be exported",
            was=f"manifest version {loaded.checkpoint.manifest.version} without any",
            where=where,
            remedy="Train again",
        )
