"""`tb.train`, `tb.load_policy`, `tb.evaluate`, `tb.make_env` on bars of one's own; synthetic."""

from __future__ import annotations

import numpy as np
import pytest

import tradingbot as tb
from fixtures.short_work import shortened_work
from tradingbot.domain.errors import ConfigError

SETTINGS = {
    "validation.shrink": False,
    "budget.steps_per_agent": 160,
    "splits.validation": 0.195,
    "splits.test": 0.205,
}
"""The test part begins with the first bar of a day, as a backtest does."""


@pytest.fixture(scope="module")
def run(hourly: tb.Bars) -> tb.Run:
    with shortened_work():
        return tb.train(hourly, preset="quick", seed=3, settings=SETTINGS, budget__n_envs=2)


def test_run_is_of_the_bars_with_their_own_split_and_settings(run: tb.Run, hourly: tb.Bars) -> None:
    record = run.directory.record

    assert record.data.agents == hourly.symbols
    assert record.data.dataset_sha256 == hourly.dataset.manifest.content_sha256
    assert record.config["splits"]["train"] == 0.6
    assert record.config["budget"]["n_envs"] == 2
    assert record.seeds["root"] == 3
    test = run.part("test")
    assert test.last_day == str(hourly.dataset.manifest.last_closed_at.date())
    assert run.sharpe.low < run.sharpe.estimate < run.sharpe.high
    assert "test Sharpe" in repr(run)
    assert "validation:" in run.summary()


def test_loaded_policy_trades_its_test_bars_as_the_run_says(run: tb.Run, hourly: tb.Bars) -> None:
    test = run.part("test")

    result = tb.backtest(tb.load_policy(run), hourly, start=test.first_day, end=test.last_day)

    assert result.figures.bars == test.bars
    assert result.total_return == pytest.approx(run.total_return, rel=1e-9)


def test_policy_acts_on_bars_it_has_not_seen_and_by_folder(run: tb.Run, hourly: tb.Bars) -> None:
    policy = tb.load_policy(run.path)
    other = tb.generate_bars(
        "planted", symbols=["QQQ", "SPY"], start="2025-04-01", kappa=0.3, seed=8
    )

    result = tb.backtest(policy, other, against=["buy_and_hold"])

    assert np.ptp(result.played.action) > 0.01
    assert len(result.against) == 1
    assert repr(policy).startswith(f"<Policy of run {run.id}: direct, 2 agents: QQQ, SPY")
    # The same scale as in training, whatever the new bars look like.
    own, new = policy.world_of(hourly), policy.world_of(other)
    assert own.feature_names == new.feature_names
    raw = [tb.build_panel(bars).numpy("features")[:, 300, 5] for bars in (hourly, other)]
    scaled = [world.features[:, 300, 5] for world in (own, new)]
    slope = (scaled[0][1] - scaled[0][0]) / (raw[0][1] - raw[0][0])
    assert scaled[1] == pytest.approx(scaled[0][0] + slope * (raw[1] - raw[0][0]), abs=1e-3)


def test_policy_refuses_bars_without_its_symbols(run: tb.Run, daily: tb.Bars) -> None:
    with pytest.raises(Exception, match="symbol must be one of the world's, was 'QQQ'"):
        tb.backtest(tb.load_policy(run), daily)
    with pytest.raises(ConfigError, match="run must be the id of one run"):
        tb.load_policy("nothing", workspace=run.workspace)


def test_wrong_setting_is_refused_with_its_name(hourly: tb.Bars) -> None:
    with pytest.raises(ConfigError, match="section 'budget', was 'n_env'"):
        tb.train(hourly, preset="quick", budget__n_env=2)


def test_evaluation_answers(run: tb.Run) -> None:
    found = tb.evaluate(run, preset="required")

    assert found.memo.verdict == "NO-GO"
    assert repr(found).startswith(f"<Evaluation of {run.id}, synthetic: NO-GO: ")
    assert found.page.exists()


def test_environment_of_bars_panels_and_worlds(hourly: tb.Bars) -> None:
    panel = tb.build_panel(hourly)
    for data in (hourly, panel, hourly.world):
        env = tb.make_env(data, actions="target", reward="log_growth", episode_bars=16)
        env.reset(seed=1)
        steps = 0
        ended = False
        while not ended:
            _, _, terminated, truncated, info = env.step(np.array([1.0], dtype=np.float32))
            assert list(info["reward_terms"]) == ["log_growth"]
            steps, ended = steps + 1, terminated or truncated
        assert steps == 16
    vector = tb.make_env(hourly, n_envs=3)
    assert vector.reset(seed=1)[0]["position"].shape == (3, 8)
    with pytest.raises(
        ConfigError, match="a setting of an environment must be known, was 'rewards'"
    ):
        tb.make_env(hourly, rewards="v31")


def test_panel_is_proved_once(hourly: tb.Bars) -> None:
    panel = tb.build_panel(hourly)

    assert panel.certificate is not None
    assert repr(panel).endswith("23 features, 10 regimes, 1 covariates, proved causal>")
    written = (panel.folder / "certificate.json").stat().st_mtime_ns
    assert (tb.build_panel(hourly).folder / "certificate.json").stat().st_mtime_ns == written
