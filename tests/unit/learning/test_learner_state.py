from __future__ import annotations

from typing import NamedTuple

import pytest
import torch
from torch import Tensor, nn

from tradingbot.domain.errors import ConfigError
from tradingbot.learning.generators import make_generator
from tradingbot.learning.learner_state import collect_state, restore_state


class Record(NamedTuple):
    a: Tensor
    b: Tensor


class Parts:
    """A module, its optimiser, a generator, and values."""

    def __init__(self, seed: int, width: int = 3) -> None:
        self.generator = make_generator(seed)
        self.module = nn.Linear(width, 2)
        with torch.no_grad():
            for parameter in self.module.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=self.generator))
        self.optimiser = torch.optim.AdamW(self.module.parameters(), lr=0.1, fused=True)
        self.record, self.count, self.scale = Record(torch.ones(2), torch.zeros(1).long()), 3, 0.5
        self.state = (torch.arange(4), torch.rand(4, generator=self.generator))

    def named(self) -> dict:
        return {
            "net": self.module,
            "optimiser": self.optimiser,
            "policy_generator": self.generator,
            "record": self.record,
            "task": self.state,
            "count": self.count,
            "scale": self.scale,
        }

    def learn(self) -> Tensor:
        x = torch.randn(5, self.module.in_features, generator=self.generator)
        self.optimiser.zero_grad()
        self.module(x).square().sum().backward()
        self.optimiser.step()
        return self.module.weight.detach().clone()


def test_restored_parts_continue_bit_for_bit() -> None:
    first, second = Parts(1), Parts(2)
    first.learn()
    first.count, first.scale = 8, 0.25
    state = collect_state(first.named())
    expected = [first.learn() for _ in range(3)][-1]

    values = restore_state(second.named(), state)
    got = [second.learn() for _ in range(3)][-1]

    assert torch.equal(got, expected)
    assert (values["count"], values["scale"]) == (8, 0.25)
    assert isinstance(values["record"], Record)
    assert all(map(torch.equal, values["task"], first.state))
    assert values.keys() == {"record", "task", "count", "scale"}


def test_collected_state_does_not_change_with_later_learning() -> None:
    parts = Parts(1)
    parts.learn()
    state = collect_state(parts.named())
    before = {name: tensor.clone() for name, tensor in state.items()}

    parts.learn()

    assert all(torch.equal(state[name], before[name]) for name in before)


def test_state_before_the_first_step_restores_an_untouched_optimiser() -> None:
    fresh = collect_state(Parts(1).named())
    other = Parts(1)
    other.learn()

    restore_state(other.named(), fresh)

    assert not other.optimiser.state
    assert torch.equal(other.learn(), Parts(1).learn())


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda s: s.pop("net/weight"), "must have the tensor 'net/weight'"),
        (lambda s: s.pop("optimiser/1/exp_avg"), "must have the tensor 'optimiser/1/exp_avg'"),
        (lambda s: s.update({"net/extra": torch.ones(1)}), "must not have the tensor 'net/extra'"),
        (lambda s: s.update({"count": torch.ones(2)}), "'count' .* must be torch.int64"),
        (lambda s: s.update({"net/weight": s["net/weight"].double()}), "must be torch.float32"),
        (lambda s: s.update({"task/0": torch.arange(5)}), r"shape \(4,\), was .* shape \(5,\)"),
    ],
)
def test_state_that_does_not_fit_is_refused_and_changes_nothing(change, complaint: str) -> None:
    source, target = Parts(1), Parts(2)
    source.learn()
    target.learn()
    before = collect_state(target.named())
    state = collect_state(source.named())
    change(state)

    with pytest.raises(ConfigError, match=complaint):
        restore_state(target.named(), state)

    after = collect_state(target.named())
    assert all(torch.equal(after[name], before[name]) for name in before)
