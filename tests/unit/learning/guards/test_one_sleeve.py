"""A master that holds one sleeve and has no reason for it is told; one that has is not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from fixtures.sabotage_histories import NAMES, history_of
from tradingbot.envs.portfolio.sleeve_market import MEMBER_NAMES, SleeveMarket, plant_sleeves
from tradingbot.envs.portfolio.task import PortfolioTask, PortfolioTerms
from tradingbot.learning.direct.config import DirectConfig
from tradingbot.learning.direct.learner import Direct
from tradingbot.learning.guards import AlarmLevel, Diagnosis, FlightRecorder, GuardConfig
from tradingbot.learning.guards.catalogue import RULES
from tradingbot.learning.guards.detector import run_detector
from tradingbot.learning.guards.recorder import RecorderReport
from tradingbot.learning.learner import Experience, Update
from tradingbot.learning.schedules import constant
from tradingbot.learning.task import Observation
from tradingbot.market.params import AccountRules, EpisodeRules, SimulatorParams
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.set_head import SetHead
from tradingbot.networks.view import TableView
from tradingbot.risk.limits import RiskLimits

GUARDED = GuardConfig(warm_up_steps=0, warm_up_updates=0, probe_every=2, probe_steps=64)
N_SLEEVES = 6
BY_CODE = {rule.code: rule for rule in RULES}
SLEEVES = ("S000", "S001", "S002")


def portfolios(kind: str, *, n_sleeves: int = N_SLEEVES, n_envs: int = 64) -> PortfolioTask:
    market = SleeveMarket(kind=kind, n_sleeves=n_sleeves, n_bars=6_000)
    planted = plant_sleeves(market, seed=1)  # synthetic
    rules = SimulatorParams(
        account=AccountRules(portfolio_loss_frac=1.0),
        limits=RiskLimits(max_position_frac=1.0),
        episode=EpisodeRules(128, window_bars=1),
    )
    terms = PortfolioTerms(rules, risk_aversion=10.0)
    return PortfolioTask(planted.book, terms, n_envs=n_envs, seed=3).during(0, 2_900)


class Holding:
    """Stands for a learner that holds the same weights, whatever it sees."""

    updates = steps = 0

    def __init__(self, task: PortfolioTask, weights: Tensor) -> None:
        self.task, self.weights = task, weights

    def act(self, seen: Observation) -> Tensor:
        return self.weights.expand(*seen.row.shape, -1).float()

    def update(self) -> Update:
        self.updates, self.steps = self.updates + 1, self.steps + 16
        task, shape = self.task, (16, 1, self.task.n_envs)
        codes, terms = torch.ones(shape).long(), torch.zeros(len(task.term_names), *shape[1:])
        held = self.weights.expand(*shape, -1)
        return Update({}, Experience(held, codes, codes > 0, torch.zeros(shape), terms))


def in_one(place: int, share: float = 0.97, n_sleeves: int = N_SLEEVES) -> Tensor:
    weights = torch.full((n_sleeves + 1,), (1.0 - share) / n_sleeves)
    weights[place] = share
    return weights


def watched(learner: Holding | Direct, updates: int = 6) -> list[RecorderReport]:
    recorder = FlightRecorder(learner.task, GUARDED)
    return [recorder.watch(learner, learner.update()) for _ in range(updates)]


def told(reports: list[RecorderReport], code: str = "ONE_SLEEVE") -> Diagnosis | None:
    return next((each for each in reports[-1].verdicts if each.code == code), None)


def best_and_worst(task: PortfolioTask) -> tuple[int, int]:
    earned = task.book.rows[1:2_900, 1].mean(0)
    return int(earned.argmax()), int(earned.argmin())


def test_all_in_a_sleeve_that_earns_less_than_all_together_is_critical() -> None:
    task = portfolios("steady")
    worst = best_and_worst(task)[1]

    reports = watched(Holding(task, in_one(worst)))

    found = told(reports)
    assert found is not None
    assert found.severity is AlarmLevel.CRITICAL
    name = task.book.symbols[worst]
    assert f"97 % of its capital is in sleeve {name}, bar after bar (limit 80 %)" in found.words
    assert "all of them together earn more" in found.words
    assert not reports[-1].healthy
    assert told(reports[:2]) is None  # one play is not enough


def test_all_in_a_sleeve_that_earns_more_is_told_as_what_it_is() -> None:
    task = portfolios("steady")
    best = best_and_worst(task)[0]

    reports = watched(Holding(task, in_one(best)))

    found = told(reports)
    assert found is not None
    assert found.severity is AlarmLevel.INFO
    assert "that sleeve earns more" in found.words
    assert reports[-1].healthy


def test_all_in_one_of_sleeves_that_are_the_same_is_a_warning() -> None:
    task = portfolios("steady")
    for field in (0, 1, 5, 6):  # gap, within, depth and volatility of every sleeve: those of one
        task.book.rows[:, field] = task.book.rows[:, field, :1]

    reports = watched(Holding(task, in_one(2, 1.0)))

    found = told(reports)
    assert found is not None
    assert found.severity is AlarmLevel.WARNING
    assert "no reason is seen for it" in found.words


@pytest.mark.parametrize(
    ("kind", "weights"),
    [
        ("worthless", torch.eye(N_SLEEVES + 1)[-1]),
        ("steady", in_one(0, 0.75)),
        ("steady", torch.full((N_SLEEVES + 1,), 1.0 / (N_SLEEVES + 1))),
    ],
    ids=["all cash", "three quarters", "equal weight"],
)
def test_cash_and_capital_that_is_spread_are_no_sign(kind: str, weights: Tensor) -> None:
    reports = watched(Holding(portfolios(kind), weights))

    assert told(reports) is None
    assert told(reports, "ONE_ACTION") is None  # of choices, which weights are not
    assert told(reports, "REPEATS") is None
    assert reports[-1].healthy


def test_single_sleeve_is_nothing_to_choose() -> None:
    task = portfolios("steady", n_sleeves=2)
    two = watched(Holding(task, torch.tensor([0.0, 1.0, 0.0])))
    assert two[-1].measures["eval/effective_sleeves"].tolist() == [1.0]

    book = task.book
    kept = {name: getattr(book, name)[:, :1] for name in ("members", "value", "close")}
    only = replace(book, symbols=book.symbols[:1], rows=book.rows[..., :1], **kept)
    alone = PortfolioTask(only, task.terms, n_envs=4, seed=3)
    reports = watched(Holding(alone, torch.tensor([1.0, 0.0])))
    assert told(reports) is None
    assert reports[-1].measures["eval/largest_sleeve_share"].isnan().all()


def test_sleeve_that_has_all_for_a_while_only_is_not_held() -> None:
    task = portfolios("steady")

    class Turning(Holding):
        def act(self, seen: Observation) -> Tensor:
            place = (seen.row // 16) % N_SLEEVES
            return torch.nn.functional.one_hot(place, N_SLEEVES + 1).float()

    assert told(watched(Turning(task, in_one(0)))) is None


def test_gain_is_that_of_the_same_bars_and_counts_each_bar_once() -> None:
    """The same portfolios twice over say nothing more: the error is that of the bars."""
    task = portfolios("steady", n_envs=8)
    once = watched(Holding(task, in_one(0)), 1)[0].measures
    twice = watched(Holding(task.repeated(2), in_one(0)), 1)[0].measures

    for name in ("eval/over_equal", "eval/over_equal_error"):
        torch.testing.assert_close(twice[name], once[name], rtol=1e-9, atol=0.0)


def test_master_that_follows_nothing_but_confidence_is_found_within_6_updates() -> None:
    """Sabotage: agents are confident and earn nothing, and a saturated softmax learns no more."""
    shouting = watched(master(portfolios("worthless"), shout), 6)
    sound = watched(master(portfolios("worthless"), None), 6)

    found = told(shouting)
    assert found is not None
    assert found.severity >= AlarmLevel.WARNING
    assert found.observed > 0.85
    assert told(sound) is None


def master(task: PortfolioTask, spoil: Callable[[Direct], None] | None) -> Direct:
    config = DirectConfig(
        actor=HeadConfig(hidden=(8,), pooling="pooled"),
        chunk_bars=4,
        squash_gain=1.0,
        act_levels=0,
        objective="reward",
        learning_rate=constant(1e-3),
    )
    learner = Direct(task, TableView(task.table), config, seed=1)
    if spoil is not None:
        spoil(learner)
    return learner


def shout(learner: Direct) -> None:
    """Let the logit of a sleeve be a hundred times what its agent is confident of."""
    place = MEMBER_NAMES.index("confidence")
    found = (each for net in learner.networks().values() for each in net.modules())
    (head,) = (each for each in found if isinstance(each, SetHead))

    def follow(head: SetHead, seen: tuple[Tensor], logits: Tensor) -> Tensor:
        return logits + 100.0 * head._divide(seen[0])[0][..., place]

    head.register_forward_hook(follow)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, None),
        ({"eval/largest_sleeve_share": 0.80}, None),
        ({"eval/largest_sleeve_share": 0.81}, AlarmLevel.WARNING),
        ({"eval/largest_sleeve_share": 0.81, "eval/over_equal": 0.02}, AlarmLevel.WARNING),
        ({"eval/largest_sleeve_share": 0.81, "eval/over_equal": 0.021}, AlarmLevel.INFO),
        ({"eval/largest_sleeve_share": 0.81, "eval/over_equal": -0.02}, AlarmLevel.WARNING),
        ({"eval/largest_sleeve_share": 0.81, "eval/over_equal": -0.021}, AlarmLevel.CRITICAL),
        ({"eval/largest_sleeve_share": 0.99, "eval/over_equal": float("nan")}, None),
    ],
)
def test_rule_at_its_limits(changes: dict[str, float], expected: AlarmLevel | None) -> None:
    sound = {
        "eval/largest_sleeve": 1.0,
        "eval/largest_sleeve_share": 0.4,
        "eval/over_equal": 0.0,
        "eval/over_equal_error": 0.01,
    }
    names = NAMES._replace(sleeves=SLEEVES)

    found = run_detector(
        BY_CODE["ONE_SLEEVE"], history_of({**sound, **changes}), GuardConfig(), names
    )

    assert [each.severity for each in found] == ([] if expected is None else [expected])
    assert not run_detector(BY_CODE["ONE_SLEEVE"], history_of(changes), GuardConfig(), NAMES)
