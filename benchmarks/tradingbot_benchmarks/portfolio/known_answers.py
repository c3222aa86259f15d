"""What a master learns where the best allocation is known: its share of the oracle's gain.

Sleeves are synthetic. The master learns on the first two thirds of the bars, by the direct gradient
or by PPO, and is measured on bars after them, beside the oracle and equal weight, with the same
costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tradingbot.data.splits import IndexRange
from tradingbot.envs.portfolio.sleeve_market import SleeveMarket, SleeveMarketKind, plant_sleeves
from tradingbot.envs.portfolio.task import PortfolioTask, PortfolioTerms
from tradingbot.evaluation.allocation.known_answers import (
    AllocationWorth,
    measure_allocations,
    oracle_share,
)
from tradingbot.learning.direct.config import DirectConfig
from tradingbot.learning.direct.learner import Direct
from tradingbot.learning.entropy_config import EntropyConfig
from tradingbot.learning.ppo.config import PPOConfig
from tradingbot.learning.ppo.learner import PPO
from tradingbot.learning.schedules import Schedule, constant
from tradingbot.market.params import AccountRules, EpisodeRules, SimulatorParams
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.view import TableView
from tradingbot.risk.limits import RiskLimits
from tradingbot_benchmarks.record import BenchRecord

Progress = Callable[[int, int, str], None]
MasterLearner = Literal["direct", "ppo"]
MASTER_LEARNERS: tuple[MasterLearner, ...] = ("direct", "ppo")
MASTER = "master"
GOAL_FRAC = 0.9
"""Share of the oracle's gain that a master must have."""
WITH_GAIN: tuple[SleeveMarketKind, ...] = ("steady", "changing", "dying")
WITHOUT_GAIN: SleeveMarketKind = "worthless"
_TOLD_UPDATES = 20
_ACTOR = HeadConfig(hidden=(16,), pooling="pooled", activation="gelu")


@dataclass(frozen=True)
class MasterMeasurement:
    """How masters are trained and measured on planted sleeves."""

    n_sleeves: int = 6
    n_bars: int = 216_000
    """With 36,000 masters learn what was drawn: they beat the oracle on bars of training."""
    best_sharpe: float = 0.2
    worst_sharpe: float = -0.1
    confidence_noise: float = 0.05
    risk_aversion: float = 40.0
    """Correlation counts: log growth alone would put all into the best sleeve."""
    by: MasterLearner = "direct"
    updates: int = 800
    n_envs: int = 512
    chunk_bars: int = 4
    """What capital moves earns at once; costs of moving back show within a few bars."""
    measured_bars: int = 3_000
    seeds: tuple[int, ...] = (1, 2, 3)
    kinds: tuple[SleeveMarketKind, ...] = field(default=(*WITH_GAIN, WITHOUT_GAIN))

    def learner(self, task: PortfolioTask, seed: int) -> Direct | PPO:
        """Return a master that has learned nothing yet."""
        view = TableView(task.table)
        if self.by == "ppo":
            return PPO(task, view, self._ppo, seed=seed)
        return Direct(task, view, self._direct, seed=seed)

    def _falling(self, first: float, last: float = 0.0, *, share: float = 1.0) -> Schedule:
        steps = self.updates * self.chunk_bars * self.n_envs
        return Schedule("cosine", first, last, over=round(share * steps))

    @property
    def _direct(self) -> DirectConfig:
        return DirectConfig(
            actor=_ACTOR,
            objective="reward",
            chunk_bars=self.chunk_bars,
            learning_rate=self._falling(1e-2),
            weight_decay=5e-7,  # of a reward in units of one; more, and cash answers no death
            squash_gain=1.0,  # more, and a sleeve that is left early is not looked at again
            act_levels=0,
        )

    @property
    def _ppo(self) -> PPOConfig:
        return PPOConfig(
            actor=_ACTOR,
            critic=HeadConfig(hidden=(16,), pooling="pooled", output_gain=1.0),
            rollout_steps=self.chunk_bars,
            paired_envs=8 if self.n_envs % 8 == 0 else 1,  # what the market did is no noise then
            n_epochs=1,
            minibatch=max(1, self.chunk_bars * self.n_envs // 4),
            discount=0.0,  # weights of a bar earn in that bar; later ones only add noise
            decay=0.0,
            gradient_clip=1.0,
            kl_stop=0.0,
            learning_rate=self._falling(3e-3),
            entropy=EntropyConfig(
                coefficient=constant(0.0), target=0.0, floor=0.0, guard_entropy=0.0
            ),
            initial_std=2.0,
            min_std=self._falling(2.0, 0.05, share=0.6),  # else it rests before cash is learned
            normalise_advantages="rollout",
        )

    def market(self, kind: SleeveMarketKind) -> SleeveMarket:
        """Return the sleeves of a kind."""
        return SleeveMarket(
            kind=kind,
            n_sleeves=self.n_sleeves,
            n_bars=self.n_bars,
            best_sharpe=self.best_sharpe,
            worst_sharpe=self.worst_sharpe,
            confidence_noise=self.confidence_noise,
        )


PPO_MEASUREMENT = MasterMeasurement(by="ppo")
"""1.6 million steps, as many as the direct gradient takes."""


def measure_master(
    size: MasterMeasurement, kind: SleeveMarketKind, seed: int, progress: Progress
) -> dict[str, AllocationWorth]:
    """Plant sleeves, train a master on two thirds of the bars, measure it on those after."""
    market = size.market(kind)
    planted = plant_sleeves(market, seed)
    rules = SimulatorParams(
        account=AccountRules(portfolio_loss_frac=1.0),
        limits=RiskLimits(max_position_frac=1.0),
        episode=EpisodeRules(episode_bars=128, window_bars=1),
    )
    terms = PortfolioTerms(rules, risk_aversion=size.risk_aversion)
    whole = PortfolioTask(planted.book, terms, n_envs=size.n_envs, seed=seed)
    first = 2 * market.n_bars // 3
    if planted.dies_at:  # a death must be among what is measured
        first = max(first, planted.dies_at[-1][0] - size.measured_bars // 2)
    task = whole.during(0, 2 * market.n_bars // 3 - 1)
    learner = size.learner(task, seed)
    for update in range(size.updates):
        learner.update()
        if (update + 1) % _TOLD_UPDATES == 0:
            progress(update + 1, size.updates, f"{kind} sleeves, seed {seed}")
    last = min(first + size.measured_bars, market.n_bars - 1)
    return measure_allocations(planted, whole, IndexRange(first, last + 1), {MASTER: learner.act})


def measure_masters(size: MasterMeasurement, progress: Progress) -> Iterator[BenchRecord]:
    """Yield a record of each kind as soon as every seed is measured, last the least share."""
    shares = []
    for kind in size.kinds:
        found = [measure_master(size, kind, seed, progress) for seed in size.seeds]
        if kind == WITHOUT_GAIN:
            cash = [worth[MASTER].cash_frac for worth in found]
            note = f"synthetic; share of cash where no sleeve earns, least of seeds {size.seeds}"
            yield BenchRecord("master_worthless_cash", min(cash), "fraction", note=note)
            continue
        own = [oracle_share(worth, MASTER) for worth in found]
        shares += own
        yield _share_record(f"master_{kind}", own, found, size)
    if shares:
        note = (
            f"synthetic sleeves; least of {len(shares)} (kinds × seeds {size.seeds}), mean "
            f"{sum(shares) / len(shares):.3f}; expected utility after training, costs alpaca"
        )
        least = min(shares)
        goal = (GOAL_FRAC, "goal", least / GOAL_FRAC)
        yield BenchRecord("master_oracle_share", least, "fraction", *goal, note)


def _share_record(
    name: str,
    shares: Sequence[float],
    worths: Sequence[dict[str, AllocationWorth]],
    size: MasterMeasurement,
) -> BenchRecord:
    largest = max(worth[MASTER].largest_frac for worth in worths)
    best = max(worth["oracle"].largest_frac for worth in worths)
    each = ", ".join(f"{share:.3f}" for share in shares)
    note = (
        f"synthetic; by seed {each}; mean share of the largest sleeve {largest:.2f} "
        f"(oracle {best:.2f}), {size.n_sleeves} sleeves, risk aversion {size.risk_aversion:g}"
    )
    mean = sum(shares) / len(shares)
    return BenchRecord(name, mean, "fraction", GOAL_FRAC, "goal", mean / GOAL_FRAC, note)
