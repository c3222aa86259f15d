"""Counts of parameters, by hand and against the specification's budgets."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from tradingbot.networks.encoders.catalogue import ENCODER_PRESETS, build_encoder
from tradingbot.networks.head_config import HeadConfig, Pooling
from tradingbot.networks.heads import StackedHead
from tradingbot.networks.parameters import one_storage, report_parameters

N = 143


def encoder_of(name: str = "full") -> nn.Module:
    return build_encoder(ENCODER_PRESETS[name], 33, torch.Generator().manual_seed(0))


def heads_of(pooling: Pooling, n_agents: int = N) -> dict[str, nn.Module]:
    config, generator = HeadConfig(pooling=pooling), torch.Generator().manual_seed(0)
    return {
        "actor": StackedHead(n_agents, 256, 7, config, generator),
        "critic": StackedHead(n_agents, 256, 1, config, generator),
    }


def test_independent_heads_keep_the_budgets_of_the_specification():
    report = report_parameters(encoder_of(), heads_of("independent"), N)

    assert report.head_of_agent == (256 * 128 + 128 + 128 * 7 + 7) + (256 * 128 + 128 + 129)
    assert report.head_of_agent == pytest.approx(67_000, rel=0.01)
    assert report.encoder < 5_000_000
    assert report.agent < 10_000_000
    assert report.total == report.encoder + N * report.head_of_agent < 50_000_000
    assert report.saved_frac == pytest.approx(0.973, abs=1e-3)
    assert report.complaints() == ()


def test_partial_pooling_adds_four_numbers_per_head_and_agent():
    report = report_parameters(encoder_of(), heads_of("partial"), N)

    assert report.own_heads == N * 2 * 4
    assert report.head_of_agent == report.shared_heads + 8
    assert report.saved_frac > 0.99


def test_pooled_heads_have_nothing_of_their_own():
    report = report_parameters(encoder_of(), heads_of("pooled"), N)

    assert report.own_heads == 0
    assert report.total == report.agent


def test_encoder_within_a_head_is_counted_once():
    encoder = encoder_of("tiny")
    heads = heads_of("pooled", 3)

    alone = report_parameters(encoder, heads, 3)
    together = report_parameters(
        encoder, {"actor": nn.ModuleList([encoder, heads["actor"]]), **heads}, 3
    )

    assert together == alone
    assert together.encoder_copies == 1


def test_copy_of_the_encoder_is_found_and_counted():
    encoder = encoder_of("tiny")
    holder = nn.ModuleList([copy.deepcopy(encoder)])

    report = report_parameters(encoder, {"actor": holder}, 3)

    assert report.encoder_copies == 2
    assert report.total == 2 * report.encoder
    assert report.complaints() == ("encoders in storage: 2 is more than 1",)


def test_head_within_a_module_keeps_what_agents_own():
    heads = heads_of("independent", 3)

    report = report_parameters(encoder_of("tiny"), {"both": nn.ModuleDict(heads)}, 3)

    assert report.shared_heads == 0
    assert report.own_heads == 3 * report.head_of_agent > 0


def test_broken_budgets_are_named():
    large = nn.Linear(2400, 2400)

    complaints = report_parameters(large, {"head": nn.Linear(7000, 7000)}, 2).complaints()

    assert [line.split(":")[0] for line in complaints] == [
        "encoder",
        "one agent with its encoder",
        "2 agents",
    ]


def test_one_storage_means_the_same_memory_and_not_equal_numbers():
    encoder = encoder_of("tiny")

    assert one_storage([encoder, encoder])
    assert not one_storage([encoder, copy.deepcopy(encoder)])
