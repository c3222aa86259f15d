"""The graph of heads is of what agents act by: also where they learned with a master."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tradingbot.agents.network_policy import NetworkPolicy
from tradingbot.networks.actor_layout import Squash
from tradingbot.networks.head_config import HeadConfig, Pooling
from tradingbot.networks.heads import StackedHead
from tradingbot.networks.view import TableView
from tradingbot.serving.export.heads_graph import heads_model

onnxruntime = pytest.importorskip("onnxruntime")


@pytest.mark.parametrize("pooling", ["pooled", "partial", "independent"])
@pytest.mark.parametrize("learned", [False, True])
def test_graph_answers_as_the_policy_does(pooling: Pooling, learned: bool) -> None:
    draws = torch.Generator().manual_seed(1)
    head = StackedHead(3, 22, 1, HeadConfig(hidden=(6,), pooling=pooling), draws)
    policy = NetworkPolicy(TableView(torch.zeros(3, 1, 4)), head.requires_grad_(False), Squash())
    frozen = heads_model(policy, 4, 18)
    if learned:
        moved = [
            (weight + torch.randn(weight.shape, generator=draws), bias)
            for weight, bias in policy.own_layers
        ]
        policy = policy.with_layers(moved)
        assert heads_model(policy, 4, 18) != frozen
    x = torch.randn(3, 22, generator=draws)
    session = onnxruntime.InferenceSession(heads_model(policy, 4, 18))
    inputs = {"agent": np.arange(3), "embedding": x[:, :4].numpy(), "private": x[:, 4:].numpy()}
    (output,) = session.run(["output"], inputs)

    np.testing.assert_allclose(output, policy.forward(x[:, None])[:, 0], atol=1e-6)
