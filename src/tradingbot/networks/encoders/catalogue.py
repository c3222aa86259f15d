"""Encoders by name: configurations that have one, and how to build an encoder from its config."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import torch

from tradingbot.domain.errors import ConfigError, suggest
from tradingbot.domain.extension import add_extension, extension_values
from tradingbot.networks.encoders.encoder import Encoder, EncoderConfig, EncoderKind
from tradingbot.networks.encoders.mlp import WindowMLP
from tradingbot.networks.encoders.recurrent import RecurrentEncoder
from tradingbot.networks.encoders.row import RowEncoder, SkipEncoder
from tradingbot.networks.encoders.transformer import TransformerEncoder

ENCODER_PRESETS: Mapping[str, EncoderConfig] = MappingProxyType(
    {
        "full": EncoderConfig(),
        "small": EncoderConfig(n_layers=2, width=64, n_heads=4),
        "tiny": EncoderConfig(n_layers=2, width=32, n_heads=2),
        "lstm": EncoderConfig(kind="lstm", n_layers=1, width=64),
        "mlp": EncoderConfig(kind="mlp", n_layers=2, width=64),
        "skip": EncoderConfig(kind="mlp", n_layers=2, width=8, skip=True),
        "row": EncoderConfig(kind="row", n_layers=1, width=1, n_heads=1, lookback_bars=1),
    }
)
"""`full` is the product's encoder, for a GPU; `small` and `tiny` are for processors. `skip` adds
eight learned numbers to the row."""

_Builder = Callable[[EncoderConfig, int, torch.Generator], Encoder]
_BUILDERS: Mapping[EncoderKind, _Builder] = {
    "transformer": TransformerEncoder,
    "lstm": RecurrentEncoder,
    "mlp": WindowMLP,
    "row": lambda config, n_features, generator: RowEncoder(n_features),
}


def encoder_preset(name: str) -> EncoderConfig:
    """Return a preset by name.

    Raises:
        ConfigError: If there is none of that name; it says which there are.
    """
    known: dict[str, EncoderConfig] = {
        **ENCODER_PRESETS,
        **extension_values("encoder", ENCODER_PRESETS),
    }
    if name not in known:
        raise ConfigError(
            f"encoder must be one of {', '.join(known)}", was=name, remedy=suggest(name, known)
        )
    return known[name]


def register_encoder(name: str, config: EncoderConfig) -> EncoderConfig:
    """Make a preset of your own known by name, to configurations and commands of this process.

    Raises:
        ConfigError: If another preset has that name.
    """
    if name in ENCODER_PRESETS:
        raise ConfigError("encoder name must be free", was=name, remedy="Choose another")
    add_extension("encoder", name, config)
    return config


def build_encoder(config: EncoderConfig, n_features: int, generator: torch.Generator) -> Encoder:
    """Build an encoder of rows of F numbers, on the CPU.

    Args:
        config: Kind and size.
        n_features: F.
        generator: Weights are drawn from it; on the CPU.

    Example:
        >>> encoder = build_encoder(ENCODER_PRESETS["full"], 33, torch.Generator().manual_seed(0))
        >>> sum(parameter.numel() for parameter in encoder.parameters())
        3168472
    """
    encoder = _BUILDERS[config.kind](config, n_features, generator)
    return SkipEncoder(encoder) if config.skip else encoder
