"""What a stored dataset says about itself."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

from tradingbot.data.sealed_record import SealedRecord
from tradingbot.domain.timeframe import BarGrid

Adjustment = Literal["none", "split", "split_dividend"]
VwapOrigin = Literal["vendor", "typical_price"]


class Provenance(BaseModel):
    """Where bars come from and how they were read; part of a dataset's identity."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    provider: str
    """Source id: parquet, csv, synthetic, yfinance, alpaca."""
    detail: dict[str, str | int | float | bool] = {}
    """Parameters that produced the bars: file name and its sha256, market and seed, feed …"""
    timeframe: str = "1h"
    grid: BarGrid = BarGrid.SESSION
    calendar: str = "XNYS"
    """exchange_calendars name; `24/7` for crypto."""
    adjustment: Adjustment = "split"
    vwap: VwapOrigin = "typical_price"
    synthetic: bool = False
    """True for generated markets; every place that shows a number must say so."""

    @property
    def has_latent_state(self) -> bool:
        """Whether the market was generated here, so that what it hides can be generated again."""
        return self.provider == "synthetic"


class StoredFile(BaseModel):
    """One file of a dataset."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sha256: str
    bytes: int
    rows: int


class DatasetManifest(SealedRecord):
    """Identity and description of a dataset; written last, as `manifest.json`."""

    version: Literal[1, 2] = 2
    """Version 1 has no seal: what it says is compared with the files whenever it is opened."""
    content_sha256: str
    """Hash of the values and provenance, independent of how Parquet encodes them."""
    provenance: Provenance
    symbols: tuple[str, ...]
    covariates: tuple[str, ...]
    rows: int
    quarantined_rows: int
    first_closed_at: datetime
    last_closed_at: datetime
    files: dict[str, StoredFile]
    code_version: str
