"""Regimes, sensitivity, ensemble, policy analysis and placebos of one small run, end to end."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from tradingbot.envs.population import PRIVATE_NAMES
from tradingbot.evaluation.analyses.counterfactual_data import CounterfactualData
from tradingbot.evaluation.analyses.ensemble import measure_ensemble
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun
from tradingbot.evaluation.analyses.placebos.analysis import measure_placebos, play_placebos
from tradingbot.evaluation.analyses.placebos.bars import shuffle_bars
from tradingbot.evaluation.analyses.policy_analysis import landscape
from tradingbot.evaluation.analyses.policy_analysis.analysis import measure_policy_analysis
from tradingbot.evaluation.analyses.policy_analysis.landscape import measure_landscape
from tradingbot.evaluation.analyses.policy_analysis.states import States
from tradingbot.evaluation.analyses.regimes import (
    REGIMES,
    index_returns,
    label_regimes,
    measure_regimes,
)
from tradingbot.evaluation.analyses.sensitivity import measure_sensitivity
from tradingbot.evaluation.analyses.settings import (
    EnsembleSettings,
    PlaceboSettings,
    PolicyAnalysisSettings,
    RegimeSettings,
    SensitivitySettings,
)
from tradingbot.runs.policy import load_policy


def test_regimes_divide_the_decisions_of_the_test_part(ppo_subject: EvaluatedRun) -> None:
    found = measure_regimes(ppo_subject, RegimeSettings(min_bars=2))
    played = ppo_subject.backtest("test")
    assert [row.regime for row in found.rows] == list(REGIMES)
    assert sum(row.bars for row in found.rows) == played.n_bars
    whole, part = ppo_subject.data.whole, ppo_subject.bars("test")
    labels = label_regimes(
        index_returns(whole.prices[..., 3]), ppo_subject.data.split.train, RegimeSettings()
    )
    # The first return is decided at the first bar of the part, and earned in the next one.
    decided = labels[part.start : part.stop - 1]
    for place, row in enumerate(found.rows):
        if row.bars >= 2:
            expected = 1e4 * played.returns.mean(axis=1)[decided == place].mean()
            assert row.net_bps_per_bar.estimate == pytest.approx(expected)
    assert "equal weight of 10 symbols" in found.method  # a generated SPY is no index


def test_sensitivity_without_a_change_is_the_backtest(ppo_subject: EvaluatedRun) -> None:
    settings = SensitivitySettings(
        cost_bps=(0.0, 50.0),
        delay_bars=(0, 1),
        slippage_bps=(1.0,),
        limit_shares=(1.0,),
        capital_ccy=(1e3,),
    )
    found = measure_sensitivity(ppo_subject, settings)
    net = 1e4 * ppo_subject.backtest("test").returns.mean()
    same = [row for row in found.rows if row.axis in ("slippage", "position limit")]
    assert [row.net_bps_per_bar.estimate for row in same] == pytest.approx([net, net])
    assert found.surface_bps[0][0] > found.surface_bps[0][1]


def test_ensemble_is_of_the_agents_that_trade(ppo_subject: EvaluatedRun) -> None:
    found = measure_ensemble(ppo_subject, EnsembleSettings())
    assert sorted(found.agents) == ["AAPL", "SPY"]
    returns = ppo_subject.backtest("test").returns
    assert found.correlation[0][1] == pytest.approx(np.corrcoef(returns.T)[0, 1])
    nobody = measure_ensemble(ppo_subject, EnsembleSettings(min_exposure_frac=0.999999))
    assert nobody.agents == ()


def test_policy_analysis_reads_actions_critic_attention_and_heads(
    ppo_subject: EvaluatedRun,
) -> None:
    settings = PolicyAnalysisSettings(n_maps=3, landscape_bins=4)
    found = measure_policy_analysis(ppo_subject, settings)
    assert sum(found.histogram) == pytest.approx(1.0)
    assert len(found.maps) == 3
    assert found.value_landscape is not None
    assert np.shape(found.value_landscape) == (4, 4)
    assert (np.ptp(found.value_landscape, axis=1) > 0.0).all()  # positions matter to the critic
    assert found.value_axes is not None
    assert found.value_axes[0] in ppo_subject.data.world.feature_names + (
        ppo_subject.data.world.regime_names
    )
    assert found.attention is not None
    assert found.attention_lags == tuple(range(len(found.attention)))
    assert sum(found.attention) == pytest.approx(1.0)
    assert dict(found.reward_shares) == {"log_growth": 1.0}
    assert {name for name, _ in found.deviations} == {"SPY", "AAPL"}
    assert all(size > 0.0 for _, size in found.deviations)
    assert found.value_edges[1] == pytest.approx(np.linspace(0.0, 1.0, 4))
    assert len(found.value_edges[0]) == 5
    first, second = found.planes[0].axes
    assert not first.startswith("own ")
    assert first != second
    assert sum(map(sum, found.planes[0].count)) == sum(found.maps[0].count)
    assert found.attention_features[:1] == ppo_subject.data.world.feature_names[:1]
    shape = (len(found.attention), len(found.attention_features))
    assert np.shape(found.attention_map) == shape
    assert np.all(np.asarray(found.attention_map) >= 0.0)
    assert np.asarray(found.attention_map)[1:].max() > 0.0  # bars before count as well
    assert found.unavailable == ()
    assert found.sampled is not None
    assert len(found.sampled.histogram) == len(found.histogram)
    assert sum(found.sampled.histogram) == pytest.approx(1.0)
    assert found.sampled.coverage_frac > found.sampled.deterministic_coverage_frac
    one_state = measure_policy_analysis(ppo_subject, replace(settings, attention_states=1))
    assert not np.asarray(one_state.attention_map).any()  # one state has no deviation
    assert one_state.attention == found.attention


def test_landscape_of_a_known_critic_is_its_formula(ppo_subject: EvaluatedRun) -> None:
    """A critic that reads twice the position, and nothing else, as it is stored in a checkpoint."""
    loaded = load_policy(ppo_subject.run)
    tensors = dict(loaded.checkpoint.agent)
    for name in [name for name in tensors if name.startswith("heads.critic.")]:
        tensors[name] = torch.zeros_like(tensors[name])
    shown = ppo_subject.config.task.private or PRIVATE_NAMES
    size = len(tensors["heads.critic.weights.0"]) - len(shown) + shown.index("size")
    layers = [f"heads.critic.weights.{layer}" for layer in (0, 1)]
    tensors[layers[0]][size, 0], tensors[layers[1]][0, 0] = 1e-3, 2e3  # the bend of tanh is far off
    known = replace(loaded, checkpoint=replace(loaded.checkpoint, agent=tensors))
    states = States(
        agent=np.array([0, 1] * 10),
        bar=np.arange(20) + 100,
        action=np.zeros(20),
        inputs=np.linspace(0.0, 1.0, 20)[:, None] * np.ones(2 + len(shown)),
        names=("signal", "other", *(f"own {name}" for name in shown)),
    )
    settings = PolicyAnalysisSettings(landscape_bins=5)
    found = measure_landscape(ppo_subject, known, states, ("signal",), settings)
    assert not isinstance(found, str)
    expected = 2.0 * np.linspace(0.0, 1.0, 5)
    np.testing.assert_allclose(found.cells, np.tile(expected, (5, 1)), rtol=1e-4, atol=1e-5)
    # Agents that do not see their position are asked as they were met, by two signals.
    blind = replace(
        states, names=(*states.names[:2], *(f"own number {i}" for i in range(len(shown))))
    )
    other = measure_landscape(ppo_subject, known, blind, ("signal", "other"), settings)
    assert not isinstance(other, str)
    assert other.axes == ("signal", "other")
    met = np.linspace(0.0, 1.0, 20).reshape(5, 4).mean(axis=1)
    np.testing.assert_allclose(np.diag(other.cells), 2.0 * met, rtol=1e-4, atol=1e-5)
    alone = measure_landscape(ppo_subject, known, blind, ("signal",), settings)
    assert isinstance(alone, str)


def test_landscape_of_sac_asks_the_critics_of_the_best_checkpoint(
    sac_subject: EvaluatedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = measure_policy_analysis(sac_subject, PolicyAnalysisSettings(landscape_bins=3))
    assert np.shape(found.value_landscape) == (3, 3)
    assert np.isfinite(found.value_landscape).all()
    assert found.unavailable == (("attention", "encoder row has no attention"),)
    with monkeypatch.context() as gone:
        gone.setattr(landscape, "latest_good", lambda *_, **__: (None, ()))
        without = measure_policy_analysis(sac_subject, PolicyAnalysisSettings())
    assert without.value_landscape is None
    assert without.unavailable[0] == (
        "value landscape",
        "the checkpoint with the critic of the selected weights is gone",
    )


def test_direct_gradient_has_no_critic_to_ask(subject: EvaluatedRun) -> None:
    found = measure_policy_analysis(subject, PolicyAnalysisSettings())
    assert found.value_landscape is None
    assert ("value landscape", "learner direct has no critic") in found.unavailable


def test_policy_analysis_sees_positions_as_agents_did(ppo_subject: EvaluatedRun) -> None:
    found = measure_policy_analysis(ppo_subject, PolicyAnalysisSettings(n_maps=100))
    own = next(each for each in found.maps if each.input == "own size")
    held = ppo_subject.backtest("test").position_frac
    assert own.edges[0] == 0.0  # nothing is held at the first decision
    assert own.edges[-1] == pytest.approx(held[:-1].max())
    assert sum(own.count) == held.size


def test_placebos_are_drawn_as_often_as_told_and_leave_the_run_alone(
    ppo_subject: EvaluatedRun,
) -> None:
    before = ppo_subject.backtest("test").equity
    found = measure_placebos(ppo_subject, PlaceboSettings(draws=20, n_policies=50))
    assert [(row.placebo, row.draws) for row in found.rows] == [
        ("shuffled returns", 20),
        ("random signs", 20),
        ("reversed time", 1),
        ("flipped signs", 1),
        ("random policies", 50),
    ]
    np.testing.assert_array_equal(before, ppo_subject.backtest("test").equity)


def test_draws_do_not_depend_on_how_many_are_played_together(
    ppo_subject: EvaluatedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    part, counterfactual = ppo_subject.bars("test"), CounterfactualData(ppo_subject)
    changes = [partial(shuffle_bars, block_bars=7, seed=seed) for seed in (1, 2)]
    (together,) = play_placebos(ppo_subject, counterfactual, part, changes)
    monkeypatch.setattr("tradingbot.evaluation.analyses.placebos.analysis._LANES", 1)
    first, second = play_placebos(ppo_subject, counterfactual, part, changes)
    np.testing.assert_allclose(together, [*first, *second], atol=1e-7)
    assert not np.allclose(*together, atol=1e-4)
