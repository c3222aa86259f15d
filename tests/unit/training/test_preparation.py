"""Before the first update: pre-training, cloning, transfer, and embeddings that are kept."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from fixtures.run_bits import ENCODED, fingerprint
from fixtures.tiny_training import tiny_config
from tradingbot.domain.errors import ConfigError
from tradingbot.networks.encoders.catalogue import encoder_preset
from tradingbot.runs import RunDirectory, latest_good, list_checkpoints, read_journal
from tradingbot.supervised import FitConfig, FoldConfig, LabelConfig
from tradingbot.supervised.model_files import open_model
from tradingbot.supervised.model_names import models_folder
from tradingbot.training.config_files import load_train_config
from tradingbot.training.data import open_data
from tradingbot.training.encoder_transfer import open_transfer, transfer_words
from tradingbot.training.session import SessionCallbacks, begin_run, resume_session
from tradingbot.training.setup import build_training_setup
from tradingbot.training.supervised import fit as fit_module
from tradingbot.training.supervised.fit import ModelRequest, train_model

TAKEN = {key: value for key, value in ENCODED.items() if not key.startswith("pretraining")}
"""An encoder that is taken from a run is not pre-trained: settings of that would not act."""
SKIPPING = ENCODED | {"encoder__preset": "skip"}
CLONED: dict[str, object] = {
    "cloning__enabled": True,
    "cloning__updates": 4,
    "cloning__steps": 16,
    "budget__steps_per_agent": 32,
}


class Stop:
    """Asks to stop when preparing has come so far, and remembers what it was told."""

    def __init__(self, at: int | None = None) -> None:
        self.at, self.told = at, list[tuple[str, int, int]]()

    def callbacks(self) -> SessionCallbacks:
        return SessionCallbacks(preparing=lambda *said: self.told.append(said), interrupted=self)

    def __call__(self) -> bool:
        return self.at is not None and len(self.told) >= self.at


@pytest.fixture(scope="module")
def cloned(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    return begin_run(tiny_config(**CLONED), tmp_path_factory.mktemp("c"), name="cloned").run


@pytest.fixture(scope="module")
def encoded(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    return begin_run(tiny_config(**ENCODED), tmp_path_factory.mktemp("e"), name="encoded").run


def encoder_of(run: RunDirectory) -> dict[str, torch.Tensor]:
    checkpoint, _ = latest_good(run)
    assert checkpoint is not None
    return {name: t for name, t in checkpoint.agent.items() if "encoder." in name}


@pytest.fixture(scope="module")
def skipping(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    return begin_run(tiny_config(**SKIPPING), tmp_path_factory.mktemp("s"), name="skipping").run


@pytest.mark.parametrize(
    ("whole", "options", "stage"),
    [
        ("encoded", ENCODED, "pre-train"),
        ("skipping", SKIPPING, "pre-train"),
        ("cloned", CLONED, "clone"),
    ],
)
def test_interruption_while_preparing_is_heard_and_the_run_goes_on_to_the_same_bits(
    tmp_path: Path,
    request: pytest.FixtureRequest,
    whole: str,
    options: dict[str, object],
    stage: str,
) -> None:
    stop, config = Stop(at=2), tiny_config(**options)

    left = begin_run(config, tmp_path, stop.callbacks(), name="run")

    assert left.result is None
    assert [(name, done) for name, done, _ in stop.told] == [(stage, 1), (stage, 2)]
    assert left.run.status().state == "interrupted"
    assert list_checkpoints(left.run) == []
    again = resume_session("run", tmp_path).run
    assert fingerprint(again) == fingerprint(request.getfixturevalue(whole))
    assert len(again.status().resumptions) == 1


def test_encoder_that_learns_is_not_pretrained_again_when_the_run_goes_on(tmp_path: Path) -> None:
    config = tiny_config(**ENCODED, encoder__trainable=True, learner__direct__chunk_bars=4)
    whole = begin_run(config, tmp_path / "whole", name="run").run
    updates = Stop()

    def interrupted() -> bool:
        return (tmp_path / "runs" / "run" / "checkpoints" / "00000003-last").exists()

    begin_run(config, tmp_path, SessionCallbacks(interrupted=interrupted), name="run")
    resumed = resume_session("run", tmp_path, updates.callbacks()).run

    assert resumed.status().resumptions[0].update >= 3
    assert updates.told == []
    assert fingerprint(resumed) == fingerprint(whole)


AUXILIARY: dict[str, object] = {
    "encoder__preset": "mlp",
    "encoder__pretrain": False,
    "encoder__trainable": True,
    "learner__direct__chunk_bars": 4,
    "auxiliary__weight": 1.0,
    "auxiliary__segments": 2,
    "auxiliary__segment_bars": 16,
    "budget__steps_per_agent": 40,
}
"""Five updates of an encoder that learns with the agents, and from auxiliary tasks."""


def test_auxiliary_tasks_beside_the_loss_are_logged_and_resumed_to_the_same_bits(
    tmp_path: Path,
) -> None:
    config = tiny_config(**AUXILIARY)
    whole = begin_run(config, tmp_path / "whole", name="run").run

    def interrupted() -> bool:
        return (tmp_path / "runs" / "run" / "checkpoints" / "00000003-last").exists()

    begin_run(config, tmp_path, SessionCallbacks(interrupted=interrupted), name="run")
    resumed = resume_session("run", tmp_path).run

    assert resumed.status().resumptions[0].update >= 3
    assert fingerprint(resumed) == fingerprint(whole)
    rows = [*read_journal(whole.journal_path("metrics"))]
    logged = [{key for key in row["metrics"] if "auxiliary" in key} for row in rows]
    tasks = ("next_return", "volatility", "volume_class", "expert_action", "regime")
    assert logged == [{f"loss/auxiliary/{task}" for task in tasks}] * 5
    assert not any("auxiliary" in name for name in encoder_of(whole))
    # Without them a configuration has the hash that it had before there were any.
    assert "auxiliary" not in tiny_config().as_mapping()


def test_auxiliary_tasks_beside_the_loss_ask_about_the_training_part_alone(tmp_path: Path) -> None:
    config = tiny_config(**AUXILIARY)
    data = open_data(config, tmp_path)

    learner = build_training_setup(config, data, seed=1).learner

    tasks = learner._auxiliary._tasks  # type: ignore[attr-defined]
    assert len(tasks.targets) == 5
    for target in tasks.targets.values():
        last = int(target.valid.any(0).nonzero().max()) + target.horizon_bars
        assert last == data.split.train.stop - 1


def test_cloned_actor_agrees_with_the_expert_more_and_more(
    cloned: RunDirectory, tmp_path: Path
) -> None:
    alone = begin_run(tiny_config(budget__steps_per_agent=32), tmp_path, name="alone").run

    rows = [*read_journal(cloned.journal_path("preparation"))]
    assert [(row["stage"], row["update"]) for row in rows] == [("clone", n) for n in range(1, 5)]
    errors = [sum(row["clone/error"]) for row in rows]
    assert errors[-1] < 0.7 * errors[0]
    assert fingerprint(cloned)["weights"] != fingerprint(alone)["weights"]
    assert [*read_journal(alone.journal_path("preparation"))] == []


def test_second_run_takes_the_embeddings_of_the_first(encoded: RunDirectory) -> None:
    workspace = encoded.path.parents[1]
    (selected,) = (workspace / "embeddings").glob("*.safetensors")
    inode = selected.stat().st_ino

    again = begin_run(tiny_config(**ENCODED), workspace, name="again").run

    assert [*(workspace / "embeddings").glob("*.safetensors")] == [selected]
    assert selected.stat().st_ino == inode  # a new file would be another one
    assert fingerprint(again) == fingerprint(encoded)


def test_transferred_encoder_is_taken_whole_and_its_warning_stands_by_the_result(
    encoded: RunDirectory,
) -> None:
    workspace, said = encoded.path.parents[1], list[str]()
    config = tiny_config(**TAKEN, encoder__transfer_from="encoded", seed=9)
    heard = Stop()
    callbacks = SessionCallbacks(note=said.append, preparing=heard.callbacks().preparing)

    session = begin_run(config, workspace, callbacks, name="taken")

    assert heard.told == []  # nothing is pre-trained
    assert session.run.record.parent == "encoded/00000004-selected"
    theirs, ours = encoder_of(encoded), encoder_of(session.run)
    assert theirs
    assert all(torch.equal(ours[name], tensor) for name, tensor in theirs.items())
    assert any("in-sample" in text for text in said)
    assert session.result is not None
    assert (
        "encoded/00000004-selected: transferred features may be in-sample" in session.result.caveat
    )


def test_transfer_that_does_not_fit_is_refused_and_leaves_nothing(encoded: RunDirectory) -> None:
    runs = encoded.path.parent
    before = sorted(path.name for path in runs.iterdir())
    fits = tiny_config(**TAKEN, encoder__transfer_from="encoded")
    other = tiny_config(**(TAKEN | {"encoder__preset": "mlp"}), encoder__transfer_from="encoded")
    gone = tiny_config(**TAKEN, encoder__transfer_from="encoder-of-nobody")
    features = encoded.record.data.feature_ids

    with pytest.raises(ConfigError, match="same kind, was tiny → mlp"):
        begin_run(other, runs.parent)
    with pytest.raises(ConfigError, match="run must be the id of one run"):
        begin_run(gone, runs.parent)
    with pytest.raises(ConfigError, match=r"features it was trained on, was .* → other"):
        open_transfer(fits, ("other", *features[1:]), runs)
    with pytest.raises(ConfigError, match="transfer_from must stand with an encoder"):
        load_train_config("quick", {"encoder.transfer_from": "encoded"})
    assert sorted(path.name for path in runs.iterdir()) == before


@pytest.mark.parametrize("kind", ["lstm", "mlp"])
def test_encoder_begins_with_a_supervised_model_and_carries_its_warning(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The embedding is the model's where features are scaled alike, whatever stands beside them."""
    monkeypatch.setattr(fit_module, "_PREFIXES_PER_ROUND", 2)  # its proof is no matter of this test
    size = encoder_preset(kind)
    settings = {"width": size.width, "n_layers": size.n_layers, "max_updates": 2}
    settings |= {"lookback_bars": size.lookback_bars, "batch_windows": 8, "check_updates": 1}
    fit = FitConfig(LabelConfig(horizon_bars=3), FoldConfig(n_blocks=3, embargo_bars=2), seed=4)
    train_model(tiny_config(), ModelRequest("net", kind, settings, fit, proof_rounds=1), tmp_path)
    config = tiny_config(encoder__preset=kind, encoder__transfer_from="model:net")
    data = open_data(config, tmp_path)

    taken = open_transfer(config, data.identity.feature_ids, tmp_path / "runs")
    assert taken is not None
    encoder = build_training_setup(config, data, seed=1, transfer=taken).encoder

    model, manifest = open_model(models_folder(tmp_path), "net")
    theirs = model.stages[-1].model.network.encoder  # type: ignore[attr-defined]
    names = [each.rpartition("-v")[0] for each in data.identity.feature_ids]
    row = torch.randn(2, 40, len(names), generator=torch.Generator().manual_seed(1))
    own = [names.index(name) for name in manifest.features]
    assert encoder is not None
    with torch.no_grad():
        torch.testing.assert_close(encoder(row), theirs(row[..., own]))
    assert "in-sample" in transfer_words(taken.source)
    small = tiny_config(encoder__preset="tiny", encoder__transfer_from="model:net")
    with pytest.raises(ConfigError, match="same kind and size"):
        open_transfer(small, data.identity.feature_ids, tmp_path / "runs")
