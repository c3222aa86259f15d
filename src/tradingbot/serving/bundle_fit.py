"""Whether the parts of a bundle fit each other, and the features that this version computes."""

from __future__ import annotations

from tradingbot.domain.errors import ConfigError, StorageError
from tradingbot.features.panel import formula_hashes
from tradingbot.market.goals import GOAL_INPUTS
from tradingbot.serving.bundle import BundleManifest


def require_fit(manifest: BundleManifest, *, where: str) -> None:
    """Refuse a manifest whose parts contradict each other, or features of another version.

    Raises:
        StorageError: If parts do not belong together.
        ConfigError: If this version computes a feature by another formula.
    """
    acting, sizes = manifest.acting, manifest.sizes
    ids = [feature.id for feature in acting.features]
    n_scaled = sum(len(record.feature_names) for record in acting.scalers)
    wrong = {
        "scalers": not acting.scalers or n_scaled > len(ids),
        "columns": len(ids) != sizes.n_features,
        "symbols": len(manifest.symbols) != sizes.n_agents or not manifest.symbols,
        "private inputs": not {*acting.actor.private} <= {*manifest.account_numbers, *GOAL_INPUTS},
    }
    odd = [name for name, is_wrong in wrong.items() if is_wrong]
    if odd:
        rule, remedy = "parts of a bundle must fit each other", "Export the run again"
        raise StorageError(rule, was=f"other {odd[0]}", where=where, remedy=remedy)
    for feature, digest in zip(acting.features, formula_hashes(ids), strict=True):
        if feature.sha256 != digest:
            raise ConfigError(
                "features of a bundle must be those that this version computes",
                was=f"{feature.id}: {_digits(feature.sha256)} → {_digits(digest)}",
                where=where,
                remedy="Serve it with the version that exported it, or train again",
            )


def _digits(digest: str | None) -> str:
    return "none" if digest is None else digest[:12]
