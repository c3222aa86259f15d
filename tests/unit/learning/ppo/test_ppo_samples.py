from __future__ import annotations

import pytest
import torch

from fixtures.toy_tasks import SignalTask
from tradingbot.domain.errors import ConfigError
from tradingbot.learning.generators import make_generator
from tradingbot.learning.ppo.samples import embed_segments, group_samples, take_minibatch
from tradingbot.learning.rollout import Choice, allocate_rollout, collect_rollout
from tradingbot.networks.encoders.catalogue import ENCODER_PRESETS, build_encoder
from tradingbot.networks.view import EncoderView, TableView


@pytest.fixture(scope="module")
def task() -> SignalTask:
    return SignalTask(2, 3, n_bars=40, episode_bars=5)


@pytest.fixture(scope="module")
def rollout(task: SignalTask):
    made = allocate_rollout(task, 8)

    def choose(seen) -> Choice:
        action = seen.row.float() / 100.0
        return Choice(action, action, -action)

    collect_rollout(task, *task.begin(), choose, made)
    return made


def test_rollout_keeps_what_was_seen_done_and_followed(task: SignalTask, rollout) -> None:
    ended = rollout.truncated

    assert ended[4].all()
    assert ended.sum() == 6
    goes_on = ~ended[:-1]
    assert torch.equal(rollout.row[1:][goes_on], rollout.final_row[:-1][goes_on])
    assert not torch.equal(rollout.row[5], rollout.final_row[4])
    assert torch.equal(rollout.private[0], torch.zeros(2, 3, 1))
    assert torch.equal(rollout.private[1:5, ..., 0], rollout.action[:4])
    torch.testing.assert_close(rollout.terms.sum(0), rollout.reward.sum(0))


def test_minibatch_holds_the_same_steps_of_every_agent(task: SignalTask, rollout) -> None:
    samples = group_samples(rollout, rollout.reward, 2.0 * rollout.reward, 1)
    index = torch.tensor([0, 4, 23])

    made = take_minibatch(samples, index, TableView(task.table), index_on_host=index)

    # Group g is step g ÷ B, environment g mod B.
    for place, (t, env) in enumerate([(0, 0), (1, 1), (7, 2)]):
        assert torch.equal(made.advantage[:, place], rollout.reward[t, :, env])
        assert torch.equal(made.target[:, place], 2.0 * rollout.reward[t, :, env])
        assert torch.equal(made.drawn[:, place], rollout.drawn[t, :, env])
        table = task.table.view(-1, 3)[rollout.row[t, :, env]]
        assert torch.equal(made.inputs[:, place, :3], table)
        assert torch.equal(made.inputs[:, place, 3:], rollout.private[t, :, env])


def test_segments_with_a_reset_inside_are_embedded_row_by_row(task: SignalTask, rollout) -> None:
    encoder = build_encoder(ENCODER_PRESETS["tiny"], 3, make_generator(1))
    view = EncoderView(encoder, task.table)
    samples = group_samples(rollout, rollout.reward, rollout.reward, 4)

    # Steps 0-3 are whole, steps 4-7 hold the end after step 4.
    assert samples.broken.tolist() == [[False] * 3 + [True] * 3] * 2
    for groups in ([0, 1, 2], [3, 4], [5, 0, 4, 1]):
        index = torch.tensor(groups)
        row = samples.row[:, index]
        got = embed_segments(view, row, samples.broken[:, index])
        torch.testing.assert_close(got, view.look(row), rtol=1e-4, atol=1e-5)
        assert got.requires_grad


def test_length_that_does_not_divide_the_rollout_is_refused(rollout) -> None:
    with pytest.raises(ConfigError, match="segment_bars must divide rollout_steps, was 3"):
        group_samples(rollout, rollout.reward, rollout.reward, 3)
