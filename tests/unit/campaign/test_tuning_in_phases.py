"""What tuning is asked on, and what the phases after it make of its answer."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from fixtures.tiny_campaign import OPTIONS, tiny_campaign
from tradingbot.campaign.data_phase import PreparedData
from tradingbot.campaign.phases import CampaignWalk, walk_tuning
from tradingbot.campaign.request import PROTOTYPE_AGENTS, campaign_config
from tradingbot.campaign.training_phase import PhaseTools
from tradingbot.data.universes import load_universe
from tradingbot.tuning import session
from tradingbot.tuning.request import TuneRequest

GAIN = "learner.direct.squash_gain"
LATE = "ZZ9"
NAMED = load_universe("prototype10").symbols
SYMBOLS = ("AA1", "AA2", *NAMED, LATE)


@pytest.fixture
def tuned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[TuneRequest]:
    """Studies that were asked for: each beats the preset, with a gain of 9."""
    asked: list[TuneRequest] = []
    best = tmp_path / "best.yaml"
    best.write_text("extends: quick\nlearner:\n  direct:\n    squash_gain: 9.0\n")
    evidence = SimpleNamespace(words="Best of 2", choice="", beats_untuned=True)

    def tune(study: TuneRequest, *_: object, **__: object) -> SimpleNamespace:
        asked.append(study)
        return SimpleNamespace(files=SimpleNamespace(evidence=evidence, preset=best))

    monkeypatch.setattr(session, "tune", tune)
    return asked


@pytest.fixture
def walk(tmp_path: Path) -> CampaignWalk:
    """Thirteen symbols, one of them late, and a gain of 3."""
    options = {**OPTIONS, "symbols": [], GAIN: 3.0}
    config = campaign_config("quick", options, "tiny-market", generates=True)
    request = tiny_campaign(config=config, options=tuple(options.items()), tune_trials=2)
    tools = PhaseTools(tmp_path, lambda *_: None, lambda _: None, lambda: False)
    return CampaignWalk(request, tools, data=PreparedData("bars", SYMBOLS, (LATE,), "", {}))


def test_full_phase_has_what_tuning_found(walk: CampaignWalk, tuned: list[TuneRequest]) -> None:
    assert walk.config().learner.direct.squash_gain == 3.0

    walk_tuning(walk)

    assert tuned
    assert walk.config().learner.direct.squash_gain == 9.0


def test_study_is_made_on_the_symbols_of_the_prototype(
    walk: CampaignWalk, tuned: list[TuneRequest]
) -> None:
    walk_tuning(walk)

    assert set(tuned[0].symbols) == set(NAMED)
    assert len(tuned[0].symbols) == PROTOTYPE_AGENTS == 10
    assert tuned[0].config.symbols == walk.symbols  # the best are trained again on all of them


def test_prototype_is_of_the_first_symbols_where_its_own_are_not_there(walk: CampaignWalk) -> None:
    others = tuple(f"S{number}" for number in range(12))
    walk.data = PreparedData("bars", (*others, NAMED[0]), (), "", {})

    assert walk.prototype_symbols == (NAMED[0], *others[:9])


def test_late_symbols_stay_without_an_agent_after_tuning(
    walk: CampaignWalk, tuned: list[TuneRequest]
) -> None:
    before = walk.config().symbols
    walk_tuning(walk)

    assert tuned
    assert before == walk.config().symbols == SYMBOLS[:-1]
