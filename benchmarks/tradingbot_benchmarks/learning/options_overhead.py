"""What options cost: updates of hierarchical SAC against those of SAC with the same low level."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from tradingbot.agents.options.market_options import MarketOptions
from tradingbot.agents.options.rules import OptionRules
from tradingbot.envs.build_world import synthetic_world
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.population import PopulationTask
from tradingbot.learning.hierarchical_sac.config import HierarchicalSACConfig
from tradingbot.learning.hierarchical_sac.learner import HierarchicalSAC
from tradingbot.learning.sac.config import SACConfig
from tradingbot.learning.sac.learner import SAC
from tradingbot.networks.threads import torch_threads
from tradingbot.networks.view import TableView
from tradingbot.runs.option_signals import option_signals
from tradingbot_benchmarks.record import BenchRecord

_N_ENVS, _STEPS = 16, 16
_GAP_FRAC = 0.004


def options_overhead(n_agents: int, n_stretches: int) -> BenchRecord:
    """Measure the share of time that a controller and options add, best of some stretches each."""
    world = synthetic_world("regimes", n_symbols=n_agents, n_bars=1_500, seed=7)
    task = PopulationTask(world, EnvConfig(), n_envs=_N_ENVS, seed=7, compiled=False)
    signals = option_signals(task.table, world.scalers, world.symbols)
    rules = OptionRules(trend_gap_frac=_GAP_FRAC)
    task.options = MarketOptions(rules, signals, task.private_names)
    settings = replace(HierarchicalSACConfig(), warm_up=0, steps_per_update=_STEPS)
    plain = SACConfig(
        actor=settings.actor,
        critic=settings.critic,
        buffer_size=settings.buffer_size,
        batch_size=settings.batch_size,
        warm_up=0,
        steps_per_update=_STEPS,
    )
    view = TableView(task.table)
    with torch_threads(1):
        ours = _fastest(HierarchicalSAC(task, view, settings, seed=7).update, n_stretches)
        theirs = _fastest(SAC(task, view, plain, seed=7).update, n_stretches)
    note = (
        f"{n_agents} agents × {_N_ENVS} environments, synthetic regimes, updates of {_STEPS} steps "
        f"with a gradient step each: {1e3 * ours:.0f} ms with a controller over five options, "
        f"{1e3 * theirs:.0f} ms SAC alone, networks [256, 128], batch 128; processor's time "
        f"of one thread, best of {n_stretches}"
    )
    return BenchRecord("options_overhead", ours / theirs - 1.0, "fraction", note=note)


def _fastest(update: Callable[[], object], n_stretches: int) -> float:
    update()
    times = []
    for _ in range(n_stretches):
        began_s = time.process_time()  # neighbours would be counted by the clock
        update()
        times.append(time.process_time() - began_s)
    return min(times)
