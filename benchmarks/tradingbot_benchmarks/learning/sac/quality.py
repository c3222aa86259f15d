"""How long our SAC and Stable-Baselines3's take to trade a planted signal well, out of sample."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from tradingbot.data.synthetic.market import SyntheticMarket
from tradingbot.domain.errors import MissingExtraError
from tradingbot.envs.build_world import world_from_market
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.population import PopulationTask, evaluation_task
from tradingbot.envs.synthetic_market import synthetic_market
from tradingbot.envs.world import World
from tradingbot.evaluation.backtest.baselines import oracle_policy
from tradingbot.evaluation.oracle.action_rule import DEFAULT_COST_FRAC, Information
from tradingbot.learning.playing import play
from tradingbot.learning.sac.config import SAC_PRESETS
from tradingbot.learning.sac.learner import SAC
from tradingbot.learning.task import Observation
from tradingbot.market.params import AccountRules, ActionRules, EpisodeRules, SimulatorParams
from tradingbot.networks.view import TableView
from tradingbot.risk.limits import RiskLimits
from tradingbot_benchmarks.learning.sac.reference import CommonSetting
from tradingbot_benchmarks.learning.task_vec_env import TaskVecEnv, flat_observation
from tradingbot_benchmarks.record import BenchRecord

try:
    from stable_baselines3.common.vec_env.vec_normalize import VecNormalize
except ImportError as e:
    raise MissingExtraError("train", package="stable_baselines3") from e

_WARM_UP_BARS, _TRAIN_BARS, _TEST_BARS = 200, 3_528, 1_200
_N_ENVS = 16
_RULES = SimulatorParams(
    action=ActionRules(space="target", smoothing_bars=1),
    account=AccountRules(position_loss_frac=1.0, portfolio_loss_frac=1.0),
    limits=RiskLimits(max_position_frac=1.0, min_trade_ccy=0.0),
    episode=EpisodeRules(episode_bars=128, window_bars=1),
)
CONFIG = EnvConfig(rules=_RULES, reward="log_growth", observation="flat")
"""A long-only target position of the whole account, judged by what compounds."""

Act = Callable[[Observation], Tensor]


@dataclass(frozen=True)
class Course:
    """Learning until a quality was reached, or until time was up."""

    seconds: float
    """Of learning alone; judging does not count."""
    steps: int
    """Of all environments together."""
    share: float
    """Of the oracle's net return out of sample, when it ended."""
    reached: bool


def sac_vs_sb3_to_quality(
    *,
    quality: float = 0.9,
    n_symbols: int = 16,
    limit_s: float = 120.0,
    patience: float = 8.0,
    compiled: bool = False,
    seed: int = 0,
) -> BenchRecord:
    """Time both on `planted`, κ = 0.10, until their rounded policies earn a share of the oracle's.

    Ours trains an agent per symbol with the preset `target`. SB3 has no agent axis: one policy
    trades all symbols, in one environment of each symbol, with the same network, rate, discount,
    decay, temperature and target entropy, rewards scaled too, and the batch SPEC gives SAC.

    Args:
        quality: Share of the oracle's net return on bars after those of training.
        n_symbols: Of the market; synthetic.
        limit_s: Seconds of learning after which ours is given up.
        patience: SB3 is given up after so many times what ours took; the ratio is then a bound.
        compiled: Whether the environments of both are; compiling is not counted.
        seed: Of market and learners.
    """
    market = synthetic_market(
        "planted",
        n_symbols=n_symbols,
        n_bars=_WARM_UP_BARS + _TRAIN_BARS + _TEST_BARS,
        seed=seed,
        params={"kappa": 0.10},
    )
    world = world_from_market(market, label=f"synthetic planted market, seed {seed}")
    judge = Judge(market, world, compiled=compiled)
    ours = _train_ours(world, judge, quality, limit_s, seed)
    theirs = _train_sb3(world, judge, quality, patience * ours.seconds, seed)
    bound = "" if theirs.reached else "ratio is at least this; "
    note = (
        f"{bound}synthetic planted κ = 0.10, {n_symbols} symbols; until {quality:.0%} of the "
        f"oracle's net return on {_TEST_BARS} later bars; environments "
        f"{'compiled' if compiled else 'not compiled'} in both; "
        f"ours {_tell(ours)}, SB3 {_tell(theirs)}"
    )
    known = ours.reached
    return BenchRecord(
        "sac_vs_sb3_to_quality",
        ours.seconds if known else math.nan,
        "s",
        theirs.seconds,
        "Stable-Baselines3 SAC, one policy for all symbols",
        theirs.seconds / ours.seconds if known else None,
        note,
    )


class Judge:
    """Plays policies on the bars after training."""

    def __init__(
        self, market: SyntheticMarket, world: World, *, compiled: bool = False, plays: int = 0
    ) -> None:
        """Work out what the oracle earns.

        Args:
            market: What was planted.
            world: The same as it is seen and traded.
            compiled: Judging is quicker but for the first time.
            plays: So many episodes side by side, drawn from the later bars: a fifteenth of the time
                of one play of all of them, 0.
        """
        self.compiled, first = compiled, _WARM_UP_BARS + _TRAIN_BARS
        self.task = evaluation_task(world, CONFIG, first_bar=first, compiled=compiled)
        self.bars = self.task.episode_bars
        if plays:
            drawn = PopulationTask(world, CONFIG, n_envs=plays, seed=0, compiled=compiled)
            self.task = drawn.during(first, world.n_bars - 1)
            self.bars = CONFIG.rules.episode.episode_bars - 1  # none ends while it is judged
        oracle = oracle_policy(
            market, world, cost_frac=DEFAULT_COST_FRAC, information=Information.ATTAINABLE
        )
        targets = oracle.targets.float()
        self.oracle_bps = self.net_bps(lambda seen: targets[seen.row])

    def net_bps(self, act: Act) -> float:
        """Return net basis points per bar, the mean over agents."""
        wealth = play(self.task, act, self.bars).wealth.double()
        return float((wealth[1:] / wealth[:-1] - 1.0).mean() * 1e4)

    def share(self, act: Act) -> float:
        """Return the share of the oracle's net return."""
        return self.net_bps(act) / self.oracle_bps


def _train_ours(world: World, judge: Judge, quality: float, limit_s: float, seed: int) -> Course:
    task = _training_task(world, _N_ENVS, seed, compiled=judge.compiled)
    learner = SAC(task, TableView(task.table), SAC_PRESETS["target"], seed=seed)
    course = _learn_until(learner.update, lambda: judge.share(learner.act), quality, limit_s)
    return replace(course, steps=learner.steps * len(task.agent_names))


def _training_task(world: World, n_envs: int, seed: int, *, compiled: bool) -> PopulationTask:
    """Return the task of the training bars; it has made a step, so compiling is over."""
    task = PopulationTask(world, CONFIG, n_envs=n_envs, seed=seed, compiled=compiled)
    task = task.during(_WARM_UP_BARS, _WARM_UP_BARS + _TRAIN_BARS - 1)
    task.step(task.begin()[0], torch.zeros(len(task.agent_names), n_envs))
    return task


def _train_sb3(world: World, judge: Judge, quality: float, limit_s: float, seed: int) -> Course:
    preset = SAC_PRESETS["target"]
    task = _training_task(world, max(1, _N_ENVS // world.n_symbols), seed, compiled=judge.compiled)
    setting = CommonSetting(
        hidden=preset.critic.hidden,
        learning_rate=preset.learning_rate.first,
        discount=preset.discount,
        temperature=preset.temperature,
        target_normalised_entropy=preset.target_normalised_entropy,
        weight_decay=preset.weight_decay,
    )
    model = setting.sb3(VecNormalize(TaskVecEnv(task), norm_obs=False, gamma=preset.discount), seed)

    def act(seen: Observation) -> Tensor:
        action, _ = model.predict(flat_observation(task, seen), deterministic=True)
        return torch.from_numpy(action).float().view(seen.row.shape).round()

    def learn() -> None:
        model.learn(64 * _N_ENVS, reset_num_timesteps=False)

    course = _learn_until(learn, lambda: judge.share(act), quality, limit_s)
    return replace(course, steps=model.num_timesteps)


def _learn_until(
    learn: Callable[[], object], judge: Callable[[], float], quality: float, limit_s: float
) -> Course:
    """Learn by and by until a quality holds; a quarter more learning between judgements."""
    spent_s, next_s, share = 0.0, 0.0, -math.inf
    while share < quality and spent_s < limit_s:
        began_s = time.perf_counter()
        learn()
        spent_s += time.perf_counter() - began_s
        if spent_s >= next_s:
            share, next_s = judge(), 1.25 * spent_s
    return Course(spent_s, 0, share, share >= quality)


def _tell(course: Course) -> str:
    word = "reached" if course.reached else "gave up at"
    return f"{word} {course.share:.0%} after {course.steps:,} steps in {course.seconds:.0f} s"
