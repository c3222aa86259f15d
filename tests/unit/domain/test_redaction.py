"""Secrets are found in a text in whatever encoding they stand there."""

from __future__ import annotations

import base64
import html
import json
import re
from urllib.parse import quote, quote_plus

import pytest

from tradingbot.domain.redaction import redact, secrets_of, split_credentials

SECRETS = ("PKabc+12/34 xY&z=Q~", "s3cr3t-KEY_0987654321", "pässwörd\"'<9>")

ENCODINGS = {
    "as it is": lambda text: text,
    "upper case": str.upper,
    "lower case": str.lower,
    "percent": lambda text: quote(text, safe=""),
    "percent, lower case": lambda text: re.sub(
        "%..", lambda found: found.group().lower(), quote(text, safe="")
    ),
    "form": quote_plus,
    "every byte percent": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    "percent twice": lambda text: quote(quote(text, safe=""), safe=""),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 for addresses": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
    "base64 unpadded": lambda text: base64.b64encode(text.encode()).decode().rstrip("="),
    "basic authentication": lambda text: base64.b64encode(f"me:{text}".encode()).decode(),
    "base64 one later": lambda text: base64.b64encode(f"user:{text};".encode()).decode(),
    "base64 two later": lambda text: base64.b64encode(f"a{text}bc".encode()).decode(),
    "base64 percent": lambda text: quote(base64.b64encode(text.encode()).decode(), safe=""),
    "hexadecimal": lambda text: text.encode().hex(),
    "hexadecimal, upper case": lambda text: text.encode().hex().upper(),
    "hexadecimal, apart": lambda text: text.encode().hex(":"),
    "json": lambda text: json.dumps(text)[1:-1],
    "json, all escaped": lambda text: "".join(f"\\u{ord(each):04x}" for each in text),
    "python bytes": lambda text: repr(text.encode())[2:-1],
    "html": html.escape,
    "html numbers": lambda text: "".join(f"&#{ord(each)};" for each in text),
    "html hexadecimal": lambda text: "".join(f"&#x{ord(each):X};" for each in text),
}


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_secret_is_hidden_in_every_encoding(encoding: str, secret: str) -> None:
    written = ENCODINGS[encoding](secret)

    shown = redact(f"refused: key {written} is unknown", [secret])

    assert shown == "refused: key *** is unknown"


def test_text_without_a_secret_is_left_as_it_is() -> None:
    text = "HTTP 403: forbidden. aGVsbG8gd29ybGQ= %41 deadbeef"

    assert redact(text, SECRETS) == text
    assert redact("abc", ["abc"]) == "abc"  # too short to be one


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("GET https://me:pa55@host:80/x?y=1 failed", "GET https://***@host:80/x?y=1 failed"),
        ("at http://me:p@ss@host", "at http://***@host"),
        ("at https://token@host/", "at https://***@host/"),
        ("https://host:8080/a then me@host", "https://host:8080/a then me@host"),
    ],
)
def test_password_of_an_address_is_hidden_without_being_known(text: str, shown: str) -> None:
    assert redact(text) == shown


@pytest.mark.parametrize(
    ("address", "parts"),
    [
        ("https://me:pa55@host:80/x", ("https://host:80/x", "me", "pa55")),
        ("https://me@host", ("https://host", "me", "")),
        ("http://host", ("http://host", "", "")),
        ("auto", ("auto", "", "")),
        ("file:///a@b", ("file:///a@b", "", "")),
    ],
)
def test_address_is_parted_from_its_credentials(address: str, parts: tuple[str, ...]) -> None:
    assert split_credentials(address) == parts


def test_variables_tell_secrets_by_their_name() -> None:
    environment = {
        "APCA_API_SECRET_KEY": "12345678",
        "MLFLOW_TRACKING_PASSWORD": "abcdefghi",
        "SHORT_TOKEN": "abc",
        "PATH": "/usr/bin:/bin",
        "KEYBOARD": "qwertzuiop",
    }

    assert secrets_of(environment) == ("12345678", "abcdefghi")
