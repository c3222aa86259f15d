"""A device whose memory does not suffice: one clear line instead of a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from tradingbot.domain.errors import UserError


@contextmanager
def within_memory(device: torch.device) -> Iterator[None]:
    """Say what to do where the block takes more memory than the device has.

    Raises:
        UserError: If it does.
    """
    try:
        yield
    except torch.OutOfMemoryError as e:
        rule = "training must fit into the device's memory"
        remedy = "Lower budget.n_envs or the learner's batch, or take fewer symbols"
        raise UserError(rule, was="out of memory", where=str(device), remedy=remedy) from e
