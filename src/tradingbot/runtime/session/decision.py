"""From a bar to what is wanted: features by stream, the model, and the simulator's own reading.

Every number here is the one that a backtest of the same bars has: the same features, the same
private numbers of the accounts, the same decoding, exits and order rules.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.domain.errors import DataError, TradingError
from tradingbot.features.registry import covariate_features, registered_features
from tradingbot.features.spec import FeatureSpec
from tradingbot.features.streaming import FeatureStream
from tradingbot.market.account import Account, open_accounts
from tradingbot.market.actions.neutral import neutralise
from tradingbot.market.advance import SentOrder, decode, send_order, settle_bar
from tradingbot.market.bars import Bar
from tradingbot.market.buying_power import buying_power_of
from tradingbot.market.compiled import allowed_codes
from tradingbot.market.costs import CostRates
from tradingbot.market.ledger import FillBatch, no_fill
from tradingbot.market.observation import observe_accounts
from tradingbot.market.params import SimulatorParams
from tradingbot.runtime.session.account_record import SessionAccount
from tradingbot.runtime.session.bars import MarketBar, as_datetime64
from tradingbot.runtime.session.model import DecidingModel


class Proposal(NamedTuple):
    """What N agents want at a bar, before anything is judged."""

    action: Tensor
    """(N,) float64 in the space of the rules."""
    confidence: NDArray[Any]
    """(N,) in [0, 1]."""
    inputs_sha256: tuple[str, ...]
    """N hashes of what was decided on: features, presence and private numbers of each symbol."""
    capital: Tensor | None = None
    """(N + 1,) that a master wants in each sleeve, cash last; None without one."""


class SessionDecider(Protocol):
    """What a session decides by: it remembers bars, never what the session holds."""

    model: DecidingModel
    rules: SimulatorParams
    places: list[int]
    """Of the model's symbols among those of the bars."""

    def take(self, bar: MarketBar) -> None:
        """Take the next bar."""

    def open(self, row: Bar, stale_bars: Tensor) -> SessionAccount:
        """Return what a session holds at the close of its first bar: cash."""

    def lanes(self, account: SessionAccount, row: Bar, order: Tensor) -> Account:
        """Return the accounts (N,) that bound what fills of orders (N,) in a bar."""

    def settle(
        self, account: SessionAccount, row: Bar, sent: SentOrder, fill: FillBatch
    ) -> SessionAccount:
        """Book what was filled (N,), and go to the close of the bar."""

    def decide(self, account: SessionAccount) -> Proposal:
        """Say what is wanted at the bar that was taken last."""

    def order(self, account: SessionAccount, proposal: Proposal) -> SentOrder:
        """Say what is sent of it, (N,)."""


class Decider:
    """A model of N accounts on a stream of bars."""

    def __init__(
        self,
        model: DecidingModel,
        symbols: tuple[str, ...],
        time_zone: str,
        rules: SimulatorParams,
        rates: CostRates,
        *,
        first_bar: int = 0,
    ) -> None:
        """Begin before the first bar.

        Args:
            model: What decides.
            symbols: Of the bars.
            time_zone: IANA name of the exchange's.
            rules: Of the accounts.
            rates: Costs.
            first_bar: Number of the bar of the first decision: the model takes bars from as long
                before it as it looks back.

        Raises:
            DataError: If a symbol of the model is not among them.
        """
        self.model, self.rules, self.rates = model, rules, rates
        self._first_bar = first_bar - model.lookback_bars + 1
        self.places = places_of(model.symbols, symbols)
        specs = [_spec_of(each) for each in model.feature_ids]
        self._stream = FeatureStream(symbols, specs, time_zone=time_zone)
        self.live = model.live()
        self.usable: NDArray[np.bool_] = np.zeros(len(self.places), dtype=bool)
        """(N,) where every feature of the bar that was taken last is defined."""
        self._features: NDArray[Any] = np.empty((0, 0))
        self._present: NDArray[np.bool_] = np.empty(0, dtype=bool)

    def take(self, bar: MarketBar) -> None:
        """Take the next bar, of all symbols of the source."""
        moment = as_datetime64(bar.closed_at)
        features = self._stream.push(moment, bar.present, bar.fields, bar.covariates)
        self._features, self._present = features[self.places], bar.present[self.places]
        if bar.number >= self._first_bar:
            self.usable = self.live.take(self._features, self._present)

    def open(self, row: Bar, stale_bars: Tensor) -> Account:
        """Return N accounts, all in cash, at the close of a bar."""
        number = torch.zeros(len(self.places), dtype=torch.int32)
        opened = open_accounts(self.rules.account.initial_cash_ccy, number, row.close)
        return opened._replace(stale_bars=stale_bars)

    def lanes(self, account: SessionAccount, row: Bar, order: Tensor) -> Account:
        """Return the accounts themselves: each pays for its own orders."""
        return _single(account)

    def settle(
        self, account: SessionAccount, row: Bar, sent: SentOrder, fill: FillBatch
    ) -> Account:
        """Book what was filled (N,), and go to the close of the bar.

        What a delisting pays is the venue's to say: nothing is closed here that it still holds.
        """
        parts = (_single(account), row, sent, fill, no_fill(sent.order))
        return settle_bar(self.rules, self.rates, *parts).after

    def decide(self, account: SessionAccount) -> Proposal:
        """Ask the model at the bar that was taken last; N accounts."""
        account = _single(account)
        private = observe_accounts(self.rules, account)
        codes = None
        if self.rules.action.space == "discrete":
            codes = allowed_codes(self.rules, self.rates, account).numpy()
        answer = self.live.act(private.numpy(), codes)
        action = torch.from_numpy(np.asarray(answer.action, dtype=np.float64))
        if gross_frac := self.rules.action.neutral_gross_frac:
            action = neutralise(action[:, None], account.stale_bars[:, None] == 0, gross_frac)[:, 0]
        return Proposal(action, answer.confidence, self._hash_inputs(private.numpy()))

    def order(self, account: SessionAccount, proposal: Proposal) -> SentOrder:
        """Read actions (N,) as the simulator does: exits, order rules, units of the venue."""
        account, action = _single(account), proposal.action
        room = buying_power_of(self.rules.limits, self.rates, account, account.equity)
        wanted = action.long() if self.rules.action.space == "discrete" else action
        decision = decode(self.rules, account, room, wanted)
        return send_order(self.rules, account, decision, room.largest)

    def _hash_inputs(self, private: NDArray[Any]) -> tuple[str, ...]:
        count = len(self.places)
        parts = (self._features, self._present[:, None], private.T)
        rows = [np.ascontiguousarray(part).view(np.uint8).reshape(count, -1) for part in parts]
        return tuple(
            hashlib.sha256(b"".join(row[lane].tobytes() for row in rows)).hexdigest()
            for lane in range(count)
        )


def _single(account: SessionAccount) -> Account:
    assert isinstance(account, Account)
    return account


def require_same_action(
    symbols: Sequence[str], proposal: Proposal, journaled: list[float], at: datetime
) -> None:
    """Refuse a decision that does not come out again.

    Raises:
        TradingError: Naming symbols.
    """
    now = proposal.action.tolist()
    if now != journaled:
        differ = [each for each, a, b in zip(symbols, now, journaled, strict=True) if a != b]
        raise TradingError(
            "a decision must come out again as it is journaled",
            was=", ".join(differ[:5]),
            where=str(at),
            remedy="See which input differs: tradingbot paper replay NAME --verify DAY",
        )


def places_of(wanted: tuple[str, ...], known: tuple[str, ...]) -> list[int]:
    """Return where each symbol stands among others.

    Raises:
        DataError: If one is not there.
    """
    missing = [symbol for symbol in wanted if symbol not in known]
    if missing:
        rule = "bars must be there for every symbol of the model"
        raise DataError(rule, was=f"none of {', '.join(missing[:5])}", remedy="Import their bars")
    return [known.index(symbol) for symbol in wanted]


def _spec_of(feature_id: str) -> FeatureSpec:
    name = feature_id.rpartition("-v")[0]
    known = registered_features()
    return known[name] if name in known else covariate_features([name])[0]
