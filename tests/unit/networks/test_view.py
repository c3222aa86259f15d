"""Views of the table: looking, learning row by row, and learning in runs give one number."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from tradingbot.networks.encoders.catalogue import ENCODER_PRESETS, build_encoder
from tradingbot.networks.view import EncoderView, TableView, View, frozen_view

M, T, F = 3, 40, 5


def table() -> Tensor:
    generator = torch.Generator().manual_seed(2)
    return torch.randn(M, T, F, generator=generator, dtype=torch.float64)


def view_of(name: str = "tiny", **options: object) -> EncoderView:
    encoder = build_encoder(ENCODER_PRESETS[name], F, torch.Generator().manual_seed(1))
    return EncoderView(encoder.double(), table(), **options)


def move(view: EncoderView) -> None:
    with torch.no_grad():
        for parameter in view.parameters():
            parameter.mul_(1.3)


@pytest.mark.parametrize("name", ["tiny", "lstm", "mlp", "row"])
def test_row_by_row_equals_what_is_looked_up(name: str):
    view = view_of(name)
    row = torch.arange(M * T).view(M, 2, T // 2)

    encoded = view(row)

    assert encoded.shape == (M, 2, T // 2, view.width)
    torch.testing.assert_close(encoded, view.look(row), rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("name", ["tiny", "lstm", "mlp", "row"])
@pytest.mark.parametrize("length", [1, 3, 30])
def test_runs_equal_what_is_looked_up_across_all_beginnings(name: str, length: int):
    view = view_of(name)
    bars = torch.arange(T - length + 1)
    first = (torch.arange(M)[:, None] * T + bars).reshape(-1)

    runs = view.segments(first, length)

    assert runs.shape == (len(first), length, view.width)
    expected = view.look(first[:, None] + torch.arange(length))
    torch.testing.assert_close(runs, expected, rtol=0.0, atol=1e-12)


def test_beginning_of_a_series_knows_nothing_of_the_series_before():
    view = view_of()
    first = torch.tensor([T, T + 3, 2 * T + 1])
    expected = view.segments(first, 8)

    view.features[0] += 100.0

    torch.testing.assert_close(view.segments(first, 8), expected, rtol=0.0, atol=0.0)
    torch.testing.assert_close(view(first), expected[:, 0], rtol=0.0, atol=1e-12)


def test_row_by_row_and_runs_have_the_same_gradients():
    view = view_of()
    first = torch.tensor([0, 5, T + 1, 2 * T + 9])
    row = first[:, None] + torch.arange(20)
    wanted = torch.randn(4, 20, view.width, generator=torch.Generator().manual_seed(3)).double()

    (view(row) * wanted).sum().backward()
    by_row = [parameter.grad.clone() for parameter in view.parameters()]
    view.zero_grad()
    (view.segments(first, 20) * wanted).sum().backward()

    for expected, parameter in zip(by_row, view.parameters(), strict=True):
        torch.testing.assert_close(parameter.grad, expected, rtol=1e-8, atol=1e-8)
    assert max(grad.abs().max() for grad in by_row) > 0.0


def test_look_follows_the_weights_at_refresh_and_not_before():
    view = view_of(chunk_bars=16)
    row = torch.arange(M * T)
    before = view.look(row).clone()

    move(view)
    assert torch.equal(view.look(row), before)
    view.refresh()

    assert (view.look(row) - before).abs().max() > 1e-3
    torch.testing.assert_close(view.look(row), view(row).detach(), rtol=0.0, atol=1e-12)
    assert not view.look(row).requires_grad


def test_state_of_a_view_is_its_encoder_and_no_table():
    view = view_of()

    assert set(view.state_dict()) == {f"encoder.{name}" for name in view.encoder.state_dict()}


def test_bfloat16_view_learns_in_float32():
    encoder = build_encoder(ENCODER_PRESETS["tiny"], F, torch.Generator().manual_seed(1))
    exact = EncoderView(encoder, table().float())
    view = EncoderView(encoder, table().float(), precision="bfloat16")
    row = torch.arange(M * T)

    encoded = view(row)
    encoded.square().sum().backward()

    assert encoded.dtype == view.look(row).dtype == torch.float32
    assert 0.0 < (view.look(row) - exact.look(row)).abs().mean() < 0.02
    assert all(
        parameter.grad is not None and parameter.grad.dtype == torch.float32
        for parameter in encoder.parameters()
    )


def test_frozen_view_looks_the_same_and_cannot_learn():
    view = view_of()
    frozen = frozen_view(view.encoder, table(), chunk_bars=16)
    row = torch.arange(M * T).view(M, T)

    torch.testing.assert_close(frozen(row), view.look(row), rtol=0.0, atol=1e-12)
    assert list(frozen.parameters()) == []
    assert not frozen(row).requires_grad


def test_table_view_hands_out_the_rows_themselves():
    view: View = TableView(table())
    row = torch.tensor([[0, T], [2 * T + 5, 7]])

    expected = table().view(-1, F)[row]

    assert torch.equal(view.look(row), expected)
    assert torch.equal(view(row), expected)
    assert torch.equal(view.segments(row[:, 1], 3)[:, 2], table().view(-1, F)[row[:, 1] + 2])
