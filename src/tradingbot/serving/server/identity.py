"""Which model answers: told in the headers of every answer, and pinned by a client."""

from __future__ import annotations

from tradingbot.serving.server.prediction import ServingModel
from tradingbot.serving.server.problems import Problem


def require_pin(serving: ServingModel, wanted: str | None) -> None:
    """Refuse to answer by another model than the client asked for.

    Raises:
        Problem: 409, with the hash of what serves.
    """
    if wanted is not None and wanted != serving.model.sha256:
        headers = identity_headers(serving)
        message = f"another model serves: {serving.version}, sha256 {serving.model.sha256}"
        raise Problem(409, "other_model", message, field="model_sha256", headers=headers)


def identity_headers(serving: ServingModel) -> dict[str, str]:
    """Return what every answer says of the model in its headers."""
    return {"x-model-sha256": serving.model.sha256, "x-model-version": serving.version}
