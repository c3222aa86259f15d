"""What clients send and get: the bodies of requests and answers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

_LARGEST = 3.4e38
"""Within float32, in which models compute."""
MAX_INPUTS = 256
MAX_BARS = 1024


def _written(value: Any) -> Any:
    if not isinstance(value, str):
        raise ValueError("a time must be ISO 8601 text with its zone")
    return value


Number = Annotated[float, Field(strict=True, ge=-_LARGEST, le=_LARGEST, allow_inf_nan=False)]
Price = Annotated[float, Field(strict=True, gt=0.0, le=1e12, allow_inf_nan=False)]
Volume = Annotated[float, Field(strict=True, ge=0.0, le=1e18, allow_inf_nan=False)]
Flag = Annotated[bool, Field(strict=True)]
Ticker = Annotated[str, Field(min_length=1, max_length=32)]
Moment = Annotated[AwareDatetime, BeforeValidator(_written, json_schema_input_type=str)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Account = Annotated[
    dict[Annotated[str, Field(max_length=32)], Number],
    Field(
        max_length=32,
        description="What the account knows of itself, by name; a flat one where left out.",
    ),
]


class _RequestPart(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Prediction(_RequestPart):
    model_sha256: Sha256 | None = None
    """Answer by this model alone: 409 where another serves."""


class _Explained(_Prediction):
    explain: Flag = False
    """Also say what each feature contributes and what would change the signal; slower."""


class FeatureWindow(_RequestPart):
    """The last bars of one symbol, as raw features."""

    symbol: Ticker
    features: Annotated[
        list[Annotated[list[Number | None], Field(max_length=512)]],
        Field(
            min_length=1,
            max_length=MAX_BARS,
            description="Bars, the newest last, of the columns of `feature_ids`; null: undefined.",
        ),
    ]
    account: Account = Field(default_factory=dict)


class FeaturesRequest(_Explained):
    """Predict from raw features."""

    inputs: Annotated[list[FeatureWindow], Field(min_length=1, max_length=MAX_INPUTS)]
    feature_ids: Annotated[list[str], Field(max_length=512)] | None = None
    """Columns as the client has them; compared with the model's, names and order."""
    closed_at: Moment | None = None
    """Of the last bars; where it is told, old ones are not answered."""
    allow_stale: Flag = False
    """Answer for bars of any age."""


class BarFields(_RequestPart):
    """One bar of one symbol."""

    open: Price
    high: Price
    low: Price
    close: Price
    volume: Volume
    vwap: Price | None = None
    covariates: Annotated[dict[str, Number], Field(max_length=64)] = Field(default_factory=dict)

    @property
    def mean_price(self) -> float:
        """Volume-weighted, or as stored bars have it where that is not known."""
        return (self.high + self.low + self.close) / 3 if self.vwap is None else self.vwap

    @model_validator(mode="after")
    def _is_a_bar(self) -> BarFields:
        if not self.low <= min(self.open, self.close) <= max(self.open, self.close) <= self.high:
            raise ValueError("low and high of a bar must enclose its open and close")
        return self


class ClosedBars(_RequestPart):
    """The bars of all symbols that closed at one moment."""

    closed_at: Moment
    bars: Annotated[dict[Ticker, BarFields], Field(min_length=1, max_length=1024)]


class HistoryRequest(_Explained):
    """Predict from a history of bars; nothing of it is kept."""

    history: Annotated[list[ClosedBars], Field(min_length=1, max_length=MAX_BARS)]
    """The oldest first."""
    symbols: Annotated[list[Ticker], Field(min_length=1, max_length=MAX_INPUTS)] | None = None
    """Of which signals are asked; all where left out."""
    allow_stale: Flag = False
    """Answer for bars of any age: to look back, not to trade."""
    accounts: Annotated[dict[Ticker, Account], Field(max_length=1024)] = Field(default_factory=dict)


class NextBarRequest(_Prediction, ClosedBars):
    """Push the next bar to the server's own stream, and predict."""

    allow_stale: Flag = False
    """Answer for a bar of any age: to look back, not to trade."""
    accounts: Annotated[dict[Ticker, Account], Field(max_length=1024)] = Field(default_factory=dict)


class SwapRequest(_RequestPart):
    """Serve another version from now on."""

    version: Annotated[str, Field(pattern=r"^(v[0-9]{1,9}|[0-9a-f]{6,64})$")]
    """As `v3`, or the beginning of the hash of its bundle."""
    reason: Annotated[str, Field(max_length=200)] = ""
    accept: Annotated[str, Field(max_length=32)] | None = None
    """Verdict that is accepted all the same; recorded for ever."""


class SessionAct(_RequestPart):
    """What a session is asked to do."""

    reason: Annotated[str, Field(max_length=200)] = ""
    """Why; a kill needs none."""
    flatten: Flag = False
    """Of a kill: sell what is held first; a stop sells nothing, and is refused with it."""


class ModelIdentity(BaseModel):
    """Which model answered."""

    version: str
    sha256: str
    state: Literal["fresh", "last_good"]
    """Fresh: the registry's version; last good: one before, for that one could not be opened."""


class FeatureContribution(BaseModel):
    """What one feature adds to the model's output."""

    feature: str
    contribution: float
    """Output minus the output where the feature is at its training mean at every bar."""
    value: float
    """At the last bar, scaled: standard deviations of training for most scalers."""


class SignalChange(BaseModel):
    """The smallest shift of one feature at the last bar, of those tried, that changes a signal."""

    feature: str
    shift: float
    """Of the scaled value."""
    signal: Literal["BUY", "SELL", "HOLD"]


class Explanation(BaseModel):
    """Why a signal is what it is: computed by changing inputs of the served model."""

    of: Literal["action", "score of the code"]
    """What contributions are of."""
    contributions: list[FeatureContribution]
    """The largest, by size."""
    regime: dict[str, float]
    """Regime indicators at the last bar."""
    changes: list[SignalChange]
    """Empty: no shift that was tried changes it."""


class SignalAnswer(BaseModel):
    """What the agent of one symbol wants."""

    symbol: str
    signal: Literal["BUY", "SELL", "HOLD"]
    size: float
    """Of what could be bought, or of the position where that is made smaller; of targets the way to
    go as a share of the largest position; 0 of a HOLD."""
    order_type: Literal["LIMIT", "MARKET"] | None
    """LIMIT below a strength of 0.5, MARKET from there on; none of a HOLD."""
    strength: float
    """Of the wish, in [0, 1]."""
    confidence: float
    """In [0, 1]; what it is of is in `GET /v1/model`."""
    action: float | None
    """As the model gave it, before smoothing and risk; none where nothing was asked of it."""
    reason: str | None
    """Why it is a HOLD that the model did not ask for."""
    weight: float | None = None
    """Of a portfolio: what is wanted of the symbol, of its value; none of single accounts."""
    explanation: Explanation | None = None


class PredictionAnswer(BaseModel):
    """Signals, all by one model."""

    model: ModelIdentity
    closed_at: datetime | None
    """Of the newest bar; none where features were sent."""
    is_warm: bool
    """Whether as many bars were seen as the model looks back."""
    signals: list[SignalAnswer]


class ServedModelAnswer(BaseModel):
    """What serves."""

    model: ModelIdentity
    run: str
    verdict: str
    synthetic: bool
    """Whether it learned from generated data."""
    periods: dict[str, str]
    symbols: list[str]
    feature_ids: list[str]
    account_numbers: list[str]
    lookback_bars: int
    """Bars that the model looks back on."""
    warm_up_bars: int
    """Bars before every feature is defined: a history that is sent has as many at least."""
    covariates: list[str]
    """What bars must bring beside prices and volume, some time; it is carried forward."""
    action_space: str
    confidence: str
    """What confidence is of."""
    bars_taken: int
    """By the server's own stream."""
