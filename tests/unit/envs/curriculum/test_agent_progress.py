"""Progress of agents as tensors: that of single environments, for many agents at once."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from tradingbot.domain.seeding import stream
from tradingbot.envs.curriculum.agent_progress import (
    AgentProgress,
    advance_progress,
    begin_progress,
    pack_progress,
    unpack_progress,
)
from tradingbot.envs.curriculum.env import CurriculumConfig, Progress, progress_after
from tradingbot.market.curriculum.difficulty import DifficultyRules
from tradingbot.market.curriculum.settings import CurriculumSettings
from tradingbot.market.curriculum.stages import EpisodeResult, PassRule

GOOD = EpisodeResult(sharpe_annual=5.0, win_rate_frac=0.9, n_trades=20, return_frac=0.05)
BAD = EpisodeResult(sharpe_annual=-5.0, win_rate_frac=0.1, n_trades=20, return_frac=-0.05)
SHORT = CurriculumSettings(
    rule=PassRule(min_episodes=4, recent_episodes=3, min_success_frac=0.6), then_own_bars=False
)


def take(settings, now, outcomes):
    """Let environments of one agent end together; None: the episode goes on."""
    counts = torch.tensor([[each is not None for each in outcomes]])
    success = torch.tensor([[bool(each) for each in outcomes]])
    return advance_progress(settings, now, counts, success, *figures(success))


def figures(success):
    """Return returns and win rates of episodes that were good or bad in every respect."""
    returned = torch.where(success, GOOD.return_frac, BAD.return_frac).double()
    return returned, torch.where(success, GOOD.win_rate_frac, BAD.win_rate_frac).double()


@pytest.mark.parametrize("adaptive", [False, True])
def test_one_environment_per_agent_is_the_progress_of_the_single_environment(adaptive):
    rules = DifficultyRules(episodes_per_decision=2)
    settings = replace(SHORT, adaptive=adaptive, difficulty=rules)
    config = CurriculumConfig(rule=settings.rule, difficulty=rules if adaptive else None)
    agents, draws = [Progress()] * 5, stream(3, "outcomes")
    now, stages = unpack_progress(begin_progress(settings, 5, 2), 2), set()
    for _ in range(60):
        ended, won = draws.random(5) < 0.8, draws.random(5) < (0.05, 0.2, 0.35, 0.6, 1.0)
        counts, success = torch.tensor(ended)[:, None], torch.tensor(won)[:, None]
        now = advance_progress(settings, now, counts, success, *figures(success))
        agents = [
            progress_after(config, agent, GOOD if win else BAD) if end else agent
            for agent, end, win in zip(agents, ended, won, strict=True)
        ]
        states, levels = zip(*((each.curriculum, each.difficulty) for each in agents), strict=True)
        stages |= {state.stage for state in states}
        assert now.stage.tolist() == [state.stage for state in states]
        assert now.episodes.tolist() == [state.episodes for state in states]
        assert now.completed.bool().tolist() == [state.completed for state in states]
        assert now.level.tolist() == [each.level for each in levels]
        assert now.step.tolist() == [each.step for each in levels]
        assert now.outcomes.tolist() == [each.episodes for each in levels]
        assert now.return_sum.tolist() == pytest.approx([each.return_sum for each in levels])
    assert stages == {0, 1, 2, 3, 4}
    assert adaptive is (now.level.max().item() > 0.0)


def test_episodes_that_end_together_all_count_before_a_stage_is_passed():
    begun = unpack_progress(begin_progress(SHORT, 1, 4), 4)

    now = take(SHORT, begun, (True, False, None, True))
    assert (now.stage.item(), now.episodes.item(), now.success_frac.item()) == (0, 3, 2 / 3)
    now = take(SHORT, now, (True, None, None, None))
    assert (now.stage.item(), now.episodes.item(), now.success_frac.item()) == (1, 0, 0)


def test_last_stage_goes_on_or_is_followed_by_the_runs_own_bars():
    last = AgentProgress(*unpack_progress(begin_progress(SHORT, 1, 1), 1))
    last = last._replace(stage=torch.tensor([4.0], dtype=torch.float64))
    wins = (True, True, True, True)

    stays = take(SHORT, last, wins)
    follows = take(replace(SHORT, then_own_bars=True), last, wins)
    assert (stays.stage.item(), stays.completed.item()) == (4, 1)
    assert (follows.stage.item(), follows.completed.item()) == (5, 1)
    assert take(replace(SHORT, then_own_bars=True), follows, wins).stage.item() == 5


def test_packed_progress_reads_back():
    begun = unpack_progress(begin_progress(SHORT, 3, 2), 2)
    success = torch.ones(3, 1).bool()
    counts = torch.tensor([[True], [False], [True]])
    now = advance_progress(SHORT, begun, counts, success, *figures(success))

    again = unpack_progress(pack_progress(now, 4), 4)
    assert pack_progress(now, 4).shape == (9 + 3, 3 * 4)
    assert all(torch.equal(a, b) for a, b in zip(now, again, strict=True))
