"""What is wrong with a JSON file that cannot be read, in words for people."""

from __future__ import annotations

import json


def json_problem(error: OSError | ValueError) -> str:
    """Say why a file was not read, without the name of an exception.

    Example:
        >>> try:
        ...     json.loads("{bad")
        ... except ValueError as e:
        ...     json_problem(e)
        'no JSON in line 1: expecting property name enclosed in double quotes'
    """
    if isinstance(error, json.JSONDecodeError):
        return f"no JSON in line {error.lineno}: {error.msg[:1].lower()}{error.msg[1:]}"
    if isinstance(error, UnicodeDecodeError):
        return "no text"
    if isinstance(error, FileNotFoundError):
        return "missing"
    if isinstance(error, OSError):
        return (error.strerror or "unreadable").lower()
    return " ".join(str(error).split())[:120]
