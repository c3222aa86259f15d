"""The GRU agrees with torch's own, and its three passes with each other."""

from __future__ import annotations

import torch

from tradingbot.networks.encoders.encoder import EncoderConfig
from tradingbot.supervised.move_network import GatedEncoder

SIZE = EncoderConfig(kind="lstm", n_layers=1, width=6, n_heads=1, lookback_bars=5)


def encoder() -> GatedEncoder:
    generator = torch.Generator().manual_seed(3)
    made = GatedEncoder(SIZE, 4, generator)
    with torch.no_grad():
        made.enter.bias.normal_(generator=generator)
        made.again.bias.normal_(generator=generator)
    return made


def table(n_bars: int = 12) -> torch.Tensor:
    return torch.randn(2, n_bars, 4, generator=torch.Generator().manual_seed(4))


def test_window_is_what_torch_gru_says_over_it() -> None:
    ours = encoder()
    theirs = torch.nn.GRU(4, 6, batch_first=True)
    with torch.no_grad():
        theirs.weight_ih_l0.copy_(ours.enter.weight)
        theirs.bias_ih_l0.copy_(ours.enter.bias)
        theirs.weight_hh_l0.copy_(ours.again.weight)
        theirs.bias_hh_l0.copy_(ours.again.bias)
        rows = table()
        expected = ours.norm(theirs(rows[:, -5:])[0][:, -1])

        torch.testing.assert_close(ours.window(rows[:, -5:]), expected)


def test_whole_history_windows_and_stream_agree() -> None:
    ours, rows = encoder(), table()
    with torch.no_grad():
        whole = ours(rows)
        memory = ours.begin_stream(2)
        for bar in range(rows.shape[1]):
            memory, now = ours.stream(memory, rows[:, bar])
            torch.testing.assert_close(now, whole[:, bar])
            window = rows[:, max(0, bar - 4) : bar + 1]
            torch.testing.assert_close(ours.window(window), whole[:, bar])


def test_bars_that_do_not_exist_do_not_count() -> None:
    ours, rows = encoder(), table(5)
    other = rows.clone()
    other[:, :2] = 99.0
    known = torch.tensor([3, 3])
    with torch.no_grad():
        torch.testing.assert_close(ours.window(other, known), ours.window(rows[:, 2:]))
