"""Sleeves of a world: accounts of one symbol each that frozen agents trade from bar to bar."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.domain.errors import UserError
from tradingbot.envs.actions import read_actions
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.portfolio.book import SleeveBook
from tradingbot.envs.starting import first_ready_bar
from tradingbot.envs.world import World, require_world
from tradingbot.market.account import Account, open_accounts
from tradingbot.market.advance import advance
from tradingbot.market.bars import BAR_COLUMNS, STALE_COLUMN, UNSEEN_STALE_BARS, tensor_market
from tradingbot.market.observation import observe_accounts
from tradingbot.market.params import NEVER_BARS, endless
from tradingbot.market.portfolio.inputs import member_names, see_sleeves
from tradingbot.networks.projection import Projection

FloatArray = NDArray[np.float64]
SleeveDecision = Callable[[Tensor, Tensor], Tensor | NDArray[np.generic]]
"""Rows (N,) of the market and private numbers (18, N) of sleeves → their actions (N,); pure."""

_POLICY = "policy of the per-symbol accounts"


class SleevePaths(NamedTuple):
    """What the sleeves of a world did, (T, N) each; nothing before the first decision."""

    asked: FloatArray
    """What the agent asked for at the close, in the space of its rules."""
    target_frac: FloatArray
    """Position that its order asks for at the next open, of its capital, both at the close; whether
    and how much of it fills is not known then."""
    position_frac: FloatArray
    """Position at the close, of its capital."""
    value: FloatArray
    """What the sleeve is worth at the close, 1 at the first decision."""
    confidence: FloatArray
    """How sure the agent is, in [0, 1]."""

    @classmethod
    def empty(cls, n_bars: int, n_sleeves: int) -> SleevePaths:
        """Return sleeves that do nothing, to be written into."""
        paths = cls._make(np.zeros((len(cls._fields), n_bars, n_sleeves)))
        paths.value[:] = 1.0
        return paths


@torch.no_grad()
def run_sleeves(world: World, config: EnvConfig, decide: SleeveDecision) -> SleevePaths:
    """Let agents trade every symbol's account from the first ready bar to the last.

    Raises:
        UserError: If shape or dtype of an answer are wrong, or a number is not finite: a frozen
            policy that gives one is broken, and holding on it would hide that.
    """
    require_world(world)
    rules, n = endless(config.rules), world.n_symbols
    market = tensor_market(world.prices, world.present, dtype=torch.float64)
    rates = config.costs.rates(dtype=torch.float64)
    first = max(first_ready_bar(world), rules.episode.window_bars - 1)
    row = torch.arange(n, dtype=torch.int32) * world.n_bars + first
    account = open_accounts(rules.account.initial_cash_ccy, row, market.rows[row.long(), 3])
    account = account._replace(stale_bars=market.stale_bars(row))
    paths = SleevePaths.empty(world.n_bars, n)
    for bar in range(first, world.n_bars - 1):
        private = observe_accounts(rules, account)
        actions = read_answer(decide(account.row.long(), private), config, n)
        made = advance(rules, rates, account, market.bar(account.row + 1), actions)
        _note(paths, bar, actions, made.after, account, made.order)
        account = made.after
    paths.value[first:] /= rules.account.initial_cash_ccy
    paths.value[first] = 1.0
    return paths


def _note(
    paths: SleevePaths, bar: int, actions: Tensor, after: Account, before: Account, sent: Tensor
) -> None:
    """Keep what one bar did."""
    paths.asked[bar] = actions.double()
    paths.target_frac[bar] = _share((before.units + sent) * before.mark, before.equity)
    paths.position_frac[bar + 1] = _share(after.units * after.mark, after.equity)
    paths.value[bar + 1] = after.equity
    paths.confidence[bar] = actions.double().abs().clamp_max(1.0)


def _share(amount: Tensor, of: Tensor) -> Tensor:
    """Return amounts of accounts that are worth something; 0 of the others."""
    return torch.where(of > 0.0, amount / torch.where(of > 0.0, of, 1.0), 0.0)


def read_answer(answer: Tensor | NDArray[np.generic], config: EnvConfig, n_sleeves: int) -> Tensor:
    """Return what the policy of the sleeves answered as actions (N,).

    Raises:
        UserError: If shape or dtype are wrong, or a number is not finite.
    """
    try:
        space = config.rules.action.space
        actions = read_actions(answer, (n_sleeves,), space, strict=config.strict)
    except UserError as e:
        raise UserError(e.rule, was=e.was, where=_POLICY) from e
    if not bool(torch.isfinite(actions).all()):
        raise UserError("actions must be finite", was=actions.tolist(), where=_POLICY)
    return actions


def write_book(
    world: World,
    paths: SleevePaths,
    embeddings: NDArray[np.float32] | None = None,
    projection: Projection | None = None,
) -> SleeveBook:
    """Put together what sleeves do and what the master sees of them.

    Args:
        world: What they trade; its regimes, averaged over symbols, are what all share.
        paths: What they did.
        embeddings: (T, N, E) how their agents see the market; none by default.
        projection: Through which the master sees embeddings; as they are by default.
    """
    if embeddings is not None and projection is not None:
        embeddings = projection(torch.from_numpy(embeddings)).numpy()
    agents = np.stack([paths.position_frac, paths.asked, paths.confidence], axis=-1)
    usable = np.array(world.usable.any(axis=0))
    usable[: first_ready_bar(world)] = False
    regimes, by_bar = world.regimes.mean(axis=0), _by_bar(world)
    return SleeveBook(
        symbols=world.symbols,
        closed_at=world.closed_at,
        label=world.label,
        synthetic=world.synthetic,
        usable=usable,
        rows=torch.from_numpy(_rows(by_bar, paths.target_frac)),
        close=_closes(by_bar),
        members=torch.from_numpy(see_sleeves(agents, paths.value, embeddings)),
        shared=torch.from_numpy(regimes.astype(np.float32)),
        member_names=member_names(0 if embeddings is None else embeddings.shape[-1]),
        shared_names=world.regime_names,
        value=paths.value,
        projection=projection,
    )


def _by_bar(world: World) -> FloatArray:
    """Return the bars of a world as the simulator sees them, (T, N, columns)."""
    market = tensor_market(world.prices, world.present, dtype=torch.float64)
    return market.rows.view(world.n_symbols, world.n_bars, -1).movedim(1, 0).numpy()


def _closes(by_bar: FloatArray) -> FloatArray:
    """Return the last price known at each close, (T, N); 0 before the first."""
    known = by_bar[..., STALE_COLUMN] < UNSEEN_STALE_BARS
    return np.where(known, by_bar[..., BAR_COLUMNS.index("close")], 0.0)


def _rows(by_bar: FloatArray, target_frac: FloatArray) -> FloatArray:
    """Return what the bar after each close holds, (T, 7, N); nothing follows the last."""
    column = {name: by_bar[..., place] for place, name in enumerate(BAR_COLUMNS)}
    stale = by_bar[..., STALE_COLUMN]
    rows = np.zeros((len(by_bar), 7, by_bar.shape[1]))
    seen = stale[:-1] < UNSEEN_STALE_BARS  # there is no gap to the first price of all
    opened, closed = column["open"][1:], column["close"]
    rows[:-1, 0] = np.where(seen, opened / closed[:-1] - 1.0, 0.0)
    rows[:-1, 1] = closed[1:] / opened - 1.0
    rows[:, 2] = target_frac
    rows[:-1, 3] = (column["tradable"][1:] > 0.0) & (column["volume"][1:] > 0.0)
    rows[:, 4] = np.minimum(stale, NEVER_BARS)
    rows[:-1, 5] = column["volume"][1:] * opened
    rows[:-1, 6] = column["volatility"][1:]
    return rows
