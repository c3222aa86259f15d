"""Every analysis of one small run: figures agree with the backtests that they are of."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.typing import ArrayLike

from fixtures.tiny_evaluation import tiny_evaluation
from tradingbot.domain.errors import DataError
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.analyses.performance import Performance
from tradingbot.evaluation.analyses.retraining.spec import RetrainingResult
from tradingbot.evaluation.backtest.attribution import attribute_backtest
from tradingbot.evaluation.dossier.analysis import Ablation, Health, Seeds
from tradingbot.evaluation.dossier.codec import from_plain, to_plain
from tradingbot.evaluation.dossier.evidence import LeakCheck, Statistics
from tradingbot.evaluation.dossier.robustness import WalkForward
from tradingbot.evaluation.metrics.returns import annual_sharpe
from tradingbot.evaluation.performance.record import AGENTS, HOLD, ORACLE
from tradingbot.evaluation.pipeline import engine
from tradingbot.evaluation.pipeline import store as identity
from tradingbot.evaluation.pipeline.engine import (
    EvaluationContext,
    open_context,
    run_analyses,
)
from tradingbot.evaluation.pipeline.job import EvaluationJob
from tradingbot.evaluation.pipeline.store import StoredAnalysis, run_identity
from tradingbot.runs.ledger import Ledger

TRAINED = ("walk_forward", "seeds", "ablation")


@pytest.fixture(scope="module")
def context(
    evaluated_workspace: Path, tmp_path_factory: pytest.TempPathFactory
) -> EvaluationContext:
    folder = tmp_path_factory.mktemp("pieces")
    config = tiny_evaluation(*TRAINED)
    return open_context(EvaluationJob("tiny", evaluated_workspace, config, folder))


@pytest.fixture(scope="module")
def made(context: EvaluationContext, evaluated_workspace: Path) -> dict[str, StoredAnalysis]:
    job = EvaluationJob(
        "tiny", evaluated_workspace, tiny_evaluation(*TRAINED), context.store.folder
    )
    return run_analyses(context, job)


def test_worker_that_sees_another_run_is_refused(evaluated_workspace: Path, tmp_path: Path) -> None:
    job = EvaluationJob("tiny", evaluated_workspace, tiny_evaluation(), tmp_path)

    assert engine._open_work(job, open_context(job).identity)
    with pytest.raises(DataError, match="a worker must see the run, data, configuration and"):
        engine._open_work(job, "0" * 64)


def test_every_piece_is_made_and_survives_the_disk(
    made: dict[str, StoredAnalysis], context: EvaluationContext
) -> None:
    assert {name: each.reason for name, each in made.items() if each.reason} == {}
    for each in made.values():
        again = from_plain(type(each.record), to_plain(each.record))
        assert repr(again) == repr(each.record)


def test_performance_is_that_of_the_backtest(
    made: dict[str, StoredAnalysis], subject: EvaluatedRun
) -> None:
    performance: Performance = made["performance"].record
    test = performance.parts[-1]
    played = subject.backtest("test")

    agents = test.policies[0]
    assert (agents.policy, agents.kind) == (AGENTS, "agents")
    assert agents.net_bps_per_bar.estimate == pytest.approx(1e4 * played.returns.mean())
    assert agents.total_return_frac == pytest.approx(played.portfolio[-1] - 1.0)
    assert agents.equity[0] == 1.0
    assert agents.equity[-1] == pytest.approx(played.portfolio[-1])
    assert len(agents.equity) == len(test.days)
    assert [row.agent for row in test.agents] == list(played.symbols)
    assert {HOLD, ORACLE, "sma_cross", "macd", "flat", "turnover-matched random"} <= {
        row.policy for row in test.policies
    }
    assert test.policy("momentum") is None  # not a year of bars: it could only be flat
    assert test.reference == HOLD  # a generated SPY is no index
    assert test.policy("SPY") is None
    flat = test.policy("flat")
    assert flat is not None
    assert flat.sharpe_annual == (0.0, 0.0, 0.0)
    hold = test.policy(HOLD)
    assert hold is not None
    assert test.excess_over_hold_bps.estimate == pytest.approx(
        agents.net_bps_per_bar.estimate - hold.net_bps_per_bar.estimate
    )


def test_statistics_are_of_the_test_part_and_count_the_ledger(
    made: dict[str, StoredAnalysis], subject: EvaluatedRun, evaluated_workspace: Path
) -> None:
    statistics: Statistics = made["statistics"].record
    returns = subject.backtest("test").portfolio_returns

    assert statistics.bars == len(returns)
    alpha = attribute_backtest(subject.backtest("test"), subject.data.factor).alpha.mean(axis=1)
    for sharpe, track in (
        (statistics.sharpe_per_bar, alpha),
        (statistics.net_sharpe_per_bar, returns),
    ):
        assert sharpe == pytest.approx(track.mean() / track.std(ddof=1))
    assert statistics.judged.startswith("alpha against equal weight of the other symbols, betas of")
    trials = Ledger(evaluated_workspace).trials(_data_key(subject))
    assert statistics.n_trials == len(trials) == 3  # its training, two of the variant
    assert statistics.overfitting_variants == 5  # the run, two seeds, two of the variant
    assert 0.0 <= statistics.spa_p_lower <= statistics.spa_p_upper <= 1.0
    assert {HOLD, "macd", "flat"} <= set(statistics.spa_against)
    assert ORACLE not in statistics.spa_against


def test_health_and_leak_check_are_clean(
    made: dict[str, StoredAnalysis], subject: EvaluatedRun
) -> None:
    performance: Performance = made["performance"].record
    health: Health = made["health"].record
    leak: LeakCheck = made["leak_check"].record

    assert health.is_healthy
    assert 0.0 <= health.lowest_action <= health.highest_action <= 1.0
    assert leak.is_clean
    assert leak.actions_compared > 0
    on_time = performance.parts[-1].policies[0].net_bps_per_bar.estimate
    late = [subject.backtest("test", delay_bars=delay) for delay in (1, 2, 3)]
    assert leak.delayed_net_bps == pytest.approx(
        [on_time, *(1e4 * played.returns.mean() for played in late)]
    )
    assert len(set(leak.delayed_net_bps)) == 4
    assert leak.certificate_sha256 is None


def test_windows_lie_after_what_their_agents_learned_from(made: dict[str, StoredAnalysis]) -> None:
    walk: WalkForward = made["walk_forward"].record

    assert len(walk.windows) >= 1
    for window in walk.windows:
        assert window.trained_until < window.first_day <= window.last_day
    positive = np.mean([window.sharpe_annual > 0.0 for window in walk.windows])
    assert walk.share_positive.estimate == pytest.approx(positive)


def test_seeds_and_ablation_share_the_trainings_of_the_base(
    made: dict[str, StoredAnalysis],
) -> None:
    seeds: Seeds = made["seeds"].record
    ablation: Ablation = made["ablation"].record
    trainings = [each.record for each in made.values() if isinstance(each.record, RetrainingResult)]

    assert [row.seed for row in seeds.rows] == [6, 7] == list(ablation.seeds)
    base = [each for each in trainings if not each.spec.changes and not each.spec.windows]
    assert len(base) == 2
    assert ablation.base_net_bps == tuple(each.part("validation").net_bps_per_bar for each in base)
    (row,) = ablation.rows
    assert (row.axis, row.setting) == ("learner.direct.actor.pooling", "independent")
    gaps = np.array(ablation.base_net_bps) - np.array(row.net_bps)
    assert row.contribution_bps.estimate == pytest.approx(gaps.mean())


def test_trainings_are_checks_in_the_ledger_and_other_settings_trials(
    made: dict[str, StoredAnalysis], subject: EvaluatedRun, evaluated_workspace: Path
) -> None:
    ledger, data = Ledger(evaluated_workspace), _data_key(subject)
    checks, tried = (ledger.trials(data, kinds=(kind,)) for kind in ("check", "tuning"))
    trainings = [each.record for each in made.values() if isinstance(each.record, RetrainingResult)]

    own = [each for each in trainings if not each.spec.changes]
    others = [each for each in trainings if each.spec.changes]
    assert sorted(each.config_hash for each in checks) == sorted(each.config_hash for each in own)
    assert sorted(each.config_hash for each in tried) == sorted(each.config_hash for each in others)
    assert len(others) == 2
    noted = {each.config_hash: each for each in (*checks, *tried)}
    for training in trainings:
        played, trial = training.parts[-1], noted[training.config_hash]
        for judged, series in (
            (trial.sharpe_per_bar, played.returns),
            (trial.judged_sharpe_per_bar, played.alpha),
        ):
            assert judged == pytest.approx(_sharpe_per_bar(series))


def test_other_weights_are_another_identity(
    subject: EvaluatedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = run_identity(subject)
    other = SimpleNamespace(manifest=SimpleNamespace(weights_sha256="0" * 64))

    monkeypatch.setattr(identity, "acting_checkpoint", lambda _: other)

    assert run_identity(subject) != before


def _sharpe_per_bar(series: ArrayLike) -> float | None:
    """Return what the ledger notes of a series: None where it never moves."""
    sharpe = annual_sharpe(np.array(series), bars_per_year=1.0)
    return sharpe if math.isfinite(sharpe) else None


def _data_key(subject: EvaluatedRun) -> str:
    from tradingbot.training.trial_ledger import data_key

    return data_key(subject.data.identity)
