"""Sessions that are killed: no order twice, no fill lost, the same decisions as without a kill."""

from __future__ import annotations

import json
from pathlib import Path
from unittest import mock

import pytest

from fixtures.killed_sessions import KINDS, open_killed
from fixtures.replayed_sessions import FIRST, NAME, open_session
from fixtures.warm_process import WarmProcess
from tradingbot.domain.errors import BrokerUnavailableError


def run_killed(folder: Path, kills: int, seed: int, kind: str) -> dict[str, object]:
    function = "fixtures.killed_sessions:main"
    with WarmProcess([str(folder), str(kills), str(seed), kind], function=function) as process:
        out, said = process.communicate(timeout=600)
    assert process.returncode == 0, said
    found: dict[str, object] = json.loads(out)
    return found


def compare(folder: Path, kills: int, seed: int, kind: str = "accounts") -> dict[str, object]:
    for name in ("whole", "killed"):
        (folder / name).mkdir()
    whole, name = open_killed(kind, folder / "whole").run(), KINDS[kind][0].NAME
    found = run_killed(folder / "killed", kills, seed, kind)

    assert found["decisions"] == [repr(each) for each in whole.journal.decisions(name)]
    assert found["orders"] == [repr(each) for each in whole.journal.orders(name)]
    assert found["at_venue"] == found["journaled"] == len(whole.journal.fills(name))
    assert found["drift"] == {}
    assert found["equity"] == whole.session.equity_ccy
    whole.close()
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_P04_killed_session_ends_as_one_that_was_not(tmp_path: Path, kind: str) -> None:
    assert compare(tmp_path, 3, seed=7, kind=kind)["killed"] == 3


def test_session_saved_while_its_venue_is_away_goes_on(tmp_path: Path) -> None:
    """The accounts stand at the bar before the one that could not be settled."""
    for name in ("whole", "saved"):
        (tmp_path / name).mkdir()
    whole = open_session(tmp_path / "whole", stop=FIRST + 6).run()
    opened = open_session(tmp_path / "saved", stop=FIRST + 6).run(until=FIRST + 3)
    bar = next(iter(opened.session.source.bars(FIRST + 2)))
    away = BrokerUnavailableError("the venue must answer", was="nothing")
    with (
        mock.patch.object(type(opened.broker), "fills", side_effect=away),
        pytest.raises(BrokerUnavailableError),
    ):
        opened.session.take(bar, bar.closed_at)
    opened.session.save()
    opened.close()

    again = open_session(tmp_path / "saved", stop=FIRST + 6)
    assert again.session.resume()
    again.run()
    assert again.journal.decisions(NAME) == whole.journal.decisions(NAME)
    assert again.session.equity_ccy == whole.session.equity_ccy
    again.close()
    whole.close()


@pytest.mark.slow
def test_P04_session_survives_two_hundred_kills(tmp_path: Path) -> None:
    killed = sum(_kills(tmp_path, seed) for seed in range(25))
    assert killed >= 200


def _kills(folder: Path, seed: int) -> int:
    own = folder / str(seed)
    own.mkdir()
    found = compare(own, 40, seed, kind=[*KINDS][seed % 3])
    assert isinstance(found["killed"], int)
    return found["killed"]
