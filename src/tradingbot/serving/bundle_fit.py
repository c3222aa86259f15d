"""Whether the parts of a bundle fit each other, and the features that this version computes."""

from __future__ import annotations

from itertools import pairwise

from tradingbot.domain.errors import ConfigError, StorageError
from tradingbot.features.panel import formula_hashes
from tradingbot.market.goals import GOAL_INPUTS
from tradingbot.serving.bundle import BundleManifest

_PARTS = ("train", "validation", "test")


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
    wrong["periods"] = bool(_overlaps(manifest))
    wrong["master"] = not _is_master_whole(manifest)
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


def _is_master_whole(manifest: BundleManifest) -> bool:
    """Tell whether there is no master, or its inputs are those that the names describe."""
    part, n_inputs = manifest.portfolio, manifest.sizes.n_master_inputs
    if part is None:
        return not n_inputs
    n_embedding, seen = manifest.sizes.width, part.projection
    if seen is not None:
        widths = {len(row) for row in seen.directions}
        if not len(seen.mean) == len(seen.directions) == n_embedding or len(widths) != 1:
            return False
        n_embedding = widths.pop()
    names = (part.member_names, part.own_names, part.shared_names, part.account_names)
    member, own, shared, account = map(len, names)
    n_wanted = manifest.sizes.n_agents * (member + own) + shared + account
    n_scaled = sum(len(record.feature_names) for record in manifest.acting.scalers)
    has_regimes = n_scaled + shared <= manifest.sizes.n_features
    return n_inputs == n_wanted and member > n_embedding and has_regimes


def require_unseen(manifest: BundleManifest, first_day: str, *, where: str) -> None:
    """Refuse days that a model learned from, or was chosen by, as a test of it.

    Args:
        manifest: Of its bundle.
        first_day: ISO, of what it is to be judged on.
        where: What is judged, for messages.

    Raises:
        ConfigError: Naming the part of the data, or that the bundle does not say.
    """
    seen = {name: manifest.periods.get(name) for name in ("train", "validation")}
    problem = next((f"no days of {name}" for name, days in seen.items() if days is None), None)
    for name, days in seen.items():
        if days is not None and days.last_day >= first_day:
            problem = f"{first_day}, {name} goes to {days.last_day}"
    if problem is not None:
        rule = "a model must be judged on days after those that it learned from"
        raise ConfigError(rule, was=problem, where=where, remedy="Begin later, or train earlier")


def _overlaps(manifest: BundleManifest) -> list[str]:
    """Return parts of the data that begin before the part before them ended."""
    parts = [manifest.periods[name] for name in _PARTS if name in manifest.periods]
    return [
        str(later)
        for earlier, later in pairwise(parts)
        if not earlier.first_day <= earlier.last_day < later.first_day <= later.last_day
    ]


def _digits(digest: str | None) -> str:
    return "none" if digest is None else digest[:12]
