"""A bundle answers as PyTorch does: every encoder, head and action space, on hostile inputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from fixtures.served_runs import SMALL_TRANSFORMER, make_served_run, raw_bars
from tradingbot.networks.actor_layout import Squash
from tradingbot.networks.encoders.encoder import EncoderConfig
from tradingbot.networks.head_config import HeadConfig
from tradingbot.runs import RunDirectory
from tradingbot.runs.policy import load_policy
from tradingbot.serving.export import parity, run_export
from tradingbot.serving.export.run_export import export_run
from tradingbot.serving.served_model import ServedModel

LSTM = EncoderConfig(kind="lstm", n_layers=2, width=8, lookback_bars=5)
MLP = EncoderConfig(kind="mlp", n_layers=2, width=8, lookback_bars=5)
ENCODERS = {
    "row": None,
    "transformer": SMALL_TRANSFORMER,
    "transformer of one bar": EncoderConfig(n_layers=2, width=8, n_heads=2, lookback_bars=1),
    "lstm": LSTM,
    "mlp": MLP,
    "skip": EncoderConfig(kind="mlp", n_layers=2, width=4, lookback_bars=5, skip=True),
    "skip lstm": EncoderConfig(kind="lstm", n_layers=1, width=4, lookback_bars=3, skip=True),
}
HEADS = {
    "pooled": HeadConfig(hidden=(8,), pooling="pooled", activation="relu"),
    "independent": HeadConfig(hidden=(8, 4), pooling="independent", activation="gelu"),
    "partial": HeadConfig(hidden=(8,), n_directions=3),
}
SQUASHES = {
    "sigmoid": (Squash("sigmoid", gain=2.0), 1),
    "levels": (Squash("tanh", low=-1.0, levels=5), 2),
    "target": (Squash("tanh"), 2),
    "codes": (None, 7),
}


def answers(run: RunDirectory, model: ServedModel, n_bars: int = 24) -> tuple[list, list]:
    """Return what LivePolicy and the served model do, bar by bar, of raw bars."""
    loaded, bars = load_policy(run), raw_bars(n_bars)
    n_agents = len(loaded.agents)
    theirs, ours = loaded.live(), model.live()
    generator = np.random.default_rng(3)
    found: tuple[list, list] = ([], [])
    for features in bars:
        present = generator.random(n_agents) > 0.2
        private = generator.normal(size=(18, n_agents))
        allowed = generator.random((7, n_agents)) > 0.4
        allowed[0] = True
        row, _ = model.scale(features, present)
        scaled = loaded.scale(features[:, :6], present)
        assert np.array_equal(row[:, :6], scaled.numpy())
        theirs.take(torch.from_numpy(row))
        ours.take(features, present)
        wanted = theirs.act(torch.from_numpy(private), torch.from_numpy(allowed))
        found[0].append(wanted.numpy())
        found[1].append(ours.act(private, allowed).action)
    return found


@pytest.mark.parametrize("name", ENCODERS)
def test_every_encoder_streams_as_pytorch(tmp_path: Path, name: str) -> None:
    run = make_served_run(tmp_path, encoder=ENCODERS[name])

    exported = export_run(run, tmp_path / "drawn.zip", n_hostile=200)

    parity = exported.manifest.parity
    assert parity.largest_difference <= 1e-5
    assert parity.n_hostile >= 200
    theirs, ours = answers(run, ServedModel.open(exported.path, sha256=exported.sha256))
    np.testing.assert_allclose(ours, theirs, atol=1e-5)
    assert np.ptp(ours) > 0.1


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("squash", SQUASHES)
def test_every_head_and_action_is_pytorchs(tmp_path: Path, head: str, squash: str) -> None:
    kind, n_outputs = SQUASHES[squash]
    run = make_served_run(
        tmp_path, encoder=None, head=HEADS[head], squash=kind, n_outputs=n_outputs
    )

    exported = export_run(run, tmp_path / "drawn.zip", n_hostile=100)

    theirs, ours = answers(run, ServedModel.open(exported.path))
    np.testing.assert_allclose(ours, theirs, atol=1e-6)
    assert exported.manifest.parity.n_decisions_differ == 0
    assert len(np.unique(ours)) > 1


def test_rounding_of_pytorch_itself_is_no_gap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ONNX Runtime must be near to what both round, not to how PyTorch happened to round it."""
    embed = parity._embed

    def rounded(encoder: torch.nn.Module, rows: torch.Tensor, bars: range) -> torch.Tensor:
        found = embed(encoder, rows, bars)
        return found + 2e-5 if found.dtype == torch.float32 else found

    monkeypatch.setattr(parity, "_embed", rounded)
    monkeypatch.setattr(parity, "_compare_answers", lambda *_: (0.0, 0))
    run = make_served_run(tmp_path, encoder=SMALL_TRANSFORMER)

    exported = export_run(run, tmp_path / "drawn.zip", n_hostile=50)

    assert exported.manifest.parity.largest_difference < 1e-5


def test_the_last_bars_of_a_run_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_served_run(tmp_path, encoder=None)
    n_columns = load_policy(run).n_columns
    real = torch.arange(9_000.0)[None, :, None].expand(3, -1, n_columns) / 9_000.0
    compared: list[torch.Tensor] = []

    def look(_: object, __: object, rows: torch.Tensor, **___: object) -> None:
        compared.append(rows)
        raise InterruptedError

    monkeypatch.setattr(run_export, "measure_gaps", look)
    with pytest.raises(InterruptedError):
        export_run(run, tmp_path / "model.zip", real=real)

    (rows,) = compared
    assert 0 < rows.shape[1] < real.shape[1]
    torch.testing.assert_close(rows, real[:, -rows.shape[1] :])
