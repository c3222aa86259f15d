"""Versions of models as decisions about them: states, what may follow, and what gates are asked."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from tradingbot.domain.errors import ConfigError, suggest
from tradingbot.runs.line_chain import ChainedLine

State = Literal["candidate", "shadow", "paper", "retired"]
STATES: tuple[State, ...] = ("candidate", "shadow", "paper", "retired")
SINGLE: tuple[State, ...] = ("shadow", "paper")
"""States that one version at most is in."""
_PASSED = ("GO", "CONDITIONAL")
"""Verdicts with which a model is promoted; any other must be accepted by name."""


class RegistryEvent(ChainedLine):
    """One decision about one version."""

    kind: Literal["registered", "promoted", "rolled back"]
    version: str
    bundle_sha256: str
    to: State
    verdict: str
    """Of the gates, as the bundle says it."""
    accepted: str | None
    """Verdict that was accepted all the same, by name; kept for ever."""
    reason: str
    """In words; may be empty."""
    previous: str


@dataclass(frozen=True)
class ModelVersion:
    """What is known of a version."""

    name: str
    bundle_sha256: str
    state: State
    registered_at: str
    verdict: str
    run: str
    events: tuple[RegistryEvent, ...] = field(default=(), repr=False)
    """All decisions about it, the first one first."""

    @property
    def accepted(self) -> tuple[str, ...]:
        """Verdicts that were accepted all the same."""
        return tuple(event.accepted for event in self.events if event.accepted)

    @property
    def passed(self) -> bool:
        """Whether the gates let it be promoted without more."""
        return self.verdict in _PASSED

    @property
    def was_on_paper(self) -> bool:
        """Whether it traded once."""
        return any(event.to == "paper" for event in self.events)


def fold_events(events: tuple[RegistryEvent, ...]) -> tuple[ModelVersion, ...]:
    """Return the versions after all decisions: one at most in shadow, one at most on paper."""
    found: dict[str, ModelVersion] = {}
    for event in events:
        name, to = event.version, event.to
        if event.kind == "registered":
            run = event.reason.removeprefix("run ")
            found[name] = ModelVersion(name, event.bundle_sha256, to, event.at, event.verdict, run)
        elif to in SINGLE:
            for other in [each for each in found.values() if each.state == to]:
                found[other.name] = replace(other, state="retired")
        found[name] = replace(found[name], state=to, events=(*found[name].events, event))
    return tuple(found.values())


def find_version(versions: tuple[ModelVersion, ...], reference: str) -> ModelVersion:
    """Return a version by name (`v3`), or by the beginning of its bundle's hash (6 or more).

    Raises:
        ConfigError: If there is none, or more than one.
    """
    found = [each for each in versions if each.name == reference]
    if not found and len(reference) >= 6:
        found = [each for each in versions if each.bundle_sha256.startswith(reference)]
    if len(found) != 1:
        names = [each.name for each in versions]
        remedy = suggest(reference, names) if names else "There is none: tradingbot export RUN"
        rule = "model must be the version of one, or the beginning of its hash"
        raise ConfigError(rule, was=repr(reference[:80]), remedy=remedy)
    return found[0]


def next_state(version: ModelVersion, to: State | None) -> State:
    """Return the state that a version is promoted to: the next one, or one further ahead.

    A version that was replaced before it ever was on paper begins again as a candidate: there is
    nothing that it could be rolled back to.

    Raises:
        ConfigError: If the state is not ahead, the version was on paper and is retired, or it is on
            paper and nothing says that it shall retire.
    """
    if to is None and version.state == "paper":
        rule, remedy = "a model must be retired by name", "Write --to retired if it shall retire"
        raise ConfigError(rule, was=f"{version.name}, on paper", remedy=remedy)
    is_retired = version.state == "retired"
    place = STATES.index("candidate" if is_retired else version.state)
    if is_retired and version.was_on_paper:
        remedy = f"Put it back with: tradingbot models rollback {version.name}"
        raise ConfigError("a retired model must not be promoted", was=version.name, remedy=remedy)
    wanted = STATES[place + 1] if to is None else to
    if STATES.index(wanted) <= place or wanted == version.state:
        rule = f"{version.name} must be promoted to a state ahead of {version.state}"
        ahead = [each for each in STATES[place + 1 :] if each != version.state]
        raise ConfigError(rule, was=wanted, remedy=f"Choose one of {', '.join(ahead)}")
    return wanted


def require_verdict(version: ModelVersion, to: State, accept: str | None) -> str | None:
    """Return the verdict that was accepted all the same; None where that was not needed.

    Raises:
        ConfigError: If the gates were not passed and the verdict was not accepted, or one was that
            the gates did not say, or that is not asked for.
    """
    if to == "retired" or version.verdict in _PASSED:
        if accept not in (None, None if to == "retired" else version.verdict):
            rule, remedy = "--accept must name a verdict that is in the way", "Leave it out"
            was = f"{accept!r}, the gates said {version.verdict}"
            raise ConfigError(rule, was=was, where=f"{version.name} to {to}", remedy=remedy)
        return None
    if accept == version.verdict:
        return accept
    raise ConfigError(
        "a model must have passed the gates to be promoted",
        was=version.verdict,
        where=f"{version.name}, run {version.run}",
        remedy=f"Evaluate the run and export it again, or add --accept {version.verdict!r}, "
        "which is recorded for ever",
    )


def rollback_target(events: tuple[RegistryEvent, ...], reference: str | None) -> ModelVersion:
    """Return the version that a rollback puts on paper; None: the last that was there before.

    Raises:
        ConfigError: If it never was on paper, or is now.
    """
    versions = fold_events(events)
    if reference is not None:
        version = find_version(versions, reference)
    else:
        now = {each.name for each in versions if each.state == "paper"}
        before = [each.version for each in events if each.to == "paper" and each.version not in now]
        if not before:
            rule = "a model must have been on paper before the current one to be rolled back to"
            raise ConfigError(rule, was="none", remedy="List them with: tradingbot models list")
        version = find_version(versions, before[-1])
    if not version.was_on_paper:
        raise ConfigError(
            "a model must have been on paper to be rolled back to",
            was=f"{version.name}, a {version.state}",
            remedy=f"Promote it: tradingbot models promote {version.name}",
        )
    if version.state == "paper":
        raise ConfigError("a model must not be on paper already", was=version.name)
    return version
