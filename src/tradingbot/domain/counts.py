"""A number and what it counts, in words."""

from __future__ import annotations


def write_count(number: int, word: str) -> str:
    """Return a number with its word, in the plural unless it is one.

    Example:
        >>> write_count(1, "node"), write_count(1200, "session")
        ('1 node', '1,200 sessions')
    """
    return f"{number:,} {word}{'' if number == 1 else 's'}"
