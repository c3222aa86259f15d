"""Cards are computed once and shared: ours, and those of the peers that are installed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from tradingbot.domain.errors import UserError
from tradingbot.envs.envcheck import Scorecard, run_checks
from tradingbot.envs.envcheck.ours import our_probes
from tradingbot.envs.envcheck.peers import PEERS


@pytest.fixture(scope="session")
def card_of() -> Callable[[str], Scorecard]:
    """The card of an environment by its probe's name; skips where a peer cannot be loaded."""
    ours = {probe.name: probe for probe in our_probes()}

    @cache
    def find(name: str) -> Scorecard:
        try:
            return run_checks(ours[name] if name in ours else PEERS[name]())
        except UserError as e:
            return pytest.skip(str(e))

    return find
