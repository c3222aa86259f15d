"""How the venue says no: status, code and body of every error (RELIABILITY §3.5)."""

from __future__ import annotations

from typing import Any


class Refusal(Exception):  # noqa: N818 - an answer of the venue, not a fault of the program
    """An HTTP status with a JSON body."""

    def __init__(self, status: int, body: dict[str, Any]) -> None:
        super().__init__(f"{status} {body}")
        self.status, self.body = status, body

    @classmethod
    def of(cls, status: int, code: int, message: str, **more: Any) -> Refusal:
        return cls(status, {"code": code, "message": message, **more})

    @classmethod
    def invalid(cls, message: str) -> Refusal:
        """Refuse a request that breaks a rule of form."""
        return cls.of(422, 40010001, message)

    @classmethod
    def unprocessable(cls, message: str) -> Refusal:
        return cls.of(422, 42210000, message)

    @classmethod
    def forbidden(cls, message: str, **more: Any) -> Refusal:
        """Refuse an order that the account may not place."""
        return cls.of(403, 40310000, message, **more)

    @classmethod
    def not_found(cls, what: str) -> Refusal:
        return cls.of(404, 40410000, what)


def unauthorised() -> Refusal:
    return Refusal.of(401, 40110000, "request is not authorized")


def revoked() -> Refusal:
    return Refusal(403, {"message": "forbidden."})


def too_many() -> Refusal:
    return Refusal.of(429, 42910000, "rate limit exceeded")


def duplicate_id() -> Refusal:
    return Refusal.invalid("client_order_id must be unique")
