"""Encoders that several trainings of one evaluation begin with, pre-trained once for all of them.

An ablation of the learner has the seeds, bars and encoder of its base: their pre-training is the
same to the bit. Weights go through a folder that the evaluation makes for itself and removes at its
end, so that nothing but its own processes could have written them.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import torch

from tradingbot.data.atomic import atomic_file
from tradingbot.features.tensor_files import map_tensors, write_tensors
from tradingbot.learning.pretraining.learner import Pretrainer
from tradingbot.networks.embedding import weights_hash
from tradingbot.runs.tensors import final_hash, to_arrays
from tradingbot.training.setup import TrainingSetup


def share_pretraining(setup: TrainingSetup, folder: Path | None) -> TrainingSetup:
    """Pre-train an encoder, or give it the weights that an equal pre-training came to.

    Args:
        setup: Its encoder is changed in place.
        folder: Where weights are handed on; None: nowhere, and nothing is done.

    Returns:
        The setup, with nothing left to pre-train.
    """
    pretrainer = setup.pretrainer
    if folder is None or pretrainer is None:
        return setup
    path, encoder = folder / f"{_identity(pretrainer)}.safetensors", pretrainer.encoder
    if path.is_file():
        stored = map_tensors(path)
        encoder.load_state_dict({name: torch.tensor(array) for name, array in stored.items()})
        encoder.eval()  # as the last look at what was held out leaves it
    else:
        pretrainer.complete()
        with atomic_file(path) as temporary:
            write_tensors(temporary, to_arrays(encoder.state_dict()), {})
    return replace(setup, pretrainer=None)


def _identity(pretrainer: Pretrainer) -> str:
    """Hash all that the weights follow from: where it begins, what it sees, asks and is set to."""
    tensors, words = pretrainer.state() | {"table": pretrainer.table}, [repr(pretrainer.config)]
    for name, target in pretrainer.targets.items():
        tensors |= {f"values of {name}": target.values, f"valid {name}": target.valid}
        words.append(f"{name} {target.horizon_bars} {target.n_classes}")
    parts = (weights_hash(pretrainer.encoder), final_hash(tensors), *words)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
