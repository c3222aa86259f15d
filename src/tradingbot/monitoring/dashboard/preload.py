"""What draws charts is fetched with the page, not when the first chart is there to be drawn.

An ASGI layer that names the file in a header of every page. Streamlit asks for it only once it was
sent a chart; until then the browser would wait for the server, and then read five megabytes.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from tradingbot.monitoring.dashboard.host_guard import Application, Message, Receive, Send

_STATIC, _DRAWS = "static/static/js", "PlotlyChart.*.js"


class Preload:
    """Adds a header `Link` to the pages of an application.

    Args:
        app: ASGI application.
        paths: Of modules, as the browser asks for them.
    """

    def __init__(self, app: Application, paths: tuple[str, ...]) -> None:
        self._app = app
        self._link = ", ".join(f"<{each}>; rel=modulepreload" for each in paths).encode()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request, or hold one connection."""

        async def send_with_link(message: Message) -> None:
            headers = list(message.get("headers", ()))
            if (b"content-type", b"text/html; charset=utf-8") in headers and self._link:
                message = {**message, "headers": [*headers, (b"link", self._link)]}
            await send(message)

        await self._app(scope, receive, send_with_link)


def modules_that_draw() -> tuple[str, ...]:
    """Return the paths of what draws charts; none where Streamlit keeps it elsewhere."""
    found = find_spec("streamlit")
    if found is None or found.origin is None:
        return ()
    folder = Path(found.origin).parent / _STATIC
    return tuple(f"/static/js/{each.name}" for each in sorted(folder.glob(_DRAWS)))
