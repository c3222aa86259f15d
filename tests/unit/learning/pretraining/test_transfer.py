"""Weights of another network: what fits is copied, and the reader is warned."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from tradingbot.domain.errors import ConfigError
from tradingbot.learning.pretraining.transfer import transfer_weights


def network(width: int = 4, seed: int = 0) -> nn.Module:
    made = nn.Sequential(nn.Linear(3, width), nn.Linear(width, 2))
    generator = torch.Generator().manual_seed(seed)
    for parameter in made.parameters():
        nn.init.normal_(parameter, generator=generator)
    return made


def test_tensors_that_fit_are_copied_and_all_others_are_listed() -> None:
    encoder = network(seed=1)
    kept = encoder[1].bias.detach().clone()  # type: ignore[index]
    source = network(seed=2).state_dict()
    source["1.weight"] = torch.ones(9, 9)
    source["extra"] = source.pop("1.bias")

    report = transfer_weights(source, encoder)

    assert report.copied == ("0.weight", "0.bias")
    assert report.other_shape == ("1.weight",)
    assert report.missing == ("1.bias",)
    assert report.unused == ("extra",)
    assert report.copied_frac == pytest.approx(16 / 26)
    assert torch.equal(encoder.state_dict()["0.weight"], source["0.weight"])
    assert torch.equal(encoder[1].bias, kept)  # type: ignore[index]


def test_report_warns_that_features_may_be_in_sample() -> None:
    report = transfer_weights(network(seed=2).state_dict(), network(seed=1))

    assert "in-sample" in report.warning


def test_prefix_names_the_part_of_the_source_that_is_meant() -> None:
    source = {f"encoder.{name}": t for name, t in network(seed=2).state_dict().items()}
    encoder = network(seed=1)

    report = transfer_weights({**source, "head.weight": torch.ones(1)}, encoder, prefix="encoder.")

    assert report.copied_frac == 1.0
    assert report.unused == ()


def test_source_that_fits_nowhere_is_refused() -> None:
    with pytest.raises(ConfigError, match="at least one tensor"):
        transfer_weights(network(width=5).state_dict(), nn.Linear(7, 7))


def test_weights_that_are_not_finite_are_refused_and_nothing_is_changed() -> None:
    encoder = network(seed=1)
    before = {name: tensor.clone() for name, tensor in encoder.state_dict().items()}
    source = network(seed=2).state_dict()
    source["1.bias"][0] = float("nan")

    with pytest.raises(ConfigError, match="finite"):
        transfer_weights(source, encoder)

    assert all(torch.equal(before[name], t) for name, t in encoder.state_dict().items())
