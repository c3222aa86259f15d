"""A portfolio on a stream of bars: sleeves that run on beside it, and a master over their capital.

Sleeves are accounts of one symbol each that nothing but the market moves: from the first bar at
which enough symbols are usable they trade as in the backtest. They follow from the bars alone, so
that a session that was killed has them again once it has streamed its bars.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.domain.errors import ModelAnswerError
from tradingbot.domain.plain_values import read_record
from tradingbot.market.account import Account
from tradingbot.market.advance import SentOrder, fill_order, open_terms, settle_bar
from tradingbot.market.arriving_bars import ArrivingBars
from tradingbot.market.bars import Bar
from tradingbot.market.costs import CostRates
from tradingbot.market.ledger import FillBatch
from tradingbot.market.params import READY_SHARE, SimulatorParams
from tradingbot.market.portfolio.account import (
    PortfolioAccount,
    lanes_for_fills,
    observe_portfolio,
    open_portfolio,
    send_net,
    settle_portfolio,
)
from tradingbot.market.portfolio.net_orders import read_weights
from tradingbot.market.portfolio.recent_record import RecentRecord
from tradingbot.runtime.session.account_record import SessionAccount
from tradingbot.runtime.session.bars import MarketBar
from tradingbot.runtime.session.decision import Decider, Proposal
from tradingbot.runtime.session.model import DecidingModel
from tradingbot.runtime.session.settlement import send_nothing


class PortfolioDecider:
    """A model with a master: remembers bars and the sleeves that follow from them."""

    def __init__(
        self,
        model: DecidingModel,
        symbols: tuple[str, ...],
        time_zone: str,
        rules: SimulatorParams,
        rates: CostRates,
    ) -> None:
        """Begin before the first bar.

        Args:
            model: With a master.
            symbols: Of the bars, of which the sleeves trade all.
            time_zone: IANA name of the exchange's.
            rules: Of the portfolio's account.
            rates: Costs, of account and sleeves.

        Raises:
            DataError: If a symbol of the model is not among them.
        """
        assert model.portfolio is not None
        self.model, self.rules, self.rates = model, rules, rates
        own = read_record(SimulatorParams, model.portfolio.sleeve_rules, name="sleeve_rules")
        self._agents = Decider(model, symbols, time_zone, own, rates)
        self.places = self._agents.places
        self._sleeves = Sleeves(self._agents, len(self.places))

    @property
    def sleeves_have_begun(self) -> bool:
        """Whether enough symbols were usable at a bar for the sleeves to trade."""
        return self._sleeves.have_begun

    def take(self, bar: MarketBar) -> None:
        """Take the next bar, and let the sleeves trade it."""
        self._agents.take(bar)
        self._sleeves.take(bar)

    def open(self, row: Bar, stale_bars: Tensor) -> PortfolioAccount:
        """Return the account, all in cash, at the close of a bar."""
        return open_portfolio(self.rules, row.close, stale_bars)

    def lanes(self, account: SessionAccount, row: Bar, order: Tensor) -> Account:
        """Return lanes that bound what fills of orders (N,) in a bar: all share their cash."""
        return lanes_for_fills(self.rules, self.rates, _whole(account), row, order)

    def settle(
        self, account: SessionAccount, row: Bar, sent: SentOrder, fill: FillBatch
    ) -> PortfolioAccount:
        """Book what was filled (N,), go to the close of the bar, and divide the capital."""
        return settle_portfolio(self.rules, self.rates, _whole(account), row, sent, fill)

    def decide(self, account: SessionAccount) -> Proposal:
        """Ask the master at the bar that was taken last.

        Returns:
            Actions (N,): the weight of each symbol in the portfolio; confidences of the agents.

        Raises:
            ModelAnswerError: If an agent or the master answered what is no number.
        """
        account, sleeves = _whole(account), self._sleeves.require()
        embeddings, shared = self._agents.live.look()
        members = np.concatenate([sleeves.shown, embeddings], axis=-1, dtype=np.float32)
        own = observe_portfolio(self.rules, account).numpy()
        inputs = np.concatenate([members.reshape(-1), shared, own])[None]
        weights = torch.from_numpy(self.model.allocate(inputs)).double()
        capital = read_weights(weights, account.halted)[0]
        seen = inputs.tobytes()
        hashes = tuple(
            hashlib.sha256(each.encode() + seen).hexdigest() for each in sleeves.inputs_sha256
        )
        return Proposal(capital[:-1] * sleeves.target_frac, sleeves.confidence, hashes, capital)

    def order(self, account: SessionAccount, proposal: Proposal) -> SentOrder:
        """Return one net order per symbol, as the simulator has it, in units of the venue."""
        assert proposal.capital is not None
        target = self._sleeves.require().target_frac
        return send_net(self.rules, _whole(account), proposal.capital, target)


class Sleeves:
    """The accounts of N agents that run on, one bar after another."""

    def __init__(self, agents: Decider, n_sleeves: int) -> None:
        self._agents, self._arriving = agents, ArrivingBars(n_sleeves)
        self._record = RecentRecord(n_sleeves)
        self._account: Account | None = None
        self._sent: SentOrder | None = None
        self._problem: ModelAnswerError | None = None
        self.target_frac = torch.zeros(n_sleeves, dtype=torch.float64)
        """(N,) positions that agents ask for at the next open, of their capital."""
        self.confidence: NDArray[Any] = np.zeros(n_sleeves)
        """(N,) how sure they are."""
        self.inputs_sha256: tuple[str, ...] = ("",) * n_sleeves
        """N hashes of what they decided on."""
        self.shown: NDArray[np.float32] = np.zeros((n_sleeves, 0), dtype=np.float32)
        """(N, 8) what is seen of them, without how they see the market."""

    def take(self, bar: MarketBar) -> None:
        """Go to the close of a bar that the agents took, and let them decide there."""
        agents = self._agents
        row = self._arriving.take(bar.prices(agents.places), bar.present[agents.places])
        if self._account is not None:
            self._advance(row)
        elif agents.usable.mean() >= READY_SHARE:
            self._account = agents.open(row, self._arriving.stale_bars)
        n_sleeves = len(agents.places)
        value, numbers = np.ones(n_sleeves), np.zeros((n_sleeves, 3))
        if self._account is not None:
            value, numbers = self._decide(self._account)
        self.shown = np.concatenate(
            [numbers, self._record.take(value)], axis=-1, dtype=np.float32, casting="same_kind"
        )

    @property
    def have_begun(self) -> bool:
        """Whether they trade yet."""
        return self._account is not None

    def require(self) -> Sleeves:
        """Return the sleeves at the bar that was taken last.

        Raises:
            ModelAnswerError: If an agent answered what is no number there.
        """
        if self._problem is not None:
            raise self._problem
        return self

    def _advance(self, row: Bar) -> None:
        agents, account = self._agents, self._account
        assert account is not None
        assert self._sent is not None
        terms = open_terms(agents.rules, account, row)
        fill = fill_order(agents.rules, agents.rates, account, row, self._sent.order, terms)
        # No venue holds these: what ends within a bar, or is delisted, ends as in the backtest.
        moved = settle_bar(agents.rules, agents.rates, account, row, self._sent, fill)
        self._account = moved.after

    def _decide(self, account: Account) -> tuple[NDArray[Any], NDArray[Any]]:
        """Let agents decide.

        Returns:
            What sleeves are worth, (N,); position, proposal and how sure agents are, (N, 3).
        """
        equity = account.equity
        asked, self._problem = torch.zeros_like(equity), None
        try:
            proposal = self._agents.decide(account)
        except ModelAnswerError as e:
            self._problem, self._sent = e, send_nothing(account)
        else:
            asked, self.confidence = proposal.action, proposal.confidence
            self.inputs_sha256 = proposal.inputs_sha256
            self._sent = self._agents.order(account, proposal)
        target = (account.units + self._sent.order) * account.mark
        self.target_frac = _share(target, equity)
        position = _share(account.units * account.mark, equity)
        numbers = [position.numpy(), asked.numpy(), self.confidence]
        cash = self._agents.rules.account.initial_cash_ccy
        return equity.numpy() / cash, np.stack(numbers, axis=-1)


def _whole(account: SessionAccount) -> PortfolioAccount:
    assert isinstance(account, PortfolioAccount)
    return account


def _share(amount: Tensor, of: Tensor) -> Tensor:
    """Return amounts of accounts that are worth something; 0 of the others."""
    return torch.where(of > 0.0, amount / torch.where(of > 0.0, of, 1.0), 0.0)
