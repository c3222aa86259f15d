"""Whether a run may go on, or its weights be used, with what there is now; and if not, why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tradingbot.domain.errors import ConfigError
from tradingbot.runs.acting import ActingRecord
from tradingbot.runs.manifest import CheckpointManifest
from tradingbot.runs.record import DataIdentity, RunPlan, RunRecord

_ABSENT = object()
_TEXT_LENGTH = 60
_NAMED = 5
"""Agents that a message names."""
_FEW = 3
"""Settings that a message names."""


def config_differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """List what differs between two configurations, by dotted path.

    Example:
        >>> config_differences({"ppo": {"epochs": 10}}, {"ppo": {"epochs": 4}, "seed": 1})
        ['ppo.epochs: 10 → 4', 'seed: (absent) → 1']
    """
    return list(_differences(old, new, ""))


def few_differences(old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> str:
    """Say which settings differ, the first few of them; `others` where what was is not known.

    Example:
        >>> few_differences({"seed": 1, "top": 2}, {"seed": 3, "top": 2})
        'seed: 1 → 3'
    """
    found = [] if old is None else config_differences(old, new)
    more = f"; and {len(found) - _FEW} more" if len(found) > _FEW else ""
    return "; ".join(found[:_FEW]) + more if found else "others"


def resume_differences(record: RunRecord, plan: RunPlan) -> list[str]:
    """List what differs between a run and what it would be continued with."""
    found = [f"config {text}" for text in config_differences(record.config, plan.config)]
    if plan.seed is not None and plan.seed != record.seeds["root"]:
        found.append(f"seed: {record.seeds['root']} → {plan.seed}")
    if plan.learner != record.learner:
        found.append(f"learner: {record.learner} → {plan.learner}")
    found += data_differences(record.data, plan.data)
    if plan.code_sha256 != record.code_sha256:
        found.append(f"code: {record.code_sha256[:12]} → {plan.code_sha256[:12]}")
    return found


def require_resumable(record: RunRecord, plan: RunPlan, *, force: bool = False) -> tuple[str, ...]:
    """Refuse to continue a run with another configuration, other data or other code.

    Args:
        record: The run's.
        plan: What it would be continued with; a seed of None is the run's.
        force: Continue all the same; what is returned must then be recorded
            (`Resumption.forced`). Other agents or inputs cannot be forced: no weight would fit.

    Returns:
        What differs and was forced.

    Raises:
        ConfigError: Naming the first difference, and how many more there are.
    """
    found = resume_differences(record, plan)
    if not found:
        return ()
    theirs = (plan.data.agents, plan.data.feature_ids, plan.learner)
    fits = (record.data.agents, record.data.feature_ids, record.learner) == theirs
    if force and fits:
        return tuple(found)
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    remedy = "Resume without that change, or add --force, which is recorded with the run"
    raise ConfigError(
        "run must go on with its own configuration, data and code",
        was=f"{found[0]}{more}",
        where=record.id,
        remedy=remedy if fits else "Train a new run: the weights do not fit",
    )


def require_fit(
    manifest: CheckpointManifest,
    *,
    feature_ids: Sequence[str],
    agents: Sequence[str] | None = None,
    normaliser_sha256: str | None = None,
    scaler_sha256: Sequence[str] | None = None,
) -> None:
    """Refuse weights for inputs they were not trained on: other columns, order, version or scale.

    Args:
        manifest: The checkpoint's.
        feature_ids: Name and version of every column there is now, in order.
        agents: Names of the agents there are now, in order; None where that does not matter.
        normaliser_sha256: `final_hash` of the statistics inputs are scaled by now; None if none.
        scaler_sha256: `Scaler.sha256` of each scaler there is now, in order; None where that is not
            compared. Manifests of version 1 do not name scalers.

    Raises:
        ConfigError: Naming the first difference.
    """
    remedy = "Build the panel with the same features and scaler, or train again"
    problem = _input_difference(manifest, feature_ids, scaler_sha256)
    if problem is None and agents is not None:
        problem = first_difference("agent", manifest.agents, agents)
        remedy = remedy if problem is None else _same_agents(manifest.agents)
    if problem is None and normaliser_sha256 != manifest.normaliser_sha256:
        problem = (
            f"normaliser: {_digits(manifest.normaliser_sha256)} → {_digits(normaliser_sha256)}"
        )
    if problem is not None:
        raise ConfigError(
            "weights must be used with the inputs they were trained on",
            was=problem,
            where=f"{manifest.run_id}/{manifest.name}",
            remedy=remedy,
        )


def _input_difference(
    manifest: CheckpointManifest, features: Sequence[str], scalers: Sequence[str] | None
) -> str | None:
    problem = first_difference("feature", manifest.feature_ids, features)
    if problem is None:
        problem = _formula_difference(manifest.acting)
    if problem is None and scalers is not None and manifest.acting is not None:
        before = [_digits(each.sha256) for each in manifest.acting.scalers]
        problem = first_difference("scaler", before, [_digits(each) for each in scalers])
    return problem


def _same_agents(agents: Sequence[str]) -> str:
    named = ", ".join(agents[:_NAMED]) + (" …" if len(agents) > _NAMED else "")
    return f"Give the symbols that its agents trade, in their order ({named}), or train again"


def _formula_difference(acting: ActingRecord | None) -> str | None:
    """Say which feature this version computes by another formula under the same name."""
    if acting is None:
        return None
    from tradingbot.features.panel import formula_hashes  # reads tables: not to look a run up

    now = formula_hashes([feature.id for feature in acting.features])
    for feature, digest in zip(acting.features, now, strict=True):
        if feature.sha256 is not None and feature.sha256 != digest:
            return f"formula of {feature.id}: {_digits(feature.sha256)} → {_digits(digest)}"
    return None


def data_differences(old: DataIdentity, new: DataIdentity) -> Iterator[str]:
    """List what differs between data that were learned from and data that are there."""
    for name in ("data_sha256", "certificate_sha256", "normaliser_sha256"):
        before, after = getattr(old, name), getattr(new, name)
        if before != after:
            yield f"{name.removesuffix('_sha256')}: {_digits(before)} → {_digits(after)}"
    for word, before, after in (
        ("feature", old.feature_ids, new.feature_ids),
        ("agent", old.agents, new.agents),
    ):
        difference = first_difference(word, before, after)
        if difference is not None:
            yield difference


def first_difference(word: str, old: Sequence[str], new: Sequence[str]) -> str | None:
    """Say where two lists of names begin to differ; None where they do not."""
    for index, (before, after) in enumerate(zip(old, new, strict=False)):
        if before != after:
            return f"{word} {index + 1}: {before} → {after}"
    return f"{len(old)} {word}s → {len(new)}" if len(old) != len(new) else None


def _differences(old: Any, new: Any, path: str) -> Iterator[str]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted({*old, *new}):
            below = f"{path}.{key}" if path else str(key)
            yield from _differences(old.get(key, _ABSENT), new.get(key, _ABSENT), below)
    elif _listed(old) != _listed(new) or _is_truth(old) != _is_truth(new):
        yield f"{path}: {shown_value(old)} → {shown_value(new)}"


def _listed(value: Any) -> Any:
    return [_listed(item) for item in value] if isinstance(value, list | tuple) else value


def _is_truth(value: Any) -> bool:
    return isinstance(value, bool)  # True == 1 to Python, not to a configuration


def shown_value(value: Any) -> str:
    """Write a value of a configuration, cut where it is long."""
    if value is _ABSENT:
        return "(absent)"
    text = str(value)
    return text if len(text) <= _TEXT_LENGTH else f"{text[:_TEXT_LENGTH]}…"


def _digits(digest: str | None) -> str:
    return "none" if digest is None else digest[:12]
