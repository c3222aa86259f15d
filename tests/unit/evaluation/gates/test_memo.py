from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest

from fixtures.example_dossier import around, bare_dossier, example_dossier, portfolio_dossier
from fixtures.idle_dossier import idle_dossier
from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.dossier.robustness import Window
from tradingbot.evaluation.gates.gate import Gate
from tradingbot.evaluation.gates.gates_file import load_gates
from tradingbot.evaluation.gates.memo import write_memo
from tradingbot.evaluation.gates.pending import PENDING
from tradingbot.evaluation.gates.plausibility import raise_alarm
from tradingbot.evaluation.gates.result import Memo
from tradingbot.evaluation.performance.record import AGENTS, HOLD, EarnedParts
from tradingbot.evaluation.report.sections.portfolio import portfolio_section
from tradingbot.evaluation.statistics.interval import Interval


def strong_dossier(*, synthetic: bool = True, sharpe: float = 2.0) -> Dossier:
    """Everything that the product's gates require holds; made-up numbers."""
    full = example_dossier(synthetic=synthetic)
    test = full.test
    agents = replace(
        test.policies[0],
        sharpe_annual=around(sharpe, 0.5),
        net_bps_per_bar=around(2.0, 0.5),
        annual_return_frac=0.5,
        beta=0.1,
    )
    test = replace(
        test,
        policies=(agents, *test.policies[1:]),
        excess_over_hold_bps=around(1.5, 0.5),
        share_of_oracle=around(0.9, 0.05),
    )
    statistics = replace(
        full.statistics,
        deflated_sharpe=0.99,
        spa_p_consistent=0.01,
        min_track_record_bars=500.0,
    )
    assert full.walk_forward is not None
    assert full.sensitivity is not None
    return replace(
        full,
        parts=(full.parts[0], test),
        statistics=statistics,
        walk_forward=replace(full.walk_forward, share_positive=around(0.9, 0.1)),
        sensitivity=replace(full.sensitivity, break_even_cost_bps=(9.0, 5.0), assumed_cost_bps=1.0),
    )


def memo_of(dossier: Dossier) -> Memo:
    return write_memo(dossier, load_gates())


def test_run_that_holds_every_required_gate_is_go() -> None:
    memo = memo_of(strong_dossier())
    assert memo.verdict == "GO"
    assert memo.reasons
    assert all(each.outcome == "pass" for each in memo.gates if each.is_required)
    assert "bp per bar net" in memo.headline


def test_power_of_the_run_is_a_reason_of_a_no_go_and_of_nothing_else() -> None:
    power = "An edge of 1.25 bp per bar or more would have been found with 80 % probability."

    refused = write_memo(idle_dossier(), load_gates(), power=power)
    passed = write_memo(strong_dossier(), load_gates(), power=power)

    assert (refused.verdict, refused.reasons[-1]) == ("NO-GO", power)
    assert passed.verdict == "GO"
    assert power not in passed.reasons


def _with_statistics(dossier: Dossier, **change: float) -> Dossier:
    return replace(dossier, statistics=replace(dossier.statistics, **change))  # type: ignore[arg-type]


def _with_net(dossier: Dossier, net: Interval, over_hold: Interval) -> Dossier:
    agents = replace(dossier.test.policies[0], net_bps_per_bar=net)
    policies = (agents, *dossier.test.policies[1:])
    test = replace(dossier.test, policies=policies, excess_over_hold_bps=over_hold)
    return replace(dossier, parts=(dossier.parts[0], test))


@pytest.mark.parametrize(
    "weaken",
    [
        lambda strong: _with_statistics(strong, deflated_sharpe=0.90),
        lambda strong: _with_statistics(strong, spa_p_consistent=0.2),
        lambda strong: _with_net(strong, around(0.5, 0.6), around(1.5, 0.5)),
        lambda strong: _with_net(strong, around(2.0, 0.5), around(0.5, 0.6)),
    ],
)
def test_run_without_edge_is_no_go_whatever_else_holds(
    weaken: Callable[[Dossier], Dossier],
) -> None:
    memo = memo_of(weaken(strong_dossier()))
    assert memo.verdict == "NO-GO"
    assert memo.headline.startswith("No edge")
    assert len(memo.reasons) == 1
    assert memo.would_change


def test_no_lead_over_the_best_baseline_is_said_by_its_name_and_figures() -> None:
    strong = _with_statistics(strong_dossier(), spa_p_consistent=0.2)
    rows = {row.policy: row for row in strong.test.policies}
    best = max(
        (rows[name] for name in strong.statistics.spa_against),
        key=lambda row: row.net_bps_per_bar.estimate,
    )
    name = f"{best.policy} ({best.net_bps_per_bar.estimate:.2f} bp per bar net)"

    memo = memo_of(strong)

    assert memo.headline == (
        f"No edge over the best baseline {name}: SPA p-value 0.2, needed < 0.05. "
        "The agents earned 2.00 bp per bar net [1.50, 2.50]."
    )
    assert memo.reasons == (
        f"FAIL: SPA p-value of alpha against the best baseline, {name}: 0.2, wanted < 0.05.",
    )


def test_best_baseline_is_named_at_no_more_exposure_than_the_agents_have() -> None:
    strong = _with_statistics(_with_alpha(strong_dossier(), 2.0), spa_p_consistent=0.2)
    rows = []
    for row in strong.test.policies:
        alpha = Interval(0.8 if row.policy == HOLD else 0.3, 0.1, 1.0)
        earned = None if row.earned is None else replace(row.earned, alpha_bps=alpha)
        held = {HOLD: 1.0, AGENTS: 0.25}.get(row.policy, 0.25)
        rows.append(replace(row, earned=earned, exposure_frac=held))

    part = replace(strong.test, policies=tuple(rows))
    memo = memo_of(replace(strong, parts=(strong.parts[0], part)))

    assert "(0.30 bp per bar of alpha)" in memo.reasons[0]
    assert HOLD not in memo.reasons[0]  # a fourth of it is 0.20


def _with_alpha(dossier: Dossier, alpha_bps: float, **changes: float) -> Dossier:
    """Return a dossier whose agents' net return was taken apart, and with other figures of it."""
    test, half = dossier.test, Interval(0.1, 0.0, 0.2)
    alpha = Interval(alpha_bps, alpha_bps - 0.3, alpha_bps + 0.3)
    agents = replace(test.policies[0], earned=EarnedParts(half, half, alpha), **changes)
    others = (replace(row, earned=EarnedParts(half, half, half)) for row in test.policies[1:])
    part = replace(test, policies=(agents, *others), alpha_over_hold_bps=alpha)
    return replace(dossier, parts=(dossier.parts[0], part))


def test_alpha_judges_and_the_net_return_is_said_beside() -> None:
    memo = memo_of(_with_alpha(strong_dossier(), 1.5))
    assert memo.verdict == "GO"
    assert "1.50 bp per bar of alpha [1.20, 1.80]; with the market 2.00 bp per bar net" in (
        memo.headline
    )


def test_the_market_s_gain_is_no_edge() -> None:
    """Two basis points per bar net, 1.5 to 2.5, and none of them the agents' own."""
    memo = memo_of(_with_alpha(strong_dossier(), 0.1))
    assert memo.verdict == "NO-GO"
    assert "Failed tests of an edge: net, over_hold." in memo.headline


def test_alpha_that_loses_money_is_not_sent_to_trade() -> None:
    assert memo_of(_with_alpha(strong_dossier(), 1.5, total_return_frac=-0.09)).verdict == "GO"
    memo = memo_of(_with_alpha(strong_dossier(), 1.5, total_return_frac=-0.11))
    assert memo.verdict == "NO-GO"
    assert "with the market in it loses no more than 10 %" in memo.headline


def test_headline_says_which_tests_of_an_edge_failed() -> None:
    strong = strong_dossier()
    one = memo_of(_with_statistics(strong, deflated_sharpe=0.9)).headline
    assert one.endswith("FAIL: Deflated Sharpe ratio of alpha: 0.9, wanted ≥ 0.95.")
    two = memo_of(_with_statistics(strong, deflated_sharpe=0.9, spa_p_consistent=0.2)).headline
    assert "Failed tests of an edge: deflated_sharpe, best_baseline. Best baseline: " in two


def test_agents_that_stay_out_are_no_go_and_said_so() -> None:
    strong = strong_dossier()
    out = tuple(replace(row, trades=False) for row in strong.test.agents)
    memo = memo_of(replace(strong, parts=(strong.parts[0], replace(strong.test, agents=out))))
    assert memo.verdict == "NO-GO"
    assert "Validation kept every agent out" in memo.headline


@pytest.mark.parametrize(
    ("reference", "growth", "words"),
    [
        ("SPY", 0.1, "hold the index"),
        ("equal weight", 0.1, "hold the symbols in equal weight"),
        ("equal weight", -0.1, "stay in cash"),
    ],
)
def test_what_to_do_instead_is_what_rose(reference: str, growth: float, words: str) -> None:
    strong = strong_dossier()
    test = strong.test
    other = replace(test.policies[1], policy=reference, total_return_frac=growth)
    part = replace(test, policies=(test.policies[0], other), reference=reference)
    statistics = replace(strong.statistics, deflated_sharpe=0.1)
    memo = memo_of(replace(strong, parts=(strong.parts[0], part), statistics=statistics))
    assert words in memo.headline


def test_edge_with_a_required_gate_missing_is_conditional() -> None:
    strong = strong_dossier()
    unmeasured = replace(strong, walk_forward=None, left_out=(("walk_forward", "too short"),))
    failed = replace(strong, statistics=replace(strong.statistics, min_track_record_bars=1e9))
    for dossier, words in (
        (unmeasured, "too short"),
        (failed, "FAIL: Minimum track"),
    ):
        memo = memo_of(dossier)
        assert memo.verdict == "CONDITIONAL"
        assert words in " ".join(memo.reasons)


def test_advisory_gate_that_fails_is_a_weakness_of_go() -> None:
    strong = strong_dossier()
    memo = memo_of(replace(strong, health=replace(strong.health, entropy=0.1)))
    assert memo.verdict == "GO"
    (told,) = [line for line in memo.counter_evidence if "Entropy" in line]
    assert told.startswith("FAIL: ")
    assert told.endswith("Not required by these gates: it changes no verdict.")


def test_leak_is_no_go() -> None:
    strong = strong_dossier()
    for change in ({"actions_changed": 1}, {"words": ("late decisions earn more",)}):
        check = replace(strong.leak_check, **change)  # type: ignore[arg-type]
        memo = memo_of(replace(strong, leak_check=check))
        assert memo.verdict == "NO-GO"
        assert memo.headline.startswith("Not to be believed")


def test_alarm_is_not_explained_by_a_leak_check_that_is_not_clean() -> None:
    strong = strong_dossier(sharpe=6.0)
    check = replace(strong.leak_check, words=("late decisions earn more",))
    alarm = raise_alarm(replace(strong, leak_check=check))
    assert alarm is not None
    assert not alarm.is_explained


def test_sharpe_above_three_on_observed_bars_blocks_go() -> None:
    real = strong_dossier(synthetic=False, sharpe=3.5)
    memo = memo_of(replace(real, parts=(real.parts[0], replace(real.test, share_of_oracle=None))))
    assert memo.verdict == "CONDITIONAL"
    assert memo.alarm is not None
    assert not memo.alarm.is_explained
    assert "alarm" in memo.reasons[0]


def test_sharpe_above_three_on_a_known_market_is_explained_by_its_oracle() -> None:
    memo = memo_of(strong_dossier(sharpe=6.0))
    assert memo.verdict == "GO"
    assert memo.alarm is not None
    assert memo.alarm.is_explained
    assert "oracle" in memo.alarm.explanation


def test_oracle_in_equal_sleeves_is_called_no_limit_to_a_portfolio() -> None:
    strong = strong_dossier(sharpe=6.0)
    test = replace(strong.test, share_of_oracle=around(4.35, 0.4))
    divided = portfolio_dossier().allocation
    several = replace(strong, parts=(strong.parts[0], test), allocation=divided)
    alarm = raise_alarm(several)
    assert alarm is not None
    assert alarm.is_explained
    finding = portfolio_section(several).finding
    for words in (alarm.explanation, finding):
        assert "holds equal sleeves, which is no limit to a portfolio that gives more" in words
        assert "to some: it reaches 435" in words
    known = raise_alarm(strong)
    assert known is not None
    assert "Its oracle sets the limit: the agents reach " in known.explanation
    assert "sets the limit" in portfolio_section(strong).finding


@pytest.mark.parametrize("sharpe", [2.0, 6.0])
def test_more_than_the_oracle_earns_is_never_go(sharpe: float) -> None:
    strong = strong_dossier(sharpe=sharpe)
    check = replace(strong.leak_check, better_than_oracle=True)
    memo = memo_of(replace(strong, leak_check=check))
    assert memo.verdict != "GO"
    assert memo.alarm is not None
    assert not memo.alarm.is_explained


def test_plausible_result_raises_no_alarm() -> None:
    assert raise_alarm(strong_dossier(sharpe=2.9)) is None


def test_bare_dossier_is_never_go() -> None:
    assert memo_of(bare_dossier()).verdict != "GO"


@pytest.mark.parametrize("dossier", [strong_dossier(), bare_dossier(), idle_dossier()])
def test_memo_by_other_gates_says_whose_they_are_in_its_headline(dossier: Dossier) -> None:
    memo = write_memo(dossier, load_gates(), source="mine.yaml")
    assert memo.headline.endswith(" Judged by mine.yaml, not by the product's own gates.")
    assert "Judged by" not in memo_of(dossier).headline


def easy(*others: Gate) -> list[Gate]:
    return [Gate("edge/x", "Easy", "deflated_sharpe", ">=", -5.0, required=True), *others]


@pytest.mark.parametrize("others", [[], [Gate("final/x", "Hard", "agents", ">", 1e9, True)]])
def test_no_gates_make_more_than_no_go_where_no_agent_trades(
    others: list[Gate],
) -> None:
    memo = write_memo(idle_dossier(), easy(*others))
    assert memo.verdict == "NO-GO"
    assert memo.headline.startswith("No edge: hold the index.")
    assert memo.reasons == ("No agent trades: there is nothing to deploy, whatever gates pass.",)
    assert memo.would_change[0].startswith("Agents that trade")


def test_agents_that_may_trade_and_never_do_are_no_go() -> None:
    strong = strong_dossier()
    whole = replace(strong.test.policies[0], n_trades=0, turnover_per_bar_frac=0.0)
    part = replace(strong.test, policies=(whole, *strong.test.policies[1:]))
    memo = memo_of(replace(strong, parts=(strong.parts[0], part)))
    assert memo.verdict == "NO-GO"
    assert memo.headline.endswith("No agent traded.")


def test_figures_of_cash_are_no_weakness() -> None:
    idle = idle_dossier()
    falling = replace(idle.test.policies[1], policy=idle.test.reference, annual_return_frac=-0.2)
    part = replace(idle.test, policies=(idle.test.policies[0], falling))
    memo = memo_of(replace(idle, parts=(idle.parts[0], part)))
    passed = {each.gate for each in memo.gates if each.outcome == "pass"}
    assert {"final/drawdown", "final/over_index", "edge/no_leak"} <= passed
    first, *rest = memo.counter_evidence
    assert first == "No agent trades, so no figure of the agents speaks for them."
    for words in ("drawdown", "over the reference", "leak check"):
        assert not any(words in line for line in rest)


@pytest.mark.parametrize("weak", [True, False])
def test_windows_that_trade_and_lose_are_a_weakness_though_the_run_stays_out(weak: bool) -> None:
    walk_forward = strong_dossier().walk_forward
    assert walk_forward is not None
    share = around(0.2 if weak else 0.95, 0.02)
    memo = memo_of(
        replace(idle_dossier(), walk_forward=replace(walk_forward, share_positive=share))
    )
    said = any("walk-forward windows" in line for line in memo.counter_evidence)
    assert said is weak


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, "GO"),
        ({"min_track_record_bars": 1e9}, "CONDITIONAL"),
        ({"deflated_sharpe": 0.5}, "NO-GO"),
    ],
)
def test_page_argues_in_one_direction(change: dict[str, float], verdict: str) -> None:
    short = _with_statistics(strong_dossier(), min_backtest_years=7.0, **change)
    memo = memo_of(replace(short, header=replace(short.header, agents=10)))

    assert memo.verdict == verdict
    weak = memo.counter_evidence
    assert any("FAIL: Minimum backtest length: " in line for line in weak)
    assert not any("Agents of the run" in line for line in weak)  # its size, not the strategy
    held = {each.words for each in memo.gates if each.outcome == "pass" and each.interval is None}
    assert not any(line.startswith(words) for words in held for line in weak)
    if verdict != "GO":  # what is a reason is not said again
        assert not set(weak) & set(memo.reasons)


def test_explained_alarm_is_no_reason_and_go_has_few() -> None:
    memo = memo_of(strong_dossier(sharpe=6.0))

    assert memo.alarm is not None
    assert not any("alarm" in line for line in memo.reasons)
    assert len(memo.reasons) <= 8
    required = sum(each.is_required for each in memo.gates)
    assert memo.reasons[-1] == f"All {required} required gates hold."


def test_gates_of_what_is_not_built_are_left_out_unless_they_are_required() -> None:
    pending = {gate.name for gate in load_gates() if gate.metric in PENDING}
    assert pending
    assert not pending & {each.gate for each in memo_of(strong_dossier()).gates}
    needed = Gate("F production/breakers", "breakers", "breakers_untested", "<=", 0.0, True)
    required = [gate for gate in load_gates() if gate.required]
    assert write_memo(strong_dossier(), [*required, needed]).verdict == "CONDITIONAL"


def test_windows_that_agents_stayed_out_of_count_on_neither_side() -> None:
    strong = strong_dossier()
    walk_forward = strong.walk_forward
    assert walk_forward is not None
    traded = replace(
        walk_forward.windows[0], sharpe_annual=1.0, total_return_frac=0.1, max_drawdown_frac=0.1
    )
    out = replace(traded, sharpe_annual=0.0, total_return_frac=0.0, max_drawdown_frac=0.0)

    def outcome(*windows: Window) -> tuple[str, str]:
        found = replace(walk_forward, windows=windows, share_positive=around(1.0, 0.0))
        gates = memo_of(replace(strong, walk_forward=found)).gates
        gate = next(each for each in gates if each.gate == "validation/windows")
        return gate.outcome, gate.reason

    assert outcome(traded, out, out) == ("pass", "")
    few = "retrained agents stayed out of 3 of 4 windows"
    assert outcome(traded, out, out, out) == ("not measured", few)
    assert outcome(out)[0] == "not measured"


def test_what_would_change_go_says_what_is_needed_by_the_comparison() -> None:
    changes = memo_of(strong_dossier()).would_change
    leak = next(line for line in changes if "leak check" in line)
    spa = next(line for line in changes if "SPA" in line)
    assert leak == (
        "New data on which this fails: The leak check is clean (0 findings, needed ≤ 0)."
    )
    assert spa.endswith("best baseline (0.01, needed < 0.05).")
    assert not any("target" in line for line in changes)


def test_what_would_change_no_go_says_figure_and_need() -> None:
    strong = strong_dossier()
    memo = memo_of(replace(strong, statistics=replace(strong.statistics, spa_p_consistent=1.0)))
    assert memo.would_change == (
        "SPA p-value of alpha against the best baseline: 1, needed < 0.05.",
    )


def test_gate_that_one_end_of_its_interval_misses_is_a_weakness_of_go() -> None:
    strong = strong_dossier(sharpe=1.2)  # ± 0.5, and more than 1 is asked for
    memo = memo_of(strong)
    assert memo.verdict == "GO"
    assert any("Portfolio Sharpe ratio" in line for line in memo.counter_evidence)
    assert not any("bench" in line for line in memo.counter_evidence)


def test_parts_that_the_product_does_not_have_yet_speak_against_no_verdict() -> None:
    strong = strong_dossier()
    calm = replace(strong, seeds=None, left_out=(("seeds", "not asked for"),))
    memo = write_memo(
        calm,
        [
            *(gate for gate in load_gates() if gate.required),
            Gate("F production/breakers", "breakers", "breakers_untested", "<=", 0.0),
            Gate("validation/seeds", "Other seeds", "seeds_net_bps", ">", 0.0),
        ],
    )
    assert memo.verdict == "GO"
    unmeasured = [line for line in memo.counter_evidence if "not measured" in line]
    assert unmeasured == ["Other seeds: not measured (not asked for), wanted > 0."]


def test_fallback_that_fails_does_not_speak_against_go() -> None:
    asked = [gate for gate in load_gates() if gate.required or gate.phase == "fallback"]
    memo = write_memo(strong_dossier(), asked)
    assert [each.outcome for each in memo.gates if each.gate == "fallback/agents"] == ["fail"]
    assert not any("Good agents" in line for line in memo.counter_evidence)


@pytest.mark.parametrize(
    ("break_even", "assumed", "words"),
    [
        (0.23, 1.2, "Alpha ends at a cost of 0.23 bp a fill; the run assumes 1.20 bp."),
        (
            0.23,
            0.0,
            "Alpha ends at a cost of 0.23 bp a fill; the run assumes none, the default is 1.20 bp.",
        ),
        (None, 1.2, "Alpha is below 0 even at no cost; the run assumes 1.20 bp."),
        (9.0, 1.2, ""),
        (math.inf, 1.2, ""),
    ],
)
def test_memo_says_at_which_cost_alpha_ends_where_costs_decide(
    break_even: float | None, assumed: float, words: str
) -> None:
    strong = strong_dossier()
    assert strong.sensitivity is not None
    found = replace(
        strong.sensitivity,
        break_even_cost_bps=(break_even,),
        assumed_cost_bps=assumed,
        judged="alpha",
    )
    said = [line for line in memo_of(replace(strong, sensitivity=found)).reasons if "bp" in line]
    assert (words in said) if words else not any("a fill" in line for line in said)
