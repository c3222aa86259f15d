"""What a key may do from the dashboard: each act by its scope, once, and written down.

The same ways are used as by the command line: requests in a session's folder, decisions of the
registry. What takes risk away (stop, kill) is asked first and written down after, so that it does
not wait for a disk. Arming, which adds risk, is written down first, or not done. The registry may
refuse a version to the last, so that its decisions are written down once taken; nothing is decided
where the trail cannot be read.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from tradingbot.domain.errors import ConfigError, UserError
from tradingbot.runtime.breaker import Breaker
from tradingbot.runtime.rearm import require_authorised
from tradingbot.runtime.session.folder import Request, SessionFolder
from tradingbot.serving.access.audit import AuditKind, AuditTrail
from tradingbot.serving.access.keys import ApiKey, KeyBook, Scope, identify, key_id_of
from tradingbot.serving.access.lockouts import Lockouts
from tradingbot.serving.model_versions import ModelVersion, State
from tradingbot.serving.registry import ModelRegistry

SessionAct = Literal["stop", "kill", "arm"]
_SESSION_SCOPE: Scope = "trade"
_MODEL_SCOPE: Scope = "admin"
_REMEMBERED = 1000
ALREADY = "already asked: nothing was done a second time"


@dataclass(frozen=True)
class SessionAsk:
    """What a person asks of a session."""

    session: str
    act: SessionAct
    reason: str
    token: str
    """Drawn when the confirmation was opened: one confirmation acts once."""
    flatten: bool = False
    breaker: str | None = None


@dataclass(frozen=True)
class ModelAsk:
    """What a person asks of the registry."""

    version: str
    to: State | None
    """State that it is promoted to; None: it is rolled back to."""
    reason: str
    token: str
    accept: str | None = None
    """Verdict that is accepted although the gates ask for more."""


class ActsDesk:
    """Acts on one workspace; shared by all readers of a dashboard."""

    def __init__(self, workspace: Path, clock: Callable[[], datetime]) -> None:
        self._workspace, self._clock = workspace, clock
        self._book, self._audit = KeyBook(workspace), AuditTrail(workspace)
        self._lockouts, self._lock = Lockouts(), threading.Lock()
        self._done: OrderedDict[str, str] = OrderedDict()

    def identify(
        self, presented: str, scope: Scope, *, address: str = "", what: str = ""
    ) -> ApiKey:
        """Return whose key it is, where it has a scope.

        Args:
            presented: What the reader typed.
            scope: That the act needs.
            address: Where it comes from, for lock-outs.
            what: What it was asked for; written down where it is refused.

        Raises:
            ConfigError: If it is no key, not taken any more, of another scope, or locked out.
            StorageError: If the keys cannot be read.
        """
        claimed = key_id_of(presented.strip())
        key, why = identify(self._book.read(), presented.strip(), self._clock())
        if key is None:
            wait_s = self._lockouts.wait_s(address, claimed)
            if wait_s:
                raise ConfigError(
                    "wrong keys must not be tried so often", was=f"wait {wait_s:.0f} s"
                )
            is_locked = self._lockouts.fail(address, claimed)
            self._refuse(
                "locked out" if is_locked else "access refused", claimed, f"{why} for {what}"
            )
            remedy = f"Make one: tradingbot keys create NAME --scope {scope}"
            raise ConfigError("an API key must be given that is taken", was=why, remedy=remedy)
        if scope not in key.scopes:
            self._refuse("access refused", key.id, f"scope {scope} for {what}")
            was, remedy = (
                " ".join(key.scopes),
                f"Make one: tradingbot keys create NAME --scope {scope}",
            )
            raise ConfigError(f"the key must have the scope {scope}", was=was, remedy=remedy)
        return key

    def ask_session(self, presented: str, ask: SessionAsk, *, address: str = "") -> str:
        """Ask a session to stop, to kill or to arm again; return what was done, in words.

        Raises:
            UserError: If the key, the name or the session does not allow it; nothing was done.
        """
        what = f"{ask.act} {ask.session}"
        key = self.identify(presented, _SESSION_SCOPE, address=address, what=what)
        return self._once(ask.token, lambda: self._ask(key, ask))

    def decide_model(self, presented: str, ask: ModelAsk, *, address: str = "") -> str:
        """Promote a version, or roll back to one; return what was done, in words.

        Raises:
            UserError: If the key, the verdict or the bundle does not allow it; what serves stays.
        """
        what = f"{'rollback' if ask.to is None else 'promote'} {ask.version}"
        key = self.identify(presented, _MODEL_SCOPE, address=address, what=what)
        return self._once(ask.token, lambda: self._decide(key, ask))

    def _once(self, token: str, act: Callable[[], str]) -> str:
        """Do something once for each confirmation, in whatever tab it is pressed again."""
        with self._lock:
            if token in self._done:
                return f"{self._done[token]} ({ALREADY})"
            self._done[token] = act()
            while len(self._done) > _REMEMBERED:
                self._done.popitem(last=False)
            return self._done[token]

    def _ask(self, key: ApiKey, ask: SessionAsk) -> str:
        folder = SessionFolder.open(self._workspace, ask.session)
        if ask.act != "kill" and not folder.is_running:
            remedy = f"By the command line: tradingbot paper {ask.act} {ask.session}"
            rule = f"a session must run for the dashboard to {ask.act} it"
            raise ConfigError(rule, was="not running", where=ask.session, remedy=remedy)
        if any(_is_same(request, ask) for _, request in folder.waiting()):
            return f"{ask.act} of {ask.session}: {ALREADY}"
        request = Request(ask.act, key.name, ask.reason, flatten=ask.flatten, breaker=ask.breaker)
        told = {"who": key.id, "subject": ask.session, "detail": f"{ask.act}: {ask.reason}"}
        if ask.act == "arm":
            authorised = frozenset(folder.authorised())
            require_authorised(f"arming {ask.session}", key.name, ask.reason, authorised)
            if ask.breaker is not None:
                Breaker(ask.breaker)
            self._audit.record("session asked", at=self._clock(), **told)
            folder.ask(request)
        else:
            folder.ask(request)
            with suppress(UserError):  # asked already; what takes risk away does not wait
                self._audit.record("session asked", at=self._clock(), **told)
        when = "now" if folder.is_running else "when it is resumed, before anything else"
        return f"{ask.session} was asked to {ask.act} by {key.name}; it obeys {when}"

    def _decide(self, key: ApiKey, ask: ModelAsk) -> str:
        registry, now = ModelRegistry(self._workspace), self._clock()
        version = registry.version(ask.version)
        reason = f"{ask.reason} (key {key.id} {key.name})"
        kind: AuditKind = "model rolled back" if ask.to is None else "model promoted"
        detail = f"to {ask.to or 'paper'}: {ask.reason}"
        self._audit.lines()  # a damaged trail could not be added to
        if ask.to is None:
            after = registry.roll_back(version.name, at=now, reason=reason)
        else:
            accept = ask.accept or None
            told = {"to": ask.to, "accept": accept, "reason": reason}
            after = registry.promote(version.name, at=now, **told)  # type: ignore[arg-type]
        self._audit.record(kind, at=now, who=key.id, subject=version.name, detail=detail)
        return f"{after.name} is on {after.state}, by {key.name}"

    def _refuse(self, kind: AuditKind, who: str, detail: str) -> None:
        with suppress(UserError):
            self._audit.record(kind, at=self._clock(), who=who, detail=f"dashboard: {detail}")


def describe_session_act(ask: SessionAsk, *, n_open: int, n_positions: int) -> str:
    """Say what will happen, in a sentence."""
    if ask.act == "stop":
        return (
            f"Session {ask.session} ends after its present turn. {n_open} open orders and "
            f"{n_positions} positions stay at the venue; `paper resume` goes on."
        )
    if ask.act == "kill":
        sold = (
            f"orders are sent for all of its {n_positions} positions, then it"
            if ask.flatten
            else "it"
        )
        return (
            f"Session {ask.session}: every one of its {n_open} open orders is cancelled, {sold} is "
            "halted, and nothing is sent until it is armed again."
        )
    which = ask.breaker or "every breaker that tripped"
    return f"Session {ask.session}: {which} is armed again, and orders may be sent from then on."


def describe_model_act(ask: ModelAsk, versions: tuple[ModelVersion, ...]) -> str:
    """Say what will happen, in a sentence."""
    to = ask.to or "paper"
    replaced = next((v.name for v in versions if v.state == to and v.name != ask.version), None)
    retires = f" {replaced}, which is there now, retires." if replaced and to != "retired" else ""
    verb = "is put back on" if ask.to is None else "is promoted to"
    trades = " It serves and trades from then on." if to == "paper" else ""
    return f"{ask.version} {verb} {to}.{retires}{trades}"


def _is_same(request: Request, ask: SessionAsk) -> bool:
    own = (request.act, request.flatten, request.breaker)
    return own == (ask.act, ask.flatten, ask.breaker)
