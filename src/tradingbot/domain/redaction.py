"""Secrets in texts: found in whatever encoding they stand there, and replaced by `***`.

A vendor may answer with the key it was given as it is, in other letters, percent-encoded, as base64
of `user:key`, in hexadecimal, or escaped for JSON, Python or HTML.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

HIDDEN = "***"
_SHORTEST = 4
"""Characters: what is shorter is in every text by chance."""
_SHORTEST_OF_VARIABLE = 8
_FEWEST_ENCODED = 6
"""Characters of base64 that depend on the secret alone."""
_SECRET_NAME = re.compile(
    r"(^|[_-])(api[_-]?)?(key|keys|secret|secrets|token|tokens|passw(or)?d|credentials?)($|[_-])",
    re.IGNORECASE,
)
_KEY = re.compile(r"tb_[0-9a-f]{8}_[A-Za-z0-9_-]{8,}")
_ADDRESS = re.compile(r"(?P<scheme>\w[\w+.-]*://)(?P<credentials>[^/?#]*)@(?P<rest>[^@]*)")
_USER_INFO = re.compile(r"(?<=://)[^/?#\s@]*:[^/?#\s]*@|(?<=://)[^/?#\s@]+@")


def is_secret_name(name: str) -> bool:
    """Tell whether a key or a variable of this name holds a secret.

    Example:
        >>> [is_secret_name(name) for name in ("api_key", "APCA_API_SECRET_KEY", "keyboard")]
        [True, True, False]
    """
    return _SECRET_NAME.search(name) is not None


def secrets_of(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of variables that hold secrets by their name."""
    return tuple(
        value
        for name, value in environment.items()
        if is_secret_name(name) and len(value) >= _SHORTEST_OF_VARIABLE
    )


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """Return a text without secrets, in whatever encoding, and without passwords of addresses.

    Example:
        >>> redact("PUT https://me:pa55@host/x failed: key QUJDREVGR0g= of abcdefgh", ["ABCDEFGH"])
        'PUT https://***@host/x failed: key *** of ***'
    """
    text = _USER_INFO.sub(f"{HIDDEN}@", text)
    for secret in secrets:
        if len(secret) >= _SHORTEST:
            text = _pattern(secret).sub(HIDDEN, text)
    return text


def hide_keys(text: str) -> str:
    """Return a text without API keys of the inference server, by their form alone.

    Example:
        >>> hide_keys("/v1/tb_0123abcd_f00-secret")
        '/v1/***'
    """
    return _KEY.sub(HIDDEN, text)


def split_credentials(address: str) -> tuple[str, str, str]:
    """Part an address from its user and password, each empty where there is none.

    Example:
        >>> split_credentials("https://me:pa55@host:8080/x")
        ('https://host:8080/x', 'me', 'pa55')
    """
    parts = _ADDRESS.fullmatch(address)
    if parts is None:
        return address, "", ""
    user, _, password = parts["credentials"].partition(":")
    return f"{parts['scheme']}{parts['rest']}", user, password


@lru_cache(maxsize=64)
def _pattern(secret: str) -> re.Pattern[str]:
    """Return what finds a secret in every encoding; letters in either case, but for base64."""
    content = secret.encode("utf-8", "surrogatepass")
    plain = "".join(_any_writing(character) for character in secret)
    hexadecimal = r"[\s:]?".join(f"{byte:02x}" for byte in content)
    found = [f"(?i:{plain})", f"(?i:{hexadecimal})"]
    found += [f"{_BASE64}{core}{_BASE64}{_PADDING}" for core in _base64_cores(content)]
    return re.compile("|".join(found))


def _any_writing(character: str) -> str:
    """Return a pattern of a character as it is, percent-encoded, or escaped."""
    code = ord(character)
    encoded = character.encode("utf-8", "surrogatepass")
    percent = "".join(f"%(?:25)?{byte:02x}" for byte in encoded)
    in_bytes = "".join(rf"\\+x{byte:02x}" for byte in encoded)
    choices = [
        rf"\\*{re.escape(character)}",
        *(percent, in_bytes),
        *(rf"\\+u{code:04x}", rf"\\+u\{{0*{code:x}\}}", f"&#0*{code};", f"&#x0*{code:x};"),
    ]
    if character == " ":
        choices.append(r"\+")
    choices += [re.escape(name) for name in _HTML_NAMES.get(character, ())]
    return f"(?:{'|'.join(choices)})"


_HTML_NAMES = {"&": ("&amp;",), "<": ("&lt;",), ">": ("&gt;",), '"': ("&quot;",), "'": ("&apos;",)}


def _base64_cores(content: bytes) -> list[str]:
    """Return what base64 makes of a secret alone, wherever in three bytes it begins."""
    cores = []
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + content).decode("ascii").rstrip("=")
        # The first characters depend on what stands before, the last on what follows.
        begin = (0, 2, 3)[before]
        whole = (before + len(content)) % 3 == 0
        core = encoded[begin:] if whole else encoded[begin:-1]
        if len(core) >= _FEWEST_ENCODED:
            cores.append("".join(_BASE64_WRITINGS.get(letter, letter) for letter in core))
    return cores


_BASE64, _PADDING = "(?:[A-Za-z0-9+/_-]|%2[BbFf])*", "(?:=|%3[Dd])*"
_BASE64_WRITINGS = {"+": r"(?:[+-]|%2[Bb])", "/": r"(?:[/_]|%2[Ff])"}
