"""Infos that are made when somebody looks: to everyone who does they are plain dicts."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from tradingbot.envs.single.lazy_info import LazyInfo

ITEMS = {"equity": 1.5, "action": "HOLD", "terms": {"pnl": 0.25}}


def lazy() -> LazyInfo:
    return LazyInfo(lambda: dict(ITEMS), {"action": "HOLD"})


@pytest.mark.parametrize(
    "look",
    [
        lambda info: dict(info),
        lambda info: {**info},
        lambda info: info.copy(),
        lambda info: copy.copy(info),
        lambda info: copy.deepcopy(info),
        lambda info: pickle.loads(pickle.dumps(info)),
        lambda info: json.loads(json.dumps(info)),
        lambda info: dict(info.items()),
        lambda info: dict(zip(info.keys(), info.values(), strict=True)),
        lambda info: {key: info[key] for key in info},
        lambda info: {key: info.get(key) for key in reversed(info)},
        lambda info: {} | info,
        lambda info: info | {},
        lambda info: eval(repr(info)),
        lambda info: {key: info.pop(key) for key in list(info)},
        lambda info: dict([info.popitem() for _ in range(len(info))]),
        lambda info: {key: info.setdefault(key, None) for key in ITEMS},
    ],
)
def test_every_way_to_look_finds_all_items(look: Callable[[Any], dict[str, Any]]) -> None:
    assert look(lazy()) == ITEMS


def test_nothing_is_made_before_a_look_and_once_after() -> None:
    calls: list[int] = []

    def make() -> dict[str, Any]:
        calls.append(1)
        return dict(ITEMS)

    info = LazyInfo(make, {})
    info["own"] = 1
    assert calls == []

    assert info["equity"] == 1.5
    assert len(info) == 4
    assert calls == [1]


def test_what_was_written_first_stays_and_absent_keys_are_absent() -> None:
    info = lazy()
    info["equity"] = -1.0
    info |= {"more": 2}

    assert info["equity"] == -1.0
    assert info["more"] == 2
    assert info == ITEMS | {"equity": -1.0, "more": 2}
    assert "absent" not in info
    assert info.get("absent", 7) == 7
    with pytest.raises(KeyError):
        info["absent"]


def test_copies_and_pickles_are_plain_dicts() -> None:
    assert type(lazy().copy()) is dict
    assert type(pickle.loads(pickle.dumps(lazy()))) is dict
    assert isinstance(lazy(), dict)
    assert lazy() == lazy()
    assert lazy() != {}
    assert bool(lazy())


def test_cleared_info_stays_empty() -> None:
    info = lazy()
    del info["action"]
    assert "action" not in info
    info.clear()

    assert len(info) == 0
    assert not info
