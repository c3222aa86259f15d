"""Where Alpaca's paper account is reached, with which keys, and how patiently: live is refused."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from tradingbot.data.sources.replies import require_base_url
from tradingbot.data.sources.vendors import KEY_VARIABLE, AlpacaCredentials
from tradingbot.domain.errors import ConfigError

PAPER_HOST = "paper-api.alpaca.markets"
PAPER_URL = f"https://{PAPER_HOST}"
DATA_URL = "https://data.alpaca.markets"
_THIS_MACHINE = ("127.0.0.1", "localhost", "::1")
_PAPER_KEY, _LIVE_KEY = "PK", "AK"
PAPER_ACCOUNT = "PA"
"""What the number of every paper account begins with."""


@dataclass(frozen=True, kw_only=True)
class AlpacaBrokerSettings:
    """How Alpaca is asked; times in seconds.

    Raises:
        ConfigError: If the address is not the paper account's, or a number lets nothing through.
    """

    base_url: str = PAPER_URL
    """The paper account, or a server on this machine."""
    data_url: str | None = None
    """Where announcements are asked for; Alpaca's data interface, or the server on this machine."""
    timeout_s: float = 5.0
    """For connecting, and for each silence of the server."""
    requests_per_minute: int = 200
    reserved_for_cancels: int = 20
    """Of these, how many only cancels and look-ups may use."""
    submit_attempts: int = 3
    """How often one order is sent at most, always with the same id."""
    read_attempts: int = 3
    """How often account, positions, orders and executions are asked for when answers are lost."""
    lookup_attempts: int = 6
    """Look-ups of an order whose answer was lost."""
    lookup_wait_s: float = 1.0
    """Before each: an order may reach the venue's books after its answer was lost."""
    settle_within_s: float = 30.0
    """After so long an order that is not settled is reported as unknown: others wait behind it."""
    longest_wait_s: float = 60.0
    """For a free request, and of one back-off: a whole window of the venue's limit."""
    single_assets: int = 20
    """Up to so many symbols are asked for one by one; more are read from the list of all."""
    poll_every_s: float = 5.0
    """How often the venue is asked while the stream is down."""
    resync_every_s: float = 60.0
    """How often it is asked while the stream is up: an event may be lost."""
    fills_grace_s: float = 15.0
    """How long the end of an order waits for fills of it that the activities do not list yet."""
    first_reconnect_s: float = 1.0
    """Wait before the stream is opened again; doubles with each failure, up to 60 s."""

    def __post_init__(self) -> None:
        """Refuse a live address and numbers that make no sense."""
        require_base_url(self.base_url)
        require_base_url(self.announcements_url)
        if not (self.is_local or urlsplit(self.base_url).hostname == PAPER_HOST):
            raise ConfigError(
                "only Alpaca's paper account may be traded",
                was=urlsplit(self.base_url).hostname,
                where="base_url",
                remedy=f"Use {PAPER_URL}",
            )
        for name in (
            *("timeout_s", "lookup_wait_s", "settle_within_s", "longest_wait_s"),
            *("poll_every_s", "resync_every_s", "first_reconnect_s"),
        ):
            if not getattr(self, name) >= 0 or getattr(self, name) == float("inf"):
                raise ConfigError(f"{name} must be finite and 0 or more", was=getattr(self, name))
        if not 0 <= self.reserved_for_cancels < self.requests_per_minute:
            rule = "reserved_for_cancels must leave requests for orders"
            raise ConfigError(rule, was=self.reserved_for_cancels)
        if self.submit_attempts < 1 or self.lookup_attempts < 2 or self.read_attempts < 1:
            rule = "an order is sent and the venue read once or more, and looked up twice or more"
            was = f"{self.submit_attempts}, {self.read_attempts} and {self.lookup_attempts}"
            raise ConfigError(rule, was=was)

    @property
    def is_local(self) -> bool:
        """Whether the server runs on this machine: a fake."""
        return urlsplit(self.base_url).hostname in _THIS_MACHINE

    @property
    def announcements_url(self) -> str:
        """Address of the data interface: never Alpaca's for a server on this machine."""
        usual = self.base_url if self.is_local else DATA_URL
        return (self.data_url or usual).rstrip("/")

    @property
    def stream_url(self) -> str:
        """Address of the stream of trade updates: beside the REST interface."""
        parts = urlsplit(self.base_url)
        scheme = "wss" if parts.scheme == "https" else "ws"
        return f"{scheme}://{parts.netloc}/stream"


def require_paper_key(credentials: AlpacaCredentials, settings: AlpacaBrokerSettings) -> None:
    """Refuse a key of a live account, without showing it.

    Raises:
        ConfigError: Naming the variable to set.
    """
    key = credentials.key_id.upper()
    if key.startswith(_LIVE_KEY) or not (settings.is_local or key.startswith(_PAPER_KEY)):
        raise ConfigError(
            f"{KEY_VARIABLE} must be the key of a paper account, which begins with {_PAPER_KEY}",
            was="a key of another account",
            remedy="Create a key pair in Alpaca's paper account; live trading is not offered",
        )


def require_paper_account(number: object) -> None:
    """Refuse an account that is not a paper one, whatever its address and key said.

    Raises:
        ConfigError: If the number is not that of a paper account.
    """
    if not str(number).startswith(PAPER_ACCOUNT):
        raise ConfigError(
            f"the number of a paper account begins with {PAPER_ACCOUNT}",
            was=f"{str(number)[:2]}…",
            where="Alpaca account",
            remedy="Use the key pair of the paper account",
        )
