"""Records that hold the hash of their own content: one edited field, and they are refused.

The seal guards against damage and careless edits; it is no signature.
"""

from __future__ import annotations

import hashlib
from typing import Self

from pydantic import BaseModel, ConfigDict


class SealedRecord(BaseModel):
    """Base of records that are stored with a seal."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sha256: str = ""
    """Of all other fields; empty before it is sealed."""

    def sealed(self) -> Self:
        """Return it with its own hash."""
        return self.model_copy(update={"sha256": self._hash_content(as_read=False)})

    def is_sealed(self) -> bool:
        """Tell whether it is what was sealed; fields that are newer than its file do not count."""
        return self.sha256 in (self._hash_content(as_read=True), self._hash_content(as_read=False))

    def _hash_content(self, *, as_read: bool) -> str:
        text = self.model_dump_json(exclude={"sha256"}, exclude_unset=as_read)
        return hashlib.sha256(text.encode()).hexdigest()
