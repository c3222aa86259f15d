"""What a turn writes: its decisions, and its orders as sent or denied."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from tradingbot.domain.errors import ModelAnswerError
from tradingbot.domain.events.event import Event
from tradingbot.domain.events.session import (
    AlertLevel,
    AlertRaised,
    DecisionMade,
)
from tradingbot.domain.events.trading import OrderDenied, OrderSubmitted
from tradingbot.market.advance import SentOrder
from tradingbot.runtime.session.account_record import SessionAccount
from tradingbot.runtime.session.bars import MarketBar
from tradingbot.runtime.session.decision import Proposal, SessionDecider
from tradingbot.runtime.session.judging import JudgedOrders

SHADOW_NOT_FINITE = "SHADOW_NOT_FINITE"


def list_decisions(
    decider: SessionDecider,
    bar: MarketBar,
    proposal: Proposal,
    sent: SentOrder,
    *,
    is_shadow: bool = False,
) -> list[DecisionMade]:
    """Return the decisions of a proposal (N,) at a bar, without the orders that follow."""
    return [
        DecisionMade(
            symbol,
            bar.closed_at,
            decider.model.sha256,
            decider.rules.action.space,
            int(sent.decision.code[lane]),
            float(proposal.action[lane]),
            float(sent.decision.smoothed[lane]),
            float(proposal.confidence[lane]),
            inputs_sha256=proposal.inputs_sha256[lane],
            is_shadow=is_shadow,
        )
        for lane, symbol in enumerate(decider.model.symbols)
    ]


def list_turn(
    decider: SessionDecider,
    bar: MarketBar,
    proposal: Proposal,
    judged: JudgedOrders,
    shadow: SessionDecider | None,
    account: SessionAccount,
) -> list[Event]:
    """Return the decisions of a turn with the orders that follow, and those of a shadow.

    A shadow that answers what is no number has none at this bar: an alert stands for them.
    """
    made = list_decisions(decider, bar, proposal, judged.sent)
    for lane, intent in enumerate(judged.intents):
        if intent is not None:
            made[lane] = replace(made[lane], client_order_id=intent.client_order_id)
    if shadow is None:
        return [*made]
    try:
        beside = shadow.decide(account)
    except ModelAnswerError as e:
        return [*made, AlertRaised(bar.closed_at, AlertLevel.WARNING, SHADOW_NOT_FINITE, str(e))]
    sent = shadow.order(account, beside)
    return [*made, *list_decisions(shadow, bar, beside, sent, is_shadow=True)]


def list_orders(judged: JudgedOrders, now: datetime) -> list[Event]:
    """Return every order of a turn, denied or about to be sent."""
    events: list[Event] = []
    for intent in judged.intents:
        if intent is None:
            continue
        reason = judged.denials.get(intent.client_order_id)
        denied = None if reason is None else OrderDenied(intent, reason)
        events.append(denied or OrderSubmitted(intent, now))
    return events
