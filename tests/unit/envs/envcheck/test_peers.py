"""Faults known from elsewhere are found again in the peers that are installed."""

from __future__ import annotations

import platform
import sys
import warnings
from collections.abc import Callable

import pytest

from tradingbot.domain.errors import MissingExtraError, UserError
from tradingbot.envs.envcheck import CheckVerdict, Scorecard
from tradingbot.envs.envcheck.peers import PEERS, find_peers
from tradingbot.envs.envcheck.peers.installed import load_file, load_module, version_of

ANYTRADING, TRADING_ENV, FINRL, FINRL_NP = PEERS


Observed = Callable[[str, str], float]


@pytest.fixture
def observed(card_of: Callable[[str], Scorecard]) -> Observed:
    """What a check that must fail saw."""

    def look_up(peer: str, check: str) -> float:
        finding = next(f for f in card_of(peer).findings if f.check == check)
        assert finding.verdict is CheckVerdict.FAIL, finding.says
        assert finding.observed is not None
        return finding.observed

    return look_up


def test_seeded_resets_of_trading_env_start_elsewhere_each_time(observed: Observed) -> None:
    assert observed(TRADING_ENV, "seed_determinism") > 1


def test_interest_of_trading_env_is_charged_once(observed: Observed) -> None:
    # 0.1 % of 10,000 for one of 100 bars.
    assert observed(TRADING_ENV, "borrow_accrues") == pytest.approx(10.0, rel=0.01)


def test_windows_of_trading_env_show_former_episodes(observed: Observed) -> None:
    assert observed(TRADING_ENV, "no_bleeding_between_episodes") > 5


def test_fees_of_anytrading_are_not_in_its_reward(observed: Observed) -> None:
    assert observed(ANYTRADING, "fees_charged") == 0.0
    assert observed(ANYTRADING, "position_in_observation") == 0.0


def test_seeded_resets_of_finrl_np_have_other_balances(observed: Observed) -> None:
    assert observed(FINRL_NP, "seed_determinism") > 1


def test_cash_of_finrl_np_falls_below_zero_by_the_fee(observed: Observed) -> None:
    assert observed(FINRL_NP, "cash_never_negative") == pytest.approx(-10.0, abs=0.01)


def test_last_reward_of_finrl_np_is_many_times_the_others(
    observed: Observed, card_of: Callable[[str], Scorecard]
) -> None:
    assert observed(FINRL_NP, "reward_is_declared_terms") > 10
    assert card_of(FINRL_NP).verdict_of("truncated_is_not_terminated") is CheckVerdict.FAIL


@pytest.mark.parametrize("peer", [FINRL, TRADING_ENV])
def test_order_is_filled_at_the_price_in_the_observation(peer: str, observed: Observed) -> None:
    assert observed(peer, "no_fill_before_next_bar") == pytest.approx(100.0)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="NaN casts to another integer there")
@pytest.mark.parametrize("peer", [FINRL, FINRL_NP])
def test_nan_action_of_finrl_changes_the_position(peer: str, observed: Observed) -> None:
    assert observed(peer, "nan_action_is_safe") > 1e18


@pytest.mark.parametrize("peer", list(PEERS))
def test_peer_passes_what_it_does_right(peer: str, card_of: Callable[[str], Scorecard]) -> None:
    card = card_of(peer)

    assert card.verdict_of("future_not_in_observation") is CheckVerdict.PASS
    assert card.verdict_of("observation_in_space") is CheckVerdict.PASS
    assert not [finding for finding in card.failed if "raised" in finding.says]


def test_missing_package_names_the_extra() -> None:
    with pytest.raises(MissingExtraError, match="EXTRA=peers"):
        version_of("gym-no-such-thing")
    with pytest.raises(MissingExtraError, match="gym-no-such-thing"):
        load_module("gym-no-such-thing", "gym_no_such_thing")


def test_file_that_is_not_in_the_package_is_refused() -> None:
    with pytest.raises(UserError, match="must have the file"):
        load_file("gymnasium", "gymnasium/no_such_file.py")


def test_peer_that_cannot_be_loaded_is_named_and_not_invented(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing() -> None:
        raise MissingExtraError("peers", package="gym-anytrading")

    monkeypatch.setitem(PEERS, ANYTRADING, missing)

    probes, absent = find_peers()

    assert ANYTRADING not in {probe.name for probe in probes}
    assert "EXTRA=peers" in next(peer.reason for peer in absent if peer.name == ANYTRADING)


def test_loading_a_peer_leaves_warning_filters_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("gym_trading_env")  # which turns every warning of its user into an error
    for name in [name for name in sys.modules if name.startswith("gym_trading_env")]:
        monkeypatch.delitem(sys.modules, name)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        before = list(warnings.filters)

        load_module("gym-trading-env", "gym_trading_env.environments")

        assert list(warnings.filters) == before
