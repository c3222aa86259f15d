"""A head over the members of a set: swapping members swaps their outputs, and nothing else."""

from __future__ import annotations

import pytest
import torch

from tradingbot.domain.errors import ConfigError
from tradingbot.networks.head_config import HeadConfig
from tradingbot.networks.member_inputs import MemberInputs
from tradingbot.networks.set_head import SetHead

N, WIDTHS, SHARED = 5, (3, 2), (2, 1)
INPUTS = MemberInputs(N, ((0, 3), (N * 3 + 2, 2)))
N_INPUTS = N * 5 + 3


def head(n_outputs: int, *, pooled: bool = False) -> SetHead:
    draws = torch.Generator().manual_seed(3)
    return SetHead(INPUTS, N_INPUTS, n_outputs, HeadConfig(hidden=(8, 6)), draws, pooled=pooled)


def swapped(x: torch.Tensor, order: list[int]) -> torch.Tensor:
    """Lay the members' inputs (…, I) out in another order."""
    first = x[..., : N * 3].unflatten(-1, (N, 3))[..., order, :].flatten(-2)
    second = x[..., N * 3 + 2 : N * 5 + 2].unflatten(-1, (N, 2))[..., order, :].flatten(-2)
    return torch.cat([first, x[..., N * 3 : N * 3 + 2], second, x[..., N * 5 + 2 :]], dim=-1)


def test_outputs_follow_their_members_in_any_order() -> None:
    made, order = head(2), [3, 0, 4, 1, 2]
    x = torch.randn(1, 7, N_INPUTS, generator=torch.Generator().manual_seed(1))
    usual, other = (made(each).unflatten(-1, (2, N)) for each in (x, swapped(x, order)))

    assert usual.shape == (1, 7, 2, N)
    assert torch.allclose(usual[..., order], other, atol=1e-6)
    assert not torch.allclose(usual, other, atol=1e-3)


def test_pooled_head_does_not_see_the_order() -> None:
    made = head(1, pooled=True)
    x = torch.randn(1, 7, N_INPUTS, generator=torch.Generator().manual_seed(1))

    assert made(x).shape == (1, 7, 1)
    assert torch.allclose(made(x), made(swapped(x, [4, 3, 2, 1, 0])), atol=1e-6)


def test_a_member_is_weighed_against_the_others() -> None:
    made = head(1)
    x = torch.randn(1, 1, N_INPUTS, generator=torch.Generator().manual_seed(1))
    changed = x.clone()
    changed[..., 0] += 1.0  # of the first member alone

    assert not torch.allclose(made(x)[..., 1:], made(changed)[..., 1:], atol=1e-5)


@pytest.mark.parametrize("spans", [(), ((0, 0),), ((3, 2), (0, 1)), ((0, 3), (4, 1))])
def test_spans_that_overlap_or_are_empty_are_refused(spans) -> None:
    with pytest.raises(ConfigError, match="spans must"):
        MemberInputs(2, spans)
