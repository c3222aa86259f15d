"""What gates can ask for, read from a dossier: every figure by its name, unit and evidence."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from tradingbot.evaluation.dossier.allocation import SleeveRow
from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.gates.cost_reserve import measure_cost_reserve
from tradingbot.evaluation.gates.master_measurements import MASTER_MEASUREMENTS
from tradingbot.evaluation.gates.measurement import Finding, Measurement, left_out
from tradingbot.evaluation.gates.pending import PENDING
from tradingbot.evaluation.gates.training_measurements import TRAINING_MEASUREMENTS
from tradingbot.evaluation.performance.record import AgentPerformance, PolicyPerformance

BENCH_PREFIX = "bench/"
"""Metrics that a benchmark measures, not a dossier; the rest is the name of its record."""


LEAST_TRADED_SHARE = 1.0 / 3.0
"""Of the walk-forward windows; where fewer were traded, their profitable share says nothing."""
SUPERVISED_RETURN_FRAC, SUPERVISED_SHARPE = 0.12, 0.50
"""Targets of the plan for agents beside a supervised model; its period is not told. No model
reached them: the supervised baseline of the plan had −10.9 % and −0.05."""


def _agents(dossier: Dossier) -> PolicyPerformance:
    return dossier.test.policies[0]


def _count(dossier: Dossier, does: Callable[[AgentPerformance], bool]) -> int:
    return sum(map(does, dossier.test.agents))


def _single(dossier: Dossier) -> tuple[AgentPerformance | SleeveRow, ...]:
    """Return the agents of single symbols: under a master, those of its sleeves."""
    return dossier.test.agents if dossier.allocation is None else dossier.allocation.rows


def _above(dossier: Dossier, sharpe: float) -> int:
    return sum(row.sharpe_annual > sharpe for row in _single(dossier))


def _above_a_fifth(dossier: Dossier) -> Finding:
    count = len(_single(dossier))
    return _above(dossier, 0.2) / count if count else "no agent"


def _win_rate(dossier: Dossier) -> Finding:
    row = _agents(dossier)
    if not row.n_trades:
        return "no trade was closed"
    return row.win_rate_interval or "evaluated before win rates had an interval; evaluate again"


def _edge(dossier: Dossier) -> Finding:
    """Return alpha per bar; the net return where a dossier is older than alpha."""
    row = _agents(dossier)
    return row.net_bps_per_bar if row.earned is None else row.earned.alpha_bps


def _edge_over_hold(dossier: Dossier) -> Finding:
    return dossier.test.alpha_over_hold_bps or dossier.test.excess_over_hold_bps


def _seeds_edge(dossier: Dossier) -> Finding:
    found = dossier.seeds
    return left_out(dossier, "seeds") if found is None else found.alpha_bps_iqm or found.net_bps_iqm


def _share(dossier: Dossier) -> Finding:
    share = dossier.test.share_of_oracle
    return "the market has no oracle that earns" if share is None else share


def _over_reference(dossier: Dossier) -> Finding:
    reference = dossier.test.policy(dossier.test.reference)
    if reference is None:
        return "no reference"
    return _agents(dossier).annual_return_frac - reference.annual_return_frac


def _beat_supervised(dossier: Dossier) -> Finding:
    """Count agents that trade and earn more than the model's best threshold on their symbol."""
    if all(row.supervised_return_frac is None for row in dossier.test.agents):
        return "no supervised model was given to the run"
    return _count(dossier, _beats_supervised)


def _beats_supervised(row: AgentPerformance) -> bool:
    model = row.supervised_return_frac
    return row.trades and model is not None and row.total_return_frac > model


def _beats_supervised_figures(row: AgentPerformance) -> bool:
    return row.total_return_frac > SUPERVISED_RETURN_FRAC and row.sharpe_annual > SUPERVISED_SHARPE


def _windows(dossier: Dossier) -> Finding:
    """Take the share of profitable windows where enough of them were traded."""
    found = dossier.walk_forward
    if found is None:
        return left_out(dossier, "walk_forward")
    traded, windows = len(found.traded), len(found.windows)
    if traded < LEAST_TRADED_SHARE * windows or not traded:
        return f"retrained agents stayed out of {windows - traded} of {windows} windows"
    return found.share_positive


def _walk_forward_sharpe(dossier: Dossier) -> Finding:
    found = dossier.walk_forward
    if found is None:
        return left_out(dossier, "walk_forward")
    return found.sharpe_annual or "evaluated before windows were joined; evaluate again"


def _walk_forward_alpha(dossier: Dossier) -> Finding:
    found = dossier.walk_forward
    if found is None:
        return left_out(dossier, "walk_forward")
    return found.alpha_bps or "evaluated before alpha of windows was joined; evaluate again"


def _stress(dossier: Dossier) -> Finding:
    if dossier.stress is None or not dossier.stress.rows:
        return left_out(dossier, "stress")
    return dossier.stress.worst_drawdown_frac


def _late(dossier: Dossier) -> Finding:
    found = dossier.leak_check.delayed_net_bps
    return found[1] if len(found) > 1 else "no delay was tried"


def _largest_term(dossier: Dossier) -> Finding:
    if dossier.policy is None:
        return left_out(dossier, "policy")
    shares = [share for _, share in dossier.policy.reward_shares]
    return max(shares) if len(shares) > 1 else "the reward has one term"


def _option_use(choose: Callable[[tuple[float, ...]], float]) -> Callable[[Dossier], Finding]:
    """Read the share of choices of one option, the least or the most used."""

    def find(dossier: Dossier) -> Finding:
        if dossier.policy is None:
            return left_out(dossier, "policy")
        if dossier.policy.options is None:
            return "agents have no options: it takes a run with learner.name: hierarchical_sac"
        return choose(dossier.policy.options.chosen_frac)

    return find


def _placebos(dossier: Dossier) -> Finding:
    if dossier.placebos is None or not dossier.placebos.rows:
        return left_out(dossier, "placebos")
    return sum(not row.is_clean for row in dossier.placebos.rows)


def _overfitting(dossier: Dossier) -> Finding:
    found = dossier.statistics.overfitting_probability
    return "fewer than two variants were compared" if found is None else found


def _track_record(dossier: Dossier) -> Finding:
    needed = dossier.statistics.min_track_record_bars
    return dossier.statistics.bars / needed if needed > 0.0 else 0.0


def _backtest_length(dossier: Dossier) -> Finding:
    """Divide the years of the test part by those that so many trials need."""
    needed = dossier.statistics.min_backtest_years
    return dossier.test.years / needed if needed > 0.0 else math.inf


def _leak(dossier: Dossier) -> Finding:
    found = dossier.leak_check
    if found.is_clean and found.gap:  # deleted bars must not pass
        return found.gap
    return len(found.words) + found.actions_changed


def _range(dossier: Dossier) -> Finding:
    health = dossier.health
    # A policy that may not be short has its lowest action at 0, and uses its full range from there.
    lowest = 0.0 if health.lowest_action >= 0.0 else -1.0
    return (health.highest_action - health.lowest_action) / (1.0 - lowest)


def _of(analysis: str, field: str) -> Callable[[Dossier], Finding]:
    """Read a field of an analysis that may have been left out."""

    def find(dossier: Dossier) -> Finding:
        found = getattr(dossier, analysis)
        return left_out(dossier, analysis) if found is None else getattr(found, field)

    return find


MEASUREMENTS: Mapping[str, Measurement] = {
    "sharpe_annual": Measurement("per year", "performance", lambda d: _agents(d).sharpe_annual),
    "net_bps_per_bar": Measurement("bp/bar", "performance", lambda d: _agents(d).net_bps_per_bar),
    "edge_bps_per_bar": Measurement("bp/bar", "performance", _edge),
    "edge_over_hold_bps": Measurement("bp/bar", "performance", _edge_over_hold),
    "total_return_frac": Measurement(
        "fraction", "performance", lambda d: _agents(d).total_return_frac
    ),
    "excess_over_hold_bps": Measurement(
        "bp/bar", "performance", lambda d: d.test.excess_over_hold_bps
    ),
    "max_drawdown_frac": Measurement(
        "fraction", "performance", lambda d: _agents(d).max_drawdown_frac
    ),
    "win_rate_frac": Measurement("fraction", "performance", _win_rate),
    "profit_factor": Measurement("ratio", "performance", lambda d: _agents(d).profit_factor),
    "annual_return_over_reference_frac": Measurement("per year", "performance", _over_reference),
    "trades_per_1000": Measurement("per 1,000 steps", "health", lambda d: d.test.trades_per_1000),
    "voluntary_trade_frac": Measurement(
        "fraction", "health", lambda d: d.test.voluntary_trade_frac
    ),
    "action_entropy": Measurement("0 … 1", "health", lambda d: d.health.entropy),
    "largest_bin_frac": Measurement("fraction", "health", lambda d: d.health.largest_bin_frac),
    "action_range_frac": Measurement("fraction", "health", _range),
    "collapsed_agents": Measurement("agents", "health", lambda d: len(d.health.collapsed_agents)),
    "unhealthy": Measurement("0 or 1", "health", lambda d: not d.health.is_healthy),
    "trading_agents": Measurement("agents", "league", lambda d: _count(d, lambda row: row.trades)),
    "agents_sharpe_above_0.2_frac": Measurement("fraction", "league", _above_a_fifth),
    "agents_sharpe_above_0.3": Measurement("agents", "league", lambda d: _above(d, 0.3)),
    "agents_losing_half": Measurement(
        "agents", "league", lambda d: sum(row.total_return_frac < -0.5 for row in _single(d))
    ),
    "agents_beating_supervised": Measurement("agents", "league", _beat_supervised),
    "agents_beating_supervised_figures": Measurement(
        "agents", "league", lambda d: _count(d, _beats_supervised_figures)
    ),
    "share_of_oracle": Measurement("fraction", "performance", _share),
    "walk_forward_positive_frac": Measurement("fraction", "walk-forward", _windows),
    "walk_forward_sharpe": Measurement("per year", "walk-forward", _walk_forward_sharpe),
    "walk_forward_alpha_bps": Measurement("bp/bar", "walk-forward", _walk_forward_alpha),
    "profitable_regimes": Measurement("regimes", "regimes", _of("regimes", "profitable")),
    "stress_drawdown_frac": Measurement("fraction", "stress", _stress),
    "cost_reserve": Measurement("× assumed costs", "sensitivity", measure_cost_reserve),
    "net_bps_one_bar_late": Measurement("bp/bar", "leak-check", _late),
    "largest_reward_term_frac": Measurement("fraction", "policy", _largest_term),
    "sampled_coverage_frac": Measurement("fraction", "policy", _of("policy", "sampled_coverage")),
    "smallest_option_frac": Measurement("fraction", "policy", _option_use(min)),
    "largest_option_frac": Measurement("fraction", "policy", _option_use(max)),
    "seeds_edge_bps": Measurement("bp/bar", "seeds", _seeds_edge),
    "seeds_net_bps": Measurement("bp/bar", "seeds", _of("seeds", "net_bps_iqm")),
    "deflated_sharpe": Measurement(
        "probability", "statistics", lambda d: d.statistics.deflated_sharpe
    ),
    "probabilistic_sharpe": Measurement(
        "probability", "statistics", lambda d: d.statistics.probabilistic_sharpe
    ),
    "spa_p": Measurement("probability", "statistics", lambda d: d.statistics.spa_p_consistent),
    "overfitting_probability": Measurement("probability", "statistics", _overfitting),
    "track_record_frac": Measurement("× minimum", "statistics", _track_record),
    "backtest_length_frac": Measurement("× minimum", "statistics", _backtest_length),
    "suspicious_findings": Measurement("findings", "leak-check", _leak),
    "placebos_with_edge": Measurement("placebos", "placebos", _placebos),
    **MASTER_MEASUREMENTS,
    **TRAINING_MEASUREMENTS,
}
"""Name → where it comes from. To add one: write its function, name it here."""
KNOWN: Mapping[str, Measurement] = {**MEASUREMENTS, **PENDING}
"""What gates may ask for beside records of benchmarks; those pending are never measured."""


def measurement_of(metric: str, benches: Mapping[str, float]) -> Measurement:
    """Return where a metric comes from.

    Args:
        metric: One of `KNOWN`, or `bench/` and the name of a record.
        benches: Name of a benchmark's record → its value.
    """
    if not metric.startswith(BENCH_PREFIX):
        return KNOWN[metric]
    value = benches.get(metric.removeprefix(BENCH_PREFIX))
    absent = "no such record among the benchmarks" if benches else "no benchmark was given"
    found: Finding = f"{absent} (--bench)" if value is None else value
    return Measurement("as benchmarked", "benchmarks", lambda _: found)
