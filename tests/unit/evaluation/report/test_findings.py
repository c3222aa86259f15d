"""Sentences of the page say what the figures say, at every turn."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from fixtures.example_dossier import around, example_dossier, example_memo
from tradingbot.evaluation.performance.record import HOLD, EarnedParts
from tradingbot.evaluation.report.blocks import Figures, Section
from tradingbot.evaluation.report.sections.costs import costs_section
from tradingbot.evaluation.report.sections.ensemble import ensemble_section
from tradingbot.evaluation.report.sections.gates import gates_section
from tradingbot.evaluation.report.sections.placebos import leak_section
from tradingbot.evaluation.report.sections.portfolio import portfolio_section
from tradingbot.evaluation.report.sections.statistics import statistics_section
from tradingbot.evaluation.report.sections.training import health_section
from tradingbot.evaluation.statistics.interval import Interval

FULL = example_dossier()


def figure_words(section: Section, name: str) -> tuple[str, str]:
    """Words and tone of an explained figure."""
    found = [
        figure
        for block in section.blocks
        if isinstance(block, Figures)
        for figure in block.figures
        if figure.name == name
    ]
    return found[0].words, found[0].tone


@pytest.mark.parametrize(
    ("break_even", "capacity", "words"),
    [
        (None, None, "No net return is left even without costs. No capital"),
        (math.inf, 1e6, "Even the highest cost tried, 50 bp one way, leaves some net return."),
        (7.5, 1e6, "No net return is left at a one-way cost of 7.50 bp; the run assumes 2.0 bp."),
    ],
)
def test_costs_say_where_nothing_is_left(
    break_even: float | None, capacity: float | None, words: str
) -> None:
    assert FULL.sensitivity is not None
    found = replace(
        FULL.sensitivity, break_even_cost_bps=(break_even, 1.0, 1.0, 1.0), capacity_ccy=capacity
    )

    assert words in costs_section(replace(FULL, sensitivity=found)).finding


@pytest.mark.parametrize(
    ("interval", "words", "tone"),
    [
        (around(1.0, 0.5), "If the truth were zero, so much would rarely be seen.", "good"),
        (around(0.1, 0.5), "It cannot be told from zero.", "bad"),
        (around(-1.0, 0.5), "It is worse than zero, beyond chance.", "bad"),
        (Interval(math.nan, math.nan, math.nan), "It could not be computed", "soft"),
    ],
)
def test_edge_is_told_from_zero_by_its_interval(interval: Interval, words: str, tone: str) -> None:
    agents = replace(FULL.test.policies[0], net_bps_per_bar=interval)
    test = replace(FULL.test, policies=(agents, *FULL.test.policies[1:]))

    said, toned = figure_words(
        statistics_section(replace(FULL, parts=(FULL.parts[0], test))), "Net return"
    )

    assert words in said
    assert toned == tone


@pytest.mark.parametrize(
    ("probability", "words"),
    [
        (0.96, "luck is an unlikely explanation"),
        (0.6, "luck cannot be ruled out"),
        (0.2, "luck explains the result better than skill"),
        (math.nan, "could not be computed"),
    ],
)
def test_luck_is_judged_by_the_deflated_ratio(probability: float, words: str) -> None:
    statistics = replace(FULL.statistics, deflated_sharpe=probability)

    assert words in statistics_section(replace(FULL, statistics=statistics)).finding


@pytest.mark.parametrize(
    ("needed", "words", "tone"),
    [
        (1000.0, "There are 1 764: enough.", "good"),
        (3000.0, "There are 1 764: too few.", "bad"),
        (math.inf, "No length would do", "bad"),
    ],
)
def test_track_record_is_compared_with_what_is_needed(needed: float, words: str, tone: str) -> None:
    statistics = replace(FULL.statistics, min_track_record_bars=needed)

    said, toned = figure_words(
        statistics_section(replace(FULL, statistics=statistics)), "Minimum track record"
    )

    assert words in said.replace("\u202f", " ")
    assert toned == tone


@pytest.mark.parametrize(
    ("excess", "words"),
    [(around(1.0, 0.5), "zero lies outside."), (around(0.1, 0.5), "zero lies within.")],
)
def test_performance_says_whether_the_lead_is_more_than_chance(
    excess: Interval, words: str
) -> None:
    parts = (replace(FULL.test, excess_over_hold_bps=excess),)

    assert words in portfolio_section(replace(FULL, parts=parts)).finding


def test_page_says_what_is_alpha_and_that_it_judges() -> None:
    parts = EarnedParts(around(0.4, 0.3), around(-0.1, 0.2), around(1.3, 0.5))
    agents = replace(FULL.test.policies[0], earned=parts)
    test = replace(
        FULL.test,
        policies=(agents, *FULL.test.policies[1:]),
        factor="equal weight of the other symbols, betas of 2019",
    )
    judged = replace(FULL.statistics, judged="alpha", net_probabilistic_sharpe=0.993)
    dossier = replace(FULL, parts=(test,), statistics=judged)

    finding = portfolio_section(dossier).finding.replace("\u202f", " ").replace("\u2009", " ")
    assert "+0.40 bp are the market's, −0.10 bp timing of it, and +1.30 bp alpha" in finding
    assert "alpha is what judges (market: equal weight of the other symbols" in finding
    luck = statistics_section(dossier)
    assert "Judged is alpha. With the market in it" in luck.finding
    assert figure_words(luck, "Alpha")[1] == "good"


def test_performance_without_equal_weight_is_compared_with_the_reference() -> None:
    policies = tuple(row for row in FULL.test.policies if row.policy != HOLD)

    finding = portfolio_section(
        replace(FULL, parts=(replace(FULL.test, policies=policies),))
    ).finding

    assert "The baseline to beat (SPY) made" in finding


def test_leak_is_told_in_the_first_sentence() -> None:
    changed = replace(FULL.leak_check, actions_changed=1)

    assert "Nothing suggests" in leak_section(FULL).finding
    assert "may have been seen" in leak_section(replace(FULL, leak_check=changed)).finding


@pytest.mark.parametrize(
    ("compared", "changed", "shown", "tone"),
    [(0, 0, "–", ""), (515, 0, "0 of 515", "good"), (515, 12, "12 of 515", "bad")],
)
def test_leak_check_shows_how_many_feature_values_were_compared(
    compared: int, changed: int, shown: str, tone: str
) -> None:
    check = replace(FULL.leak_check, features_compared=compared, features_changed=changed)

    section = leak_section(replace(FULL, leak_check=check))

    (figures,) = (block for block in section.blocks if isinstance(block, Figures))
    (figure,) = (each for each in figures.figures if each.name.startswith("Feature values"))
    assert (figure.number, figure.tone) == (shown, tone)
    assert ("may have been seen" in section.finding) == (changed > 0)


def test_unhealthy_training_is_told_in_the_first_sentence() -> None:
    ill = replace(FULL.health, is_healthy=False)

    assert "did not collapse" in health_section(FULL).finding
    assert "not healthy" in health_section(replace(FULL, health=ill)).finding


def test_many_redundant_pairs_are_counted_not_listed() -> None:
    assert FULL.ensemble is not None
    pairs = tuple((f"A{n}", f"B{n}", 0.9 + n / 1000) for n in range(30))

    section = ensemble_section(replace(FULL, ensemble=replace(FULL.ensemble, redundant=pairs)))

    listed = section.blocks[-1].points  # type: ignore[union-attr]
    assert len(listed) == 13
    assert listed[0] == "A29 and B29: 0.93"
    assert listed[-1] == "and 18 more pairs"


def test_gates_count_what_a_go_requires() -> None:
    memo = example_memo()

    assert gates_section(memo, {}).finding == (
        "3 gates pass, 1 fail, 1 were not measured. Of the 3 that a GO requires, 3 pass."
    )
    assert gates_section(replace(memo, gates=()), {}).blocks == ()


def test_gates_write_fractions_as_percentages_and_one_thing_as_one() -> None:
    yearly = replace(
        example_memo().gates[0],
        metric="annual_return_over_reference_frac",
        unit="per year",
        target="> 0.05",
        measured=0.0831,
        interval=around(0.08, 0.01),
    )
    single = replace(yearly, metric="agents", unit="agents", target="≥ 1", measured=1.0)
    table = gates_section(replace(example_memo(), gates=(yearly, single)), {}).blocks[0]
    first, second = table.rows  # type: ignore[union-attr]

    assert first[2].text.replace("\u202f", " ") == "> 5 %"
    assert first[3].text.replace("\u202f", " ") == "8.3 %"
    assert first[3].note == "[7.0, 9.0]"
    assert second[3].text == "1 agent"
