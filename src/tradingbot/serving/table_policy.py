"""A served model as a policy of backtests: what a session trades by, on a table of bars."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tradingbot.agents.policy import PolicyInputs
from tradingbot.domain.errors import ConfigError
from tradingbot.serving.served_model import ServedModel


class ServedPolicy:
    """The N agents of a bundle as an `agents.policy.Policy`; account i is agent i mod N's.

    The table is streamed bar by bar, all symbols at once, as a session takes bars: a backtest and a
    session that begin with the same bar decide by the same numbers.
    """

    def __init__(self, model: ServedModel, table: Tensor, *, first_bar: int = 0) -> None:
        """Stream a table.

        Args:
            model: Of N agents.
            table: (N, T, F) float32, scaled: what agents see of the market at each bar.
            first_bar: Of the table that will be traded: it is row 0 of the first symbol; bars
                before it are only remembered.

        Raises:
            ConfigError: If the table has other symbols or columns.
        """
        sizes = model.manifest.sizes
        if (table.shape[0], table.shape[2]) != (sizes.n_agents, sizes.n_features):
            rule = f"a table must have {sizes.n_agents} symbols and {sizes.n_features} columns"
            raise ConfigError(rule, was=tuple(table.shape))
        self._model = model
        self._seen = stream_table(model, table)[:, first_bar:].reshape(-1, sizes.width)
        self._everyone = np.arange(sizes.n_agents)

    def __call__(self, seen: PolicyInputs) -> Tensor:
        """Return actions (B,) of accounts that agents 0 … N − 1 hold, in turn.

        Raises:
            ConfigError: If B is no multiple of N, or codes are asked for without what is allowed.
            TradingError: If an answer is not finite.
        """
        n_agents = len(self._everyone)
        if len(seen.row) % n_agents or not len(seen.row):
            rule = f"accounts must be a multiple of {n_agents}, one for each agent"
            raise ConfigError(rule, was=len(seen.row))
        row, private = seen.row.numpy(), seen.private.numpy()
        allowed = None if seen.allowed is None else seen.allowed.numpy()
        wanted = []
        for begin in range(0, len(row), n_agents):  # as many at once as a session asks for
            part = slice(begin, begin + n_agents)
            codes = None if allowed is None else allowed[:, part]
            embedding = self._seen[row[part]]
            wanted.append(self._model.decide(self._everyone, embedding, private[:, part], codes))
        return torch.from_numpy(np.concatenate([each.action for each in wanted]))


def stream_table(model: ServedModel, table: Tensor) -> NDArray[np.float32]:
    """Return embeddings (N, T, D) of rows (N, T, F)."""
    n_agents, n_bars, _ = table.shape
    made = np.empty((n_agents, n_bars, model.manifest.sizes.width), dtype=np.float32)
    memory, rows = model.begin_stream(n_agents), table.numpy()
    for bar in range(n_bars):
        memory, made[:, bar] = model.stream(memory, np.ascontiguousarray(rows[:, bar]))
    return made
