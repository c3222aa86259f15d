"""Kinds of environments from a configuration to a finished run: train, resume, act, be shown."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch

import tradingbot as tb
from fixtures.run_bits import fingerprint
from fixtures.tiny_training import tiny_config
from fixtures.trading_worlds import short_config, small_world
from tradingbot.app.cli.application import run as run_command
from tradingbot.domain.errors import ConfigError, InterruptionError
from tradingbot.envs.portfolio.sleeves import write_book
from tradingbot.envs.portfolio.task import PortfolioTask, PortfolioTerms
from tradingbot.evaluation.analyses.evaluated_run import open_evaluated_run
from tradingbot.evaluation.pipeline.assembly import caveats_of
from tradingbot.evaluation.pipeline.config import EvaluateConfig
from tradingbot.plugins.reference import RULE_NAMES
from tradingbot.runs import RunDirectory
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import config_of_mapping, load_train_config
from tradingbot.training.data import open_data
from tradingbot.training.environment_rules import require_sleeve_rule
from tradingbot.training.result_file import read_result
from tradingbot.training.session import SessionCallbacks, begin_run, resume_session
from tradingbot.training.setup import build_training_setup
from tradingbot.training.sleeve_book import sleeve_rule, trade_sleeves

_EASY = {"min_sharpe": -100.0, "min_win_rate_frac": 0.0, "min_trades": 0}
_STAGE = {"name": "easy", "trend_strength": 0.6, "vol_frac": 0.003, "cost_bps": 1.0, **_EASY}
KINDS: dict[str, dict[str, Any]] = {
    "curriculum": {
        "environment.curriculum.stages": [_STAGE, _STAGE | {"name": "next", "cost_bps": 5.0}],
        "environment.curriculum.rule.min_episodes": 2,
        "environment.curriculum.rule.recent_episodes": 2,
        "environment.curriculum.markets_per_stage": 1,
        "task.rules.episode.episode_bars": 8,
        "learner.direct.chunk_bars": 8,
    },
    "goal": {
        "learner.name": "ppo",
        "learner.ppo.rollout_steps": 8,
        "learner.ppo.minibatch": 8,
        "learner.ppo.actor.hidden": [8],
        "learner.ppo.critic.hidden": [8],
        "validation.shrink": False,
        "task.rules.episode.episode_bars": 8,
    },
}
KINDS["portfolio"] = KINDS["goal"] | {"environment.portfolio.sleeves": "sma_cross:fast=3,slow=9"}
FIGURES = {
    "curriculum": "curriculum/stage",
    "goal": "reward/goal",
    "portfolio": "reward/costs",
}
REFUSED: dict[str, tuple[str, dict[str, Any]]] = {
    "direct, growth": ("must learn from the reward in environment goal", {}),
    "direct, sparse": (
        "reward must be dense for a learner that follows its gradient",
        {"learner.direct.objective": "reward"},
    ),
    "cloning": (
        "cloning.enabled must be false in environment goal",
        {"learner.name": "ppo", "cloning.enabled": True},
    ),
    "another reward": (
        "task.reward must act; environment.kind must not be goal",
        {"learner.name": "ppo", "task.reward": "v31"},
    ),
    "another kind's settings": (
        "environment.kind must be curriculum, is goal",
        {"learner.name": "ppo", "environment.curriculum.then_own_bars": False},
    ),
}


def config_of(kind: str, **more: object) -> TrainConfig:
    small = {"budget.steps_per_agent": 96, "guards.probe_every": 0}
    return tiny_config(**{"environment.kind": kind, **small, **KINDS[kind], **more})


@pytest.mark.parametrize("kind", KINDS)
def test_run_trains_resumes_to_the_same_bits_and_is_shown_and_backtested(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = config_of(kind)
    whole = begin_run(config, tmp_path / "whole", name="run")
    stops = iter([*[False] * 3, True, *[False] * 99])
    callbacks = SessionCallbacks(interrupted=lambda: next(stops))

    assert begin_run(config, tmp_path, callbacks, name="run").result is None
    resumed = resume_session("run", tmp_path).run
    assert fingerprint(resumed) == fingerprint(whole.run)
    told = [row["metrics"][FIGURES[kind]] for row in resumed.read_journal("metrics")]
    assert len(told) == 6
    assert told[0] != told[-1]

    capsys.readouterr()
    assert run_command(["--workspace", str(tmp_path), "runs", "show", "run"]) == 0
    shown = capsys.readouterr().out
    assert re.search(rf"environment\W+{kind}", shown)
    assert FIGURES[kind] in shown
    judged = read_result(resumed.path).part("test").policies[0]
    plain = " ".join(re.sub(r"[│|]", " ", shown).split())
    assert ("never rebalanced; bp/bar: their mean" in plain) is (kind != "portfolio")
    assert ("asked for a return of at least 2.0%" in plain) is (kind == "goal")
    assert (f"met in {_met(resumed)} on validation" in plain) is (kind == "goal")
    if kind == "goal":
        caveats = caveats_of(open_evaluated_run("run", tmp_path), EvaluateConfig())
        assert any(f"met in {_met(resumed)} on validation" in line for line in caveats)
    if kind == "portfolio":
        assert "validation: portfolio" in plain
        assert "validation: agents" not in plain
        assert "All figures, bp/bar too, are of the whole portfolio's value" in plain
        assert "traded by sma_cross:fast=3,slow=9" in plain
        assert judged.exposure_frac > 0.0
        assert judged.turnover_per_bar_frac > 0.0
    assert run_command(["--workspace", str(tmp_path), "backtest", "run", "--json"]) == 0
    (figures,) = json.loads(capsys.readouterr().out)
    assert figures["total_return_frac"] == pytest.approx(judged.total_return_frac, abs=1e-6)


def test_run_that_is_interrupted_while_markets_are_generated_ends_in_order(tmp_path: Path) -> None:
    config, stop = config_of("curriculum"), SessionCallbacks(interrupted=lambda: True)
    with pytest.raises(InterruptionError):
        begin_run(config, tmp_path, stop, name="run")
    assert not (tmp_path / "runs" / "run").exists()

    asked = iter([*[False] * 3, True])  # two markets, one update
    begun = begin_run(config, tmp_path, SessionCallbacks(interrupted=lambda: next(asked)), name="a")
    before = begun.run.status()
    assert before.steps > 0

    resumed = resume_session("a", tmp_path, stop)

    assert resumed.result is None
    after = resumed.run.status()
    assert (after.state, after.steps, after.update) == ("interrupted", before.steps, before.update)


def _met(run: RunDirectory) -> str:
    agents = read_result(run.path).part("validation").agents
    met = sum(row.total_return_frac >= 0.02 and row.max_drawdown_frac <= 0.05 for row in agents)
    return f"{met} of {len(agents)} episodes ({met / len(agents):.0%})"


PORTFOLIO_REFUSED: dict[str, tuple[str, dict[str, Any]]] = {
    "rounding": (r"learner.direct.act_levels must be 0 in environment portfolio.*was 2", {}),
    "no weights": (
        r"learner.name must be one that learns weights .*was sac",
        {"learner.name": "sac"},
    ),
    "codes": (
        "task.rules.action.space must be target",
        {"learner.name": "ppo", "task.rules.action.space": "discrete"},
    ),
    "encoder": ("encoder.preset must be row", {"learner.name": "ppo", "encoder.preset": "tiny"}),
    "exits within a bar": (
        "stop_loss_frac and take_profit_frac must be infinite in environment portfolio.*was 0.1",
        {
            "learner.name": "ppo",
            "task.rules.action.space": "target",
            "encoder.preset": "row",
            "task.rules.account.stop_loss_frac": 0.1,
        },
    ),
    "delistings": (
        "delisted_after_bars must be left out in environment portfolio.*was 20",
        {
            "learner.name": "ppo",
            "task.rules.action.space": "target",
            "encoder.preset": "row",
            "task.rules.account.delisted_after_bars": 20,
        },
    ),
    "a rule of its own": (
        "task.private must act",
        {"learner.name": "ppo", "task.private": ["size", "cash"]},
    ),
}


@pytest.mark.parametrize(("words", "options"), REFUSED.values(), ids=list(REFUSED))
def test_what_goals_cannot_be_trained_with_is_refused(words: str, options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=words):
        load_train_config("quick", {"environment.kind": "goal", **options})


@pytest.mark.parametrize(
    ("words", "options"), PORTFOLIO_REFUSED.values(), ids=list(PORTFOLIO_REFUSED)
)
def test_what_portfolios_cannot_be_trained_with_is_refused(
    words: str, options: dict[str, Any]
) -> None:
    with pytest.raises(ConfigError, match=words):
        load_train_config("quick", {"environment.kind": "portfolio", **options})


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (
            "paired_envs must be 1 in environment curriculum.*was 2",
            {"environment.kind": "curriculum", "learner.ppo.paired_envs": 2},
        ),
        (
            "learner.ppo.paired_envs must divide budget.n_envs, was 3 paired environments",
            {"learner.ppo.paired_envs": 3, "budget.n_envs": 4},
        ),
        (
            "learner.ppo.min_std must act; task.rules.action.space must be",
            {"learner.ppo.min_std": 0.3, "task.rules.action.space": "discrete"},
        ),
    ],
)
def test_settings_of_exploration_that_cannot_act_are_refused(
    words: str, options: dict[str, Any]
) -> None:
    with pytest.raises(ConfigError, match=words):
        load_train_config("quick", {"learner.name": "ppo", **options})


def test_master_preset_has_settings_for_ppo_too() -> None:
    ppo = load_train_config("master", {"learner.name": "ppo"}).learner.settings

    assert ppo.paired_envs > 1
    assert ppo.min_std.at(0) > ppo.min_std.at(400_000) > 0.0


def test_rule_of_the_sleeves_trades_them(tmp_path: Path) -> None:
    worth = []
    for rule in ("buy_and_hold", "flat"):
        config = config_of("portfolio", **{"environment.portfolio.sleeves": rule})
        data = open_data(config, tmp_path)
        trained_on = build_training_setup(config, data, seed=1).learner.task
        assert isinstance(trained_on, PortfolioTask)
        task = trained_on.backtest(data.split.test.start, data.split.test.stop - 1)
        state = task.begin()[0]
        for _ in range(3):
            state = task.step(state, torch.tensor([[[0.5, 0.5, 0.0]]])).state
        worth.append(float(task.wealth(state)))

    assert worth[1] == 1.0
    assert worth[0] != 1.0


def test_risk_aversion_takes_half_the_squared_return_off_the_reward(tmp_path: Path) -> None:
    rewards = []
    for aversion in (0.0, 50.0):
        config = config_of("portfolio", **{"environment.portfolio.risk_aversion": aversion})
        task = build_training_setup(config, open_data(config, tmp_path), seed=1).learner.task
        made = task.step(task.begin()[0], torch.full((1, task.n_envs, 3), 1 / 3))
        rewards.append((made.reward, torch.expm1(made.terms[:2].sum(0))))

    (usual, growth), (averse, _) = rewards
    assert torch.allclose(usual - averse, 25.0 * growth.square(), atol=1e-7)


@pytest.mark.parametrize("rule", RULE_NAMES)
def test_every_rule_of_the_package_trades_the_sleeves_of_several_portfolios(rule: str) -> None:
    world, n_envs = small_world(), 2
    config = short_config("target", smoothing_bars=1)
    paths = trade_sleeves(world, config, sleeve_rule(rule, world, 1))
    terms = PortfolioTerms(config.rules, config.costs)
    task = PortfolioTask(write_book(world, paths), terms, n_envs=n_envs, seed=4)
    state = task.begin()[0]

    for _ in range(3):
        state = task.step(state, torch.full((1, n_envs, world.n_symbols + 1), 0.25)).state
    assert task.wealth(state).shape == (1, n_envs)
    assert torch.isfinite(task.wealth(state)).all()


@pytest.mark.parametrize("name", ["mine_alone", "fixtures.trading_worlds:small_world", "oracle"])
def test_sleeves_that_the_configuration_does_not_identify_are_refused(
    name: str, clean_plugins: None
) -> None:
    tb.strategy(name="mine_alone")(lambda view: 1.0)
    words = "sleeves must be a rule of the package.*buy_and_hold, expert.*or trend_follower"

    with pytest.raises(ConfigError, match=words):
        require_sleeve_rule(name)
    with pytest.raises(ConfigError, match=words):
        sleeve_rule(name, small_world(), seed=1)


def test_direct_gradient_follows_a_dense_goal(tmp_path: Path) -> None:
    config = tiny_config(
        **{
            "environment.kind": "goal",
            "environment.goal.reward": "dense",
            "environment.goal.return_range_frac": (0.01, 0.02),
            "learner.direct.objective": "reward",
        }
    )
    setup = build_training_setup(config, open_data(config, tmp_path), seed=1)

    assert setup.learner.update().metrics["loss/gradient_norm"].item() > 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_configuration_reads_back_and_moves_the_hash(kind: str) -> None:
    config = config_of(kind)

    assert config_of_mapping(config.as_mapping()).as_mapping() == config.as_mapping()
    assert set(config.as_mapping()["environment"]) == {"kind", kind}
    assert config.config_hash != tiny_config().config_hash
    assert "environment" not in load_train_config("quick").as_mapping()
