"""The parts of one server, put together once and handed to every route."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

from fastapi import Depends, Request

from tradingbot.serving.access.keys import Scope
from tradingbot.serving.server.admission import InferencePool, RateLimits
from tradingbot.serving.server.authentication import Authentication, Caller
from tradingbot.serving.server.metrics import ServerMetrics
from tradingbot.serving.server.model_slot import ModelSlot
from tradingbot.serving.server.portfolios import SleeveRunner
from tradingbot.serving.server.settings import ServerSettings


class SessionDesk(Protocol):
    """Paper sessions that may be asked to stop; `app` has one."""

    def sessions(self) -> Sequence[tuple[str, bool]]:
        """Return names, and whether each runs now."""
        ...

    def ask(
        self, name: str, act: Literal["stop", "kill"], *, by: str, reason: str, flatten: bool
    ) -> None:
        """Leave a request that the session obeys.

        Raises:
            ConfigError: If there is no such session.
            TradingError: If it does not run, and shall stop.
            StorageError: If the disk refuses.
        """
        ...


@dataclass
class ServerParts:
    """What routes work with."""

    settings: ServerSettings
    clock: Callable[[], datetime]
    """Now, UTC."""
    metrics: ServerMetrics
    slot: ModelSlot
    authentication: Authentication
    rates: RateLimits
    pool: InferencePool
    desk: SessionDesk | None = None
    is_draining: bool = field(default=False)
    """Whether the server was told to end."""
    n_under_way: int = field(default=0)
    """Requests that came before that and are not answered yet."""

    @classmethod
    def build(
        cls,
        workspace: Path,
        settings: ServerSettings,
        *,
        clock: Callable[[], datetime],
        desk: SessionDesk | None = None,
        sleeves: SleeveRunner | None = None,
    ) -> ServerParts:
        """Put the parts of a workspace's server together; nothing is opened yet."""
        metrics = ServerMetrics()
        return cls(
            settings,
            clock,
            metrics,
            ModelSlot(workspace, settings, metrics, clock=clock, sleeves=sleeves),
            Authentication(workspace, settings, metrics, clock=clock),
            RateLimits(settings),
            InferencePool(settings, metrics),
            desk,
        )


def parts_of(request: Request) -> ServerParts:
    """Return the parts of the server that a request came to."""
    parts: ServerParts = request.app.state.parts
    return parts


def scoped(scope: Scope) -> Any:
    """Return what a route depends on to let in callers of one scope, as often as they may."""

    async def admit(request: Request) -> Caller:
        parts = parts_of(request)
        caller = parts.authentication.authenticate(request)
        request.state.headers = parts.rates.take(caller.id)
        parts.authentication.require(caller, scope, request)
        return caller

    return Depends(admit)


def scoped_in_production(scope: Scope) -> Any:
    """Return what a route depends on that is open to all in the local profile."""

    async def admit(request: Request) -> None:
        parts = parts_of(request)
        if parts.settings.profile == "production" or not parts.settings.is_loopback:
            caller = parts.authentication.authenticate(request)
            parts.authentication.require(caller, scope, request)

    return Depends(admit)


async def _parts_of(request: Request) -> ServerParts:  # not a thread's work, as plain ones are
    return parts_of(request)


Parts = Annotated[ServerParts, Depends(_parts_of)]
Reader = Annotated[Caller, scoped("read")]
Predictor = Annotated[Caller, scoped("predict")]
Trader = Annotated[Caller, scoped("trade")]
Administrator = Annotated[Caller, scoped("admin")]
