"""What a server answers where it does not predict: status, code, rule, field and remedy."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fastapi import Response
from pydantic import BaseModel, ValidationError

from tradingbot.domain.errors import UserError


class ErrorDetail(BaseModel):
    """Why a request was not answered."""

    code: str
    """For programs; does not change."""
    message: str
    """For people: the rule that was broken, and what to do."""
    field: str | None = None
    """Place in the body, as `inputs.0.symbol`."""


class ErrorAnswer(BaseModel):
    """Body of every answer of 400 and above."""

    error: ErrorDetail


class Problem(Exception):  # noqa: N818 - an answer, not a failure of ours
    """Ends a request with an error; nothing that the client sent is repeated in it but names."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        field: str | None = None,
        headers: Mapping[str, str] | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(code)
        self.status, self.code, self.message, self.field = status, code, message, field
        self.headers, self.more = dict(headers or {}), dict(more or {})

    def response(self) -> Response:
        """Return it as an answer."""
        error = {"code": self.code, "message": self.message, "field": self.field}
        # ASCII: what a client wrote may hold halves of characters, which are no UTF-8.
        body = json.dumps({"error": error, **self.more}).encode("ascii")
        headers = {"cache-control": "no-store", **self.headers}
        return Response(body, self.status, headers=headers, media_type="application/json")


def invalid(message: str, field: str | None = None, *, code: str = "invalid") -> Problem:
    """Return the 422 of a body whose content breaks a rule."""
    return Problem(422, code, message, field=field)


def of_validation(error: ValidationError) -> Problem:
    """Return the 422 that names the first field which is not as the schema has it."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(str(part)[:64] for part in first["loc"])
    return invalid(str(first["msg"]), place or None)


def of_user_error(error: UserError, status: int = 422, code: str = "invalid") -> Problem:
    """Return a problem in the words of an error of the product; paths of files are left out."""
    remedy = f" {error.remedy}." if error.remedy else ""
    was = "" if error.was is None else f", was {str(error.was)[:200]}"
    return Problem(status, code, f"{error.rule}{was}.{remedy}")


def shed(code: str, message: str, *, retry_after_s: int = 1) -> Problem:
    """Return the 503 of a server that has no room; clients are told when to come back."""
    return Problem(503, code, message, headers={"retry-after": str(retry_after_s)})
