"""Where a bundle stands before it trades: what was decided about it, and by which verdict."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tradingbot.data.atomic import file_sha256
from tradingbot.domain.errors import ConfigError
from tradingbot.serving.bundle import read_bundle
from tradingbot.serving.model_versions import State
from tradingbot.serving.registry import ModelRegistry


@dataclass(frozen=True)
class ModelStanding:
    """What the registry and the gates say of a bundle."""

    sha256: str
    verdict: str
    version: str | None = None
    state: State | None = None
    """None where the bundle is not registered."""
    accepted: str | None = None
    """Verdict with which a person let it trade all the same."""

    @property
    def words(self) -> str:
        """As notes and the journal have it."""
        place = "not registered" if self.version is None else f"{self.version}, {self.state}"
        taken = "" if self.accepted is None else f", accepted: {self.accepted}"
        return f"{place}, {self.verdict}{taken}"

    @property
    def is_promoted(self) -> bool:
        """Whether it was let trade by a promotion."""
        return self.state == "paper"


def find_standing(registry: ModelRegistry, bundle: Path) -> ModelStanding:
    """Look a bundle up, by its hash.

    Raises:
        StorageError: If the registry or the bundle is damaged.
    """
    sha256 = file_sha256(bundle)
    for version in registry.versions():
        if version.bundle_sha256 == sha256:
            return ModelStanding(sha256, version.verdict, version.name, version.state)
    return ModelStanding(sha256, read_bundle(bundle, sha256=sha256).manifest.verdict.status)


def require_promoted(standing: ModelStanding, accept: str | None) -> ModelStanding:
    """Refuse a model that was not promoted, unless a person accepts its verdict by name.

    Raises:
        ConfigError: Saying what is in the way.
    """
    if accept is not None and (standing.is_promoted or accept != standing.verdict):
        rule, remedy = "--accept must name a verdict that is in the way", "Leave it out"
        if not standing.is_promoted:
            remedy = f"It is {standing.verdict!r}"
        raise ConfigError(rule, was=f"{accept!r}, the model is {standing.words}", remedy=remedy)
    if standing.is_promoted:
        return standing
    if accept is None:
        name = standing.version or "VERSION"
        raise ConfigError(
            "a model must be on paper to trade at a venue outside",
            was=standing.words,
            remedy=f"tradingbot models promote {name}, or add --accept {standing.verdict!r}, "
            "which is journaled",
        )
    return ModelStanding(
        standing.sha256, standing.verdict, standing.version, standing.state, accepted=accept
    )
