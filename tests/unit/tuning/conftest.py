"""A real PostgreSQL for studies that are kept in one."""

from __future__ import annotations

from fixtures.postgres import postgres, postgres_server

__all__ = ["postgres", "postgres_server"]
