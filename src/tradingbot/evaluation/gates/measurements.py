"""What gates can ask for, read from a dossier: every figure by its name, unit and evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tradingbot.evaluation.dossier.dossier import Dossier
from tradingbot.evaluation.gates.measurement import MeasuredValue, Measurement, missing_value
from tradingbot.evaluation.gates.pending import PENDING
from tradingbot.evaluation.gates.training_measurements import TRAINING_MEASUREMENTS
from tradingbot.evaluation.performance.record import AgentPerformance, PolicyPerformance
from tradingbot.evaluation.statistics.interval import Interval
from tradingbot.evaluation.statistics.proportion import wilson_interval

BENCH_PREFIX = "bench/"
"""Metrics that a benchmark measures, not a dossier; the rest is the name of its record."""


SUPERVISED_RETURN_FRAC, SUPERVISED_SHARPE = 0.12, 0.50
"""What the plan says a supervised model reached; its period is not told."""


def _agents(dossier: Dossier) -> PolicyPerformance:
    return dossier.test.policies[0]


def _of_agents(dossier: Dossier, does: Callable[[AgentPerformance], bool]) -> MeasuredValue:
    rows = dossier.test.agents
    return MeasuredValue(sum(map(does, rows)) / len(rows)) if rows else missing_value("no agent")


def _win_rate(dossier: Dossier) -> MeasuredValue:
    row = _agents(dossier)
    if not row.n_trades:
        return missing_value("no trade was closed")
    return _interval(wilson_interval(row.win_rate_frac * row.n_trades, row.n_trades))


def _share(dossier: Dossier) -> MeasuredValue:
    share = dossier.test.share_of_oracle
    if share is None:
        return missing_value("the market has no oracle that earns")
    return MeasuredValue(share.estimate, share)


def _over_reference(dossier: Dossier) -> MeasuredValue:
    reference = dossier.test.policy(dossier.test.reference)
    if reference is None:
        return missing_value("no reference")
    return MeasuredValue(_agents(dossier).annual_return_frac - reference.annual_return_frac)


def _beat_supervised(dossier: Dossier) -> MeasuredValue:
    """Count agents that trade and earn more than the model's best threshold on their symbol."""
    rows = dossier.test.agents
    if all(row.supervised_return_frac is None for row in rows):
        return missing_value("no supervised model was given to the run")
    return MeasuredValue(float(sum(map(_beats_supervised, rows))))


def _beats_supervised(row: AgentPerformance) -> bool:
    model = row.supervised_return_frac
    return row.trades and model is not None and row.total_return_frac > model


def _beats_supervised_figures(row: AgentPerformance) -> bool:
    return row.total_return_frac > SUPERVISED_RETURN_FRAC and row.sharpe_annual > SUPERVISED_SHARPE


def _windows(dossier: Dossier) -> MeasuredValue:
    if dossier.walk_forward is None:
        return _left_out(dossier, "walk_forward")
    share = dossier.walk_forward.share_positive
    return MeasuredValue(share.estimate, share)


def _regimes(dossier: Dossier) -> MeasuredValue:
    if dossier.regimes is None:
        return _left_out(dossier, "regimes")
    return MeasuredValue(float(dossier.regimes.profitable))


def _stress(dossier: Dossier) -> MeasuredValue:
    if dossier.stress is None or not dossier.stress.rows:
        return _left_out(dossier, "stress")
    return MeasuredValue(dossier.stress.worst_drawdown_frac)


def _cost_reserve(dossier: Dossier) -> MeasuredValue:
    found = dossier.sensitivity
    if found is None:
        return _left_out(dossier, "sensitivity")
    break_even = found.break_even_cost_bps[0]
    if found.assumed_cost_bps <= 0.0:
        return missing_value("the run assumes no costs")
    return MeasuredValue(0.0 if break_even is None else break_even / found.assumed_cost_bps)


def _late(dossier: Dossier) -> MeasuredValue:
    found = dossier.leak_check.delayed_net_bps
    return MeasuredValue(found[1]) if len(found) > 1 else missing_value("no delay was tried")


def _largest_term(dossier: Dossier) -> MeasuredValue:
    if dossier.policy is None:
        return _left_out(dossier, "policy")
    shares = [share for _, share in dossier.policy.reward_shares]
    if len(shares) < 2:
        return missing_value("the reward has one term")
    return MeasuredValue(max(shares))


def _placebos(dossier: Dossier) -> MeasuredValue:
    if dossier.placebos is None or not dossier.placebos.rows:
        return _left_out(dossier, "placebos")
    return MeasuredValue(float(sum(not row.is_clean for row in dossier.placebos.rows)))


def _seeds(dossier: Dossier) -> MeasuredValue:
    if dossier.seeds is None:
        return _left_out(dossier, "seeds")
    return MeasuredValue(dossier.seeds.net_bps_iqm.estimate, dossier.seeds.net_bps_iqm)


def _overfitting(dossier: Dossier) -> MeasuredValue:
    found = dossier.statistics.overfitting_probability
    if found is None:
        return missing_value("fewer than two variants were compared")
    return MeasuredValue(found)


def _track_record(dossier: Dossier) -> MeasuredValue:
    needed = dossier.statistics.min_track_record_bars
    return MeasuredValue(dossier.statistics.bars / needed if needed > 0.0 else 0.0)


def _leak(dossier: Dossier) -> MeasuredValue:
    found = dossier.leak_check
    if found.is_clean and found.gap:  # deleted bars must not pass
        return missing_value(found.gap)
    return MeasuredValue(float(len(found.words) + found.actions_changed))


def _range(dossier: Dossier) -> MeasuredValue:
    health = dossier.health
    # A policy that may not be short has its lowest action at 0, and uses its full range from there.
    lowest = 0.0 if health.lowest_action >= 0.0 else -1.0
    reach = (health.highest_action - health.lowest_action) / (1.0 - lowest)
    return MeasuredValue(reach)


def _left_out(dossier: Dossier, analysis: str) -> MeasuredValue:
    reasons = dict(dossier.left_out)
    return missing_value(reasons.get(analysis, "not evaluated"))


MEASUREMENTS: Mapping[str, Measurement] = {
    "sharpe_annual": Measurement(
        "per year", "performance", lambda d: _interval(_agents(d).sharpe_annual)
    ),
    "net_bps_per_bar": Measurement(
        "bp/bar", "performance", lambda d: _interval(_agents(d).net_bps_per_bar)
    ),
    "edge_bps_per_bar": Measurement(
        "bp/bar", "performance", lambda d: _interval(_agents(d).net_bps_per_bar)
    ),
    "excess_over_hold_bps": Measurement(
        "bp/bar", "performance", lambda d: _interval(d.test.excess_over_hold_bps)
    ),
    "max_drawdown_frac": Measurement(
        "fraction", "performance", lambda d: MeasuredValue(_agents(d).max_drawdown_frac)
    ),
    "win_rate_frac": Measurement("fraction", "performance", _win_rate),
    "profit_factor": Measurement(
        "ratio", "performance", lambda d: MeasuredValue(_agents(d).profit_factor)
    ),
    "annual_return_over_reference_frac": Measurement("per year", "performance", _over_reference),
    "trades_per_1000": Measurement(
        "per 1,000 steps", "health", lambda d: MeasuredValue(d.test.trades_per_1000)
    ),
    "voluntary_trade_frac": Measurement(
        "fraction", "health", lambda d: MeasuredValue(d.test.voluntary_trade_frac)
    ),
    "action_entropy": Measurement("0 … 1", "health", lambda d: MeasuredValue(d.health.entropy)),
    "largest_bin_frac": Measurement(
        "fraction", "health", lambda d: MeasuredValue(d.health.largest_bin_frac)
    ),
    "action_range_frac": Measurement("fraction", "health", _range),
    "collapsed_agents": Measurement(
        "agents", "health", lambda d: MeasuredValue(float(len(d.health.collapsed_agents)))
    ),
    "unhealthy": Measurement(
        "0 or 1", "health", lambda d: MeasuredValue(float(not d.health.is_healthy))
    ),
    "trading_agents": Measurement(
        "agents", "league", lambda d: MeasuredValue(float(sum(row.trades for row in d.test.agents)))
    ),
    "agents_sharpe_above_0.2_frac": Measurement(
        "fraction", "league", lambda d: _of_agents(d, lambda row: row.sharpe_annual > 0.2)
    ),
    "agents_sharpe_above_0.3": Measurement(
        "agents",
        "league",
        lambda d: MeasuredValue(float(sum(row.sharpe_annual > 0.3 for row in d.test.agents))),
    ),
    "agents_losing_half": Measurement(
        "agents",
        "league",
        lambda d: MeasuredValue(float(sum(row.total_return_frac < -0.5 for row in d.test.agents))),
    ),
    "agents_beating_supervised": Measurement("agents", "league", _beat_supervised),
    "agents_beating_supervised_figures": Measurement(
        "agents",
        "league",
        lambda d: MeasuredValue(float(sum(map(_beats_supervised_figures, d.test.agents)))),
    ),
    "share_of_oracle": Measurement("fraction", "performance", _share),
    "walk_forward_positive_frac": Measurement("fraction", "walk-forward", _windows),
    "profitable_regimes": Measurement("regimes", "regimes", _regimes),
    "stress_drawdown_frac": Measurement("fraction", "stress", _stress),
    "cost_reserve": Measurement("× assumed costs", "sensitivity", _cost_reserve),
    "net_bps_one_bar_late": Measurement("bp/bar", "leak-check", _late),
    "largest_reward_term_frac": Measurement("fraction", "policy", _largest_term),
    "seeds_net_bps": Measurement("bp/bar", "seeds", _seeds),
    "deflated_sharpe": Measurement(
        "probability", "statistics", lambda d: MeasuredValue(d.statistics.deflated_sharpe)
    ),
    "probabilistic_sharpe": Measurement(
        "probability", "statistics", lambda d: MeasuredValue(d.statistics.probabilistic_sharpe)
    ),
    "spa_p": Measurement(
        "probability", "statistics", lambda d: MeasuredValue(d.statistics.spa_p_consistent)
    ),
    "overfitting_probability": Measurement("probability", "statistics", _overfitting),
    "track_record_frac": Measurement("× minimum", "statistics", _track_record),
    "suspicious_findings": Measurement("findings", "leak-check", _leak),
    "placebos_with_edge": Measurement("placebos", "placebos", _placebos),
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
    found = missing_value(f"{absent} (--bench)") if value is None else MeasuredValue(value)
    return Measurement("as benchmarked", "benchmarks", lambda _: found)


def _interval(found: Interval) -> MeasuredValue:
    return MeasuredValue(found.estimate, found)
