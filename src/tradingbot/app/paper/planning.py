"""A session before it begins: everything that it will be held to, decided once."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from decimal import ROUND_DOWN, Decimal
from pathlib import Path
from typing import Any

from tradingbot.app.paper.bars import config_of, hours_of, open_bars
from tradingbot.app.paper.period import after_warm_up, count_warm_up, find_period
from tradingbot.app.paper.rehearsal import rehearse
from tradingbot.data.calendar import closing_day
from tradingbot.data.sources.pacing import Clock
from tradingbot.domain.errors import ConfigError, DataError, UserError
from tradingbot.domain.exact_number import MAX_DECIMALS
from tradingbot.domain.plain_values import read_record
from tradingbot.features.inputs import MarketInputs
from tradingbot.features.registry import registered_features
from tradingbot.market.costs import CostProfile, cost_profile
from tradingbot.market.params import ActionRules, SimulatorParams
from tradingbot.risk.limits import (
    SESSION_RISK,
    WIDEST_ORDER_LIMITS,
    WIDEST_SESSION_LIMITS,
    RiskLimits,
    SessionLimits,
    split_limits,
)
from tradingbot.runtime.brokers.paper.options import PaperOptions
from tradingbot.runtime.session.clock import ExchangeHours
from tradingbot.runtime.session.decision import places_of
from tradingbot.runtime.session.settings import SessionSettings
from tradingbot.serving.bundle_fit import require_unseen
from tradingbot.serving.served_model import ServedModel
from tradingbot.training.config import TrainConfig


@dataclass(frozen=True)
class SessionRequest:
    """What a person asks to be started."""

    name: str
    model: Path
    """Bundle."""
    dataset: str | None = None
    start: date | None = None
    end: date | None = None
    limits: dict[str, object] | None = None
    """Fields of `SessionLimits` that differ."""
    is_unlimited: bool = False
    """Judge by the rules of the symbols' own accounts alone, as a backtest does."""
    authorised: tuple[str, ...] = ()
    speed: float = 0.0
    parts: int = 1
    latency_s: float = 0.0
    shadow: Path | None = None
    broker: str = "paper"
    """`paper` or `alpaca`."""
    bars: str = "replay"
    """`replay`, `alpaca` or `folder:PATH`."""
    cash_ccy: Decimal | None = None
    """Of the whole account; what the model's run had for each symbol by default."""
    splits: Path | None = None
    """File that announces splits to the built-in broker."""
    journal: str | None = None
    """Address of a database without a password; None: a file of the session's folder."""
    standing: str = ""
    """Version, state and accepted verdict of the model, as the journal will have it."""


def plan_session(
    request: SessionRequest,
    workspace: Path,
    *,
    clock: Clock = Clock(),  # noqa: B008 - frozen
    told: Callable[[str], None] = lambda _: None,
) -> SessionSettings:
    """Decide everything that a session will be held to.

    Args:
        request: What is asked for.
        workspace: Where bars and runs are.
        clock: Time of day.
        told: Of what a person should know and nothing forbids.

    Raises:
        UserError: If model, data, days or limits do not go together.
    """
    model = ServedModel.open(request.model)
    manifest = model.manifest
    config = config_of(workspace, manifest.run.id)
    dataset = request.dataset or (None if config is None else config.dataset)
    inputs, provenance, digest = open_bars(workspace, dataset, manifest.run.id)
    require_inputs(model.symbols, model.feature_ids, inputs)
    if request.splits is not None and request.bars == "replay":
        _require_unadjusted(provenance.adjustment, dataset or manifest.run.id)
    rules = _rules_of(model, config, request.cash_ccy)
    cash = _n_accounts(model) * rules.account.initial_cash_ccy
    order_limits, session_limits = _limits_of(request, model, rules)
    if unknown := set(session_limits.restricted_symbols) - set(model.symbols):
        told(f"restricted_symbols: the model has no {', '.join(sorted(unknown))}")
    rules = _with_stop_loss(rules, session_limits)
    shadow = None if request.shadow is None else _open_shadow(request.shadow, model)
    settings = SessionSettings(
        name=request.name,
        model=str(request.model),
        model_sha256=model.sha256,
        run=manifest.run.id,
        dataset=dataset,
        data_sha256=digest,
        first_bar=0,
        stop_bar=None,
        calendar=provenance.calendar,
        timeframe=str(provenance.timeframe),
        grid=str(provenance.grid.value),
        rules=rules,
        costs=_costs_of(model, config),
        limits=order_limits,
        session_limits=session_limits,
        venue=PaperOptions(cash, request.parts, request.latency_s),
        broker=request.broker,
        bars=request.bars,
        authorised=request.authorised,
        speed=request.speed,
        shadow=None if request.shadow is None else str(request.shadow),
        shadow_sha256=None if shadow is None else shadow.sha256,
        splits=None if request.splits is None else str(request.splits),
        journal=request.journal,
        verdict=manifest.verdict.status,
        standing=request.standing,
    )
    hours = hours_of(settings, inputs, clock)
    days = (request.start, request.end) if settings.is_replay else None
    first, stop = find_period(inputs, days, hours, clock.now())
    first = after_warm_up(first, stop, count_warm_up(model), inputs, told)
    if stop is not None:
        try:
            require_unseen(manifest, str(closing_day(inputs.closed_at)[first]), where=request.name)
        except ConfigError as e:
            told(f"in sample, worth nothing as a test: {e}")
    settings = replace(settings, first_bar=first, stop_bar=stop)
    if not request.is_unlimited:
        _tell_of_denials(settings, model, inputs, hours, told)
    return settings


def require_inputs(
    symbols: tuple[str, ...], feature_ids: tuple[str, ...], inputs: MarketInputs
) -> None:
    """Refuse bars that lack what a model reads, before the session has a folder and a name.

    Args:
        symbols: Of the model.
        feature_ids: Of the model, e.g. `rsi_14-v1`; what is no known feature is a covariate.
        inputs: Bars and covariates that the session would take.

    Raises:
        DataError: Naming symbols or covariates that are not there.
    """
    places_of(symbols, inputs.symbols)
    names = [each.rpartition("-v")[0] for each in feature_ids]
    known = {*registered_features(), *inputs.covariates}
    lacking = [name for name in names if name not in known]
    if lacking:
        raise DataError(
            "data must have every covariate that the model reads",
            was=f"none of {', '.join(lacking[:5])}",
            remedy="Choose a --dataset that has them, or leave it out for that of the model's run",
        )


def _require_unadjusted(adjustment: str, where: str) -> None:
    """Refuse to split replayed bars whose prices are adjusted for splits already."""
    if adjustment != "none":
        rule = "--splits must stand with bars that are not adjusted for splits"
        remedy = "Leave it out: in these bars there is none; or import bars with --adjustment none"
        raise ConfigError(rule, was=f"adjustment {adjustment}", where=where, remedy=remedy)


def _open_shadow(bundle: Path, model: ServedModel) -> ServedModel:
    shadow = ServedModel.open(bundle)
    if shadow.symbols != model.symbols:
        rule = "a shadow must decide for the symbols of the model"
        raise ConfigError(rule, was=", ".join(shadow.symbols[:5]), where=str(bundle))
    if _n_accounts(shadow) != _n_accounts(model):
        rule = "a shadow must decide for as many accounts as the model"
        raise ConfigError(rule, was=_n_accounts(shadow), where=str(bundle))
    return shadow


def _n_accounts(model: ServedModel) -> int:
    """Return how many accounts a model trades: one for each symbol, or one for all of them."""
    return len(model.symbols) if model.portfolio is None else 1


def _costs_of(model: ServedModel, config: TrainConfig | None) -> CostProfile:
    """Return the costs of the run, or those of the bundle, or the usual ones."""
    if config is not None:
        return cost_profile(config.task.costs, config.task.cost_rates)
    if model.portfolio is not None:
        return read_record(CostProfile, model.portfolio.costs, name="costs")
    return CostProfile()


def _rules_of(
    model: ServedModel, config: TrainConfig | None, cash_ccy: Decimal | None
) -> SimulatorParams:
    """Return the rules of the run, or those of the bundle with the usual account."""
    if config is not None:
        rules = config.task.rules
    elif model.portfolio is not None:
        rules = read_record(SimulatorParams, model.portfolio.rules, name="rules")
    else:
        action = model.manifest.acting.action
        rules = SimulatorParams(
            limits=read_record(RiskLimits, action.limits, name="limits"),
            action=read_record(ActionRules, action.rules, name="action"),
        )
    # Alpaca sells whole shares short, and no fractions.
    is_whole = cash_ccy is not None and rules.limits.allow_short
    account = replace(rules.account, quantity_decimals=0 if is_whole else MAX_DECIMALS)
    if model.portfolio is not None:  # its backtest stops no single position
        account = replace(account, position_loss_frac=math.inf)
    if cash_ccy is not None:
        share = (cash_ccy / _n_accounts(model)).quantize(Decimal("0.01"), ROUND_DOWN)
        account = replace(account, initial_cash_ccy=float(share))
    return replace(rules, account=account)


def _with_stop_loss(rules: SimulatorParams, limits: SessionLimits) -> SimulatorParams:
    """Close positions at the session's stop-loss too, where the run was trained with a later one.

    The gate alone would keep a falling position from growing, and nothing would close it.
    """
    if limits.stop_loss_frac >= rules.account.position_loss_frac:
        return rules
    if limits.stop_loss_frac == WIDEST_SESSION_LIMITS.stop_loss_frac:
        return rules
    account = replace(rules.account, position_loss_frac=limits.stop_loss_frac)
    return replace(rules, account=account)


def _limits_of(
    request: SessionRequest, model: ServedModel, rules: SimulatorParams
) -> tuple[RiskLimits, SessionLimits]:
    if request.is_unlimited:
        base, order_limits = WIDEST_SESSION_LIMITS, WIDEST_ORDER_LIMITS
    else:
        stored: dict[str, Any] = model.manifest.session_limits
        base = read_record(SessionLimits, stored, name="session_limits")
        order_limits = replace(
            SESSION_RISK,
            allow_short=rules.limits.allow_short,
            max_stale_bars=rules.limits.max_stale_bars,
        )
    of_order, of_session = split_limits(request.limits or {})
    return (
        read_record(RiskLimits, of_order, name="limit", base=order_limits),
        read_record(SessionLimits, of_session, name="limit", base=base),
    )


def _tell_of_denials(
    settings: SessionSettings,
    model: ServedModel,
    inputs: MarketInputs,
    hours: ExchangeHours,
    told: Callable[[str], None],
) -> None:
    """Say how much of what the model wants the limits would deny, where that is a good part."""
    try:
        found = rehearse(settings, model, inputs, hours)
    except UserError as e:  # only who starts it is told less
        told(f"what the limits deny is not known: {e}")
        return
    if found is not None and found.is_worth_telling:
        told(found.words)
