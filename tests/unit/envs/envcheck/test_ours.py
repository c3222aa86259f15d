"""Our environments keep every promise, and the page shows their cards beside those of peers."""

from __future__ import annotations

import platform
import re
from collections.abc import Callable

import pytest

from tradingbot.envs.envcheck import CheckVerdict, EnvProbe, Scorecard, run_checks
from tradingbot.envs.envcheck.bars import dictate, stairs
from tradingbot.envs.envcheck.ours import LEAD_BARS, our_probe, our_probes
from tradingbot.envs.envcheck.peers import PEERS
from tradingbot.envs.envcheck.trace import build, mark, play
from unit.envs.envcheck.test_docs_page import REGENERATE, found, markdown_table

# How many starts differ is a draw of the peers' unseeded generators.
DRAWN = re.compile(r"(?<=[ (])\d+(?= (of|different))")


@pytest.mark.parametrize("probe", our_probes(), ids=lambda probe: probe.name)
def test_our_environment_passes_every_check(
    probe: EnvProbe, card_of: Callable[[str], Scorecard]
) -> None:
    card = card_of(probe.name)

    untold = [f.check for f in card.findings if f.verdict is CheckVerdict.UNTESTABLE]
    assert card.failed == ()
    assert untold == ([] if probe.short is not None else ["borrow_accrues"])


@pytest.mark.skipif(platform.machine() != "x86_64", reason="NaN casts to another integer there")
def test_page_shows_the_score_card(card_of: Callable[[str], Scorecard]) -> None:
    names = [*(probe.name for probe in our_probes()), *PEERS]

    fresh = markdown_table([card_of(name) for name in names]).strip()

    assert DRAWN.sub("N", found("scores")) == DRAWN.sub("N", fresh), f"run {REGENERATE}"


def test_first_observation_shows_the_first_dictated_bar() -> None:
    probe = our_probe("continuous")
    env = build(probe, stairs())

    _, info = env.reset(seed=1)

    assert info["bar"] == LEAD_BARS
    assert info["price"] == mark(dictate(stairs(), lead_bars=LEAD_BARS), probe, 0)


@pytest.mark.parametrize("space", ["continuous", "target", "discrete"])
def test_fill_at_the_seen_close_is_found_in_ours_too(
    space: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    from tradingbot.envs.envcheck import ours

    honest = ours._rules
    monkeypatch.setattr(
        ours,
        "_rules",
        lambda *args, **options: replace(
            honest(*args, **options),
            episode=replace(honest(*args, **options).episode, fill_at="this_close"),
        ),
    )

    card = run_checks(our_probe(space))  # type: ignore[arg-type]

    assert [finding.check for finding in card.failed] == ["no_fill_before_next_bar"]


def test_probes_actions_mean_what_they_say() -> None:
    from tradingbot.envs.envcheck.probe import Intent

    for probe in our_probes():
        trace = play(
            build(probe, stairs()),
            probe,
            (Intent.BUY, Intent.HOLD, Intent.HOLD, Intent.SELL, Intent.HOLD),
        )
        units = trace.read("units")
        assert units[0] == 0.0
        assert units[1] == pytest.approx(units[3], rel=1e-6)
        assert units[1] * 101.0 > 9_800.0
        assert units[4] == units[5] == 0.0
