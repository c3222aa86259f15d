"""One cell: a variant on one market with one seed, trained and judged as `tradingbot train` is."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType

from tradingbot.domain.errors import TrainingError
from tradingbot.evaluation.performance.record import ORACLE, PartPerformance
from tradingbot.training.action_gate import ActionGate
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import config_of_mapping, load_train_config
from tradingbot.training.session import begin_run
from tradingbot_benchmarks.recovery.variants import BASE, Options, require_variant

PRESET, OBSERVED = "first_version", "observed"
MARKETS: Mapping[str, Options] = MappingProxyType(
    {
        "planted": {"market.name": "planted", "market.params": {"kappa": 0.10}},
        "hidden_trend": {"market.name": "hidden_trend"},
        "regimes": {"market.name": "regimes"},
        OBSERVED: {},
    }
)
WITH_ORACLE = ("planted", "hidden_trend")
"""Markets whose law says what can be earned; in `regimes` most of it is the market's own drift."""
_FIRST_DAY = "2017-10-02"
_FIRST_SEED = 60
"""Markets of seed s are drawn with 60 + s: none that settings were tried on."""


@dataclass(frozen=True)
class Cell:
    """What is trained."""

    market: str
    variant: str
    seed: int
    """Of training, and, with another offset, of the market."""


@dataclass(frozen=True)
class CellResult:
    """What came out, on the test part; net of costs, deterministic policy."""

    market: str
    variant: str
    seed: int
    steps_per_agent: int
    seconds: float
    """Of the whole cell on one core: data, training, validation and test."""
    bars: int
    """Of the test part."""
    label: str
    """What data, in words."""
    net_bps: float
    alpha_bps: float
    oracle_bps: float | None
    """Net, held to the agents' largest position; None where there is no oracle."""
    entropy: float
    """Of the histogram of deterministic actions, in [0, 1]."""
    largest_bin_frac: float
    trades_per_1000: float
    sharpe_annual: float
    halted: str = ""
    """Why training was halted; it stays out then."""

    @property
    def value(self) -> float:
        """Share of the oracle, or alpha in bp per bar where there is none."""
        return self.net_bps / self.oracle_bps if self.oracle_bps else self.alpha_bps


def cell_config(cell: Cell, dataset: str | None = None, share: float = 1.0) -> TrainConfig:
    """Return the configuration of a cell.

    Args:
        cell: What is wanted.
        dataset: Of observed bars, for that market.
        share: Of the budget, for a trial.

    Raises:
        ConfigError: If the variant is unknown.
    """
    options: dict[str, object] = {**BASE, "seed": cell.seed, **require_variant(cell.variant)}
    if cell.market == OBSERVED:
        options["dataset"] = dataset
    else:
        options |= {"market.start": _FIRST_DAY, "market.seed": _FIRST_SEED + cell.seed}
        options |= MARKETS[cell.market]
    if share < 1.0:
        steps = options["budget.steps_per_agent"]
        assert isinstance(steps, int)
        options["budget.steps_per_agent"] = max(1, round(share * steps))
        options["validation.every_updates"] = 1
    reward, weighed = options.pop("task.reward", None), options.pop("objectives.enabled", False)
    config = load_train_config(PRESET, options)
    if reward is None:
        return config
    values = config.as_mapping()
    values["task"] |= {"reward": reward, "reward_options": {}}  # the preset's are of v31
    values["objectives"] = {"enabled": weighed}
    return config_of_mapping(values, config.tracking_mapping())


def run_cell(cell: Cell, workspace: Path | None, dataset: str | None, share: float) -> CellResult:
    """Train and judge one cell.

    Args:
        cell: What is wanted.
        workspace: Where the dataset is; synthetic markets are trained in a folder of their own.
        dataset: Name of the observed bars.
        share: Of the budget.
    """
    began, config = time.perf_counter(), cell_config(cell, dataset, share)
    with tempfile.TemporaryDirectory() as folder:
        observed = cell.market == OBSERVED and workspace is not None
        place = workspace if observed and workspace is not None else Path(folder)
        try:
            result = begin_run(config, place).result
        except TrainingError as e:
            return _halted(cell, config, time.perf_counter() - began, str(e))
    assert result is not None
    seconds = time.perf_counter() - began
    return _figures(cell, config, seconds, result.label, result.part("test"), result.gates[-1])


def _figures(
    cell: Cell,
    config: TrainConfig,
    seconds: float,
    label: str,
    part: PartPerformance,
    gate: ActionGate,
) -> CellResult:
    agents = part.policies[0]
    oracle = part.policy(ORACLE) if cell.market in WITH_ORACLE else None
    assert agents.alpha_bps is not None
    held = config.task.rules.limits.max_position_frac
    return CellResult(
        **asdict(cell),
        steps_per_agent=config.budget.steps_per_agent,
        seconds=seconds,
        bars=part.bars,
        label=label,
        net_bps=agents.net_bps_per_bar.estimate,
        alpha_bps=agents.alpha_bps.estimate,
        oracle_bps=None if oracle is None else held * oracle.net_bps_per_bar.estimate,
        entropy=gate.entropy,
        largest_bin_frac=gate.largest_bin_share,
        trades_per_1000=part.trades_per_1000,
        sharpe_annual=agents.sharpe_annual.estimate,
    )


def _halted(cell: Cell, config: TrainConfig, seconds: float, words: str) -> CellResult:
    """Return a training that was halted: it stays out."""
    return CellResult(
        **asdict(cell),
        steps_per_agent=config.budget.steps_per_agent,
        seconds=seconds,
        bars=0,
        label="",
        net_bps=0.0,
        alpha_bps=0.0,
        oracle_bps=None,
        entropy=0.0,
        largest_bin_frac=1.0,
        trades_per_1000=0.0,
        sharpe_annual=0.0,
        halted=words,
    )


def read_results(path: Path) -> list[CellResult]:
    """Read one result per line; nothing where there is no file."""
    if not path.is_file():
        return []
    return [CellResult(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]


def missing_cells(
    markets: Sequence[str],
    variants: Sequence[str],
    seeds: Sequence[int],
    done: Sequence[CellResult],
) -> list[Cell]:
    """Return the cells that have no result, the first seed of everything first."""
    known = {(each.market, each.variant, each.seed) for each in done}
    return [
        Cell(market, variant, seed)
        for seed in seeds
        for variant in variants
        for market in markets
        if (market, variant, seed) not in known
    ]
