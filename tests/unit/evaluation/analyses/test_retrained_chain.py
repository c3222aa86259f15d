"""A portfolio over agents, trained again: agents first, master over them, nothing from later."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from fixtures.tiny_portfolio import JOINT, begin_master, master_config
from tradingbot.data.factor import EQUAL_WEIGHT
from tradingbot.domain.errors import ConfigError
from tradingbot.envs.portfolio.task import PortfolioTask
from tradingbot.evaluation.analyses.evaluated_run import open_evaluated_run
from tradingbot.evaluation.analyses.portfolio_run import PortfolioRun
from tradingbot.evaluation.analyses.retraining import training as retraining
from tradingbot.evaluation.analyses.retraining.assembled import AssembledTraining
from tradingbot.evaluation.analyses.retraining.chain import agents_config
from tradingbot.evaluation.analyses.retraining.spec import (
    RetrainingResult,
    RetrainingSpec,
    retraining_config,
)
from tradingbot.evaluation.analyses.retraining.training import prepare_retraining, retrain
from tradingbot.evaluation.analyses.settings import WalkForwardSettings
from tradingbot.evaluation.analyses.walk_forward import walk_forward_specs
from tradingbot.evaluation.backtest.look_ahead import with_other_future
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import override_config
from tradingbot.training.data import TrainingData, open_data
from tradingbot.training.results import SelectedPolicy, select_everything, select_nothing
from tradingbot.training.session import begin_run

WINDOW = RetrainingSpec(
    seed=9,
    steps_share_frac=0.2,
    last_days=("2025-08-15", "2025-09-05", "2025-09-19"),
    windows=(("2025-09-08", "2025-09-12"), ("2025-09-15", "2025-09-19")),
)


@pytest.fixture(scope="module")
def subject(portfolio_workspace: Path) -> PortfolioRun:
    found = open_evaluated_run("master", portfolio_workspace)
    assert isinstance(found, PortfolioRun)
    return found


def again(spec: RetrainingSpec, subject: PortfolioRun) -> RetrainingResult:
    return retrain(prepare_retraining(spec, subject.config, subject.data, subject.workspace))


def noted_tensors(
    monkeypatch: pytest.MonkeyPatch,
) -> list[dict[str, torch.Tensor]]:
    """Return what trainings ended with, in their order."""
    found: list[dict[str, torch.Tensor]] = []
    train = AssembledTraining.train

    def noted(self: AssembledTraining, *more: object) -> tuple[SelectedPolicy | None, str]:
        kept = train(self, *more)  # type: ignore[arg-type]
        networks = self.setup.acting_networks.items()
        found.append({f"{name}.{k}": t for name, n in networks for k, t in n.state_dict().items()})
        return kept

    monkeypatch.setattr(AssembledTraining, "train", noted)
    return found


@pytest.mark.parametrize("more", [{}, JOINT], ids=["frozen", "joint"])
def test_chain_of_the_runs_seed_and_budget_is_the_run(
    portfolio_workspace: Path, more: dict[str, object]
) -> None:
    name = "joint" if more else "master"
    if more:
        begin_master(portfolio_workspace, name, **more)
    own = open_evaluated_run(name, portfolio_workspace)
    assert isinstance(own, PortfolioRun)
    trained = again(RetrainingSpec(seed=5, steps_share_frac=1.0), own)

    for part in ("validation", "test"):
        played = own.backtest(part)  # type: ignore[arg-type]
        np.testing.assert_allclose(trained.part(part).portfolio, played.portfolio, rtol=1e-6)
    assert trained.steps_per_agent == own.config.budget.steps_per_agent
    assert trained.trading_agents == 1


def test_agents_and_master_know_nothing_of_what_follows_validation(
    subject: PortfolioRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    learned = noted_tensors(monkeypatch)
    as_it_was = again(WINDOW, subject)

    def changed(config: TrainConfig, workspace: Path) -> TrainingData:
        data = open_data(config, workspace)
        last = data.split.validation.stop - 1
        worlds = {name: with_other_future(getattr(data, name), last) for name in ("world", "whole")}
        return replace(data, **worlds)

    monkeypatch.setattr(retraining, "open_data", changed)
    otherwise = again(WINDOW, subject)

    assert as_it_was.trained_until == otherwise.trained_until <= "2025-09-05"
    assert as_it_was.parts != otherwise.parts
    assert len(learned) == 4
    for before, after in zip(learned[:2], learned[2:], strict=True):
        for name, tensor in before.items():
            assert torch.equal(tensor, after[name]), name


def test_another_seed_trains_other_agents_and_another_master(
    subject: PortfolioRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    learned = noted_tensors(monkeypatch)
    specs = [RetrainingSpec(seed, 0.05) for seed in (9, 10)]
    first, other = (again(spec, subject) for spec in specs)

    assert first.part("test").portfolio != other.part("test").portfolio
    for one, another in zip(learned[:2], learned[2:4], strict=True):
        assert any(not torch.equal(tensor, another[name]) for name, tensor in one.items())


def test_agents_and_master_have_their_own_factor_and_share_and_agents_stay_out_as_decided(
    subject: PortfolioRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainings: list[AssembledTraining] = []

    def untrained(self: AssembledTraining, *_: object) -> tuple[SelectedPolicy | None, str]:
        trainings.append(self)
        kept = select_everything(self.setup)
        return replace(kept, trades=[True, False] if len(trainings) == 1 else [True]), ""

    monkeypatch.setattr(AssembledTraining, "train", untrained)
    config = override_config(subject.config, {"validation.factor": "SPY"})
    data = replace(subject.data, factor_name="SPY")
    spec = RetrainingSpec(seed=9, steps_share_frac=0.2)
    retrain(prepare_retraining(spec, config, data, subject.workspace))

    own = agents_config(subject.config, subject.workspace)
    assert own is not None
    agents, master = trainings
    assert (agents.data.factor_name, master.data.factor_name) == (EQUAL_WEIGHT, "SPY")
    for made, asked in ((agents, own), (master, config)):
        assert made.config == retraining_config(spec, asked)
        assert made.config.budget.steps_per_agent < asked.budget.steps_per_agent
    task = master.setup.learner.task
    assert isinstance(task, PortfolioTask)
    assert task.book.column("proposal")[:, 0].any()
    assert not task.book.column("proposal")[:, 1].any()


def test_where_no_agent_trades_the_chain_stays_out(
    subject: PortfolioRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(self: AssembledTraining, *_: object) -> tuple[SelectedPolicy | None, str]:
        return select_nothing(self.setup), ""

    monkeypatch.setattr(AssembledTraining, "train", nothing)
    trained = again(WINDOW, subject)

    assert (trained.trading_agents, trained.failed) == (0, "")
    assert all(set(part.portfolio) == {1.0} for part in trained.parts)


def test_windows_of_a_portfolio_over_agents_are_laid_out(subject: PortfolioRun) -> None:
    settings = WalkForwardSettings(8, 8, first_share_frac=0.5)
    specs = walk_forward_specs(subject, settings)
    assert specs
    assert all(spec.last_days and spec.windows for spec in specs)


def test_agents_learn_from_the_bars_of_the_portfolio(portfolio_workspace: Path) -> None:
    config = master_config(**{"market.seed": 11})
    found = agents_config(config, portfolio_workspace)
    assert found is not None
    assert found.market == config.market
    assert found.environment.kind == "population"
    assert agents_config(found, portfolio_workspace) is None


@pytest.mark.parametrize(
    ("splits", "part"),
    [
        ({"train": 0.5, "validation": 0.3, "test": 0.2}, "validation"),
        ({"train": 0.6, "validation": 0.1, "test": 0.3}, "test"),
    ],
)
def test_m11_master_judged_on_what_its_agents_learned_from_is_refused(
    portfolio_workspace: Path, splits: dict[str, float], part: str
) -> None:
    options = {f"splits.{key}": value for key, value in splits.items()}
    with pytest.raises(ConfigError, match=f"{part} of a master must not begin before {part}"):
        begin_run(master_config(**options), portfolio_workspace, name="early")
    assert not (portfolio_workspace / "runs" / "early").exists()


def test_master_judged_later_or_on_another_generated_market_is_trained(
    portfolio_workspace: Path,
) -> None:
    later = {"splits.train": 0.65, "splits.validation": 0.2, "splits.test": 0.15}
    open_data(master_config(**later), portfolio_workspace)
    early = {"splits.train": 0.5, "splits.validation": 0.3}
    open_data(master_config(**{"market.seed": 11, **early}), portfolio_workspace)
