"""docs/reference/models.md is written from the catalogues of learners, encoders and presets.

Regenerate it with: .venv/bin/python tests/docs/test_models_page.py
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import torch

from tradingbot.learning.catalogue import known_learners, learner_spec
from tradingbot.networks.encoders.catalogue import ENCODER_PRESETS, build_encoder
from tradingbot.supervised.catalogue import CLASSIFIERS
from tradingbot.training.config_files import load_train_config

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "models.md"
REGENERATE = ".venv/bin/python tests/docs/test_models_page.py"
N_FEATURES = 33
# Kind of an action to a learner → what configurations call it.
ACTIONS = {"box": "continuous", "discrete": "discrete", "simplex": "weights"}
HEAD = f"""\
# Models

<!-- Generated from the catalogues. Do not edit; run: {REGENERATE} -->

Which learner fits which actions and tools, which encoders there are, and what the presets are made
of. Versions of packages and files are on [another page](versions.md).
"""


def render_page() -> str:
    """Write the whole page."""
    return "\n".join([HEAD, *learners(), *encoders(), *presets(), *classifiers(), ""])


def learners() -> Iterator[str]:
    """Yield the table of learners."""
    yield "## Learners\n"
    yield (
        "`learner.name`. *Encoder*: whether an encoder can learn with it (`encoder.trainable`), and"
        " with auxiliary tasks beside (+). *Tools*: curiosity, shaping, objectives. *Critic*:"
        " landscapes of values in the dossier. *Known answers*: in `tradingbot bench learning`.\n"
    )
    yield "| learner | actions | encoder | tools | critic | known answers |"
    yield "|---|---|---|---|---|---|"
    for name in known_learners():
        spec = learner_spec(name)
        actions = ", ".join(ACTIONS[kind] for kind in spec.action_kinds)
        encoder = "no" if not spec.trains_encoder else "yes +" if spec.takes_auxiliary else "yes"
        cells = (
            f"[`{name}`](../algorithms/{name}.md)",
            actions + (", by options" if spec.takes_options else ""),
            encoder,
            said(spec.takes_reward_transform),
            said(bool(spec.critic_prefix)),
            said(spec.measured is not None),
        )
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield (
        "Checkpoints have one format and runs resume. Runs are exported to a"
        " [bundle](../how_to/serve.md) but for those that follow options and masters over rules."
        " Hindsight, cloning, curricula and goals are sections and tasks beside a learner.\n"
    )


def encoders() -> Iterator[str]:
    """Yield the table of encoders."""
    yield "## Encoders\n"
    yield f"`encoder.preset`; numbers that are learned with {N_FEATURES} features.\n"
    yield "| preset | kind | layers | width | bars that it sees | learned numbers |"
    yield "|---|---|---|---|---|---|"
    for name, config in ENCODER_PRESETS.items():
        encoder = build_encoder(config, N_FEATURES, torch.Generator().manual_seed(0))
        count = sum(each.numel() for each in encoder.parameters() if each.requires_grad)
        layers = "–" if config.kind == "row" else str(config.n_layers)
        width = "–" if config.kind == "row" else str(config.width)
        sizes = f"{layers} | {width} | {config.lookback_bars} | {count:,}"
        yield f"| `{name}` | {config.kind} | {sizes} |"
    yield ""


def presets() -> Iterator[str]:
    """Yield the table of training presets."""
    yield "## Training presets\n"
    yield "`tradingbot train --preset`; [what each is for](../how_to/train.md).\n"
    yield "| preset | learner | actions | encoder | reward | steps per agent | environments |"
    yield "|---|---|---|---|---|---|---|"
    folder = files("tradingbot.configuration") / "presets" / "training"
    for name in sorted(path.name.removesuffix(".yaml") for path in folder.iterdir()):
        config = load_train_config(name, {})
        yield (
            f"| `{name}` | {config.learner.name} | {config.task.rules.action.space} "
            f"| {config.encoder.preset} | {config.task.reward} "
            f"| {config.budget.steps_per_agent:,} | {config.budget.n_envs} |"
        )
    yield ""


def classifiers() -> Iterator[str]:
    """Yield the list of supervised models."""
    yield "## Classifiers\n"
    names = ", ".join(f"`{name}`" for name in CLASSIFIERS)
    yield f"`tradingbot supervised train --model`: {names} ([how](../how_to/supervised.md))."


def said(is_so: bool) -> str:
    return "yes" if is_so else "no"


def test_page_is_current() -> None:
    message = f"docs/reference/models.md is out of date. Run: {REGENERATE}"
    assert PAGE.read_text(encoding="utf-8") == render_page(), message


def test_every_learner_and_encoder_is_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")

    assert [name for name in (*known_learners(), *ENCODER_PRESETS) if f"`{name}`" not in text] == []


if __name__ == "__main__":
    PAGE.write_text(render_page(), encoding="utf-8")
    sys.stdout.write(f"wrote {PAGE.relative_to(ROOT)}\n")
