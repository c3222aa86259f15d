"""A checkpoint acts from its folder alone: version 2, version 1, by table and bar by bar."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from fixtures.small_runs import content, make_run
from fixtures.tiny_training import tiny_config
from tradingbot.agents.policy import PolicyInputs
from tradingbot.app.cli.application import run as command
from tradingbot.data.splits import IndexRange
from tradingbot.domain.errors import ConfigError, StorageError
from tradingbot.envs.population.layout import market_table
from tradingbot.runs import RunDirectory, save_checkpoint
from tradingbot.runs.acting_checkpoint import acting_checkpoint
from tradingbot.runs.acting_reader import acting_of_version_1
from tradingbot.runs.compatibility import require_fit
from tradingbot.runs.loading import list_checkpoints, load_checkpoint
from tradingbot.runs.manifest import CheckpointManifest, read_manifest
from tradingbot.runs.policy import StoredPolicy, load_policy
from tradingbot.training.data import TrainingData, open_data
from tradingbot.training.run_policy import open_policy
from tradingbot.training.session import begin_run

VERSION_1 = Path(__file__).parents[2] / "fixtures" / "version_1" / "runs"
V1_RUNS = ("direct-row", "ppo-discrete-skip", "sac-tiny")
N_BARS = 40
FORBIDDEN = ("learning", "training", "app", "evaluation", "envs", "supervised", "facade")
ENCODED = {
    "learner__name": "ppo",
    "learner__ppo__rollout_steps": 16,
    "encoder__preset": "tiny",
    "pretraining__updates": 2,
    "pretraining__segment_bars": 16,
    "budget__steps_per_agent": 48,
    "validation__shrink": False,
}


def seeded_inputs(loaded: StoredPolicy) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
    """Return a table (N, T, F), and private numbers and allowed codes at each bar: as stored."""
    n_agents = len(loaded.agents)
    generator = torch.Generator().manual_seed(1)
    table = torch.randn(n_agents, N_BARS, loaded.n_columns, generator=generator)
    states = []
    for _ in range(N_BARS):
        private = torch.rand(18, n_agents, generator=generator)
        allowed = torch.rand(7, n_agents, generator=generator) > 0.4
        allowed[0] = True
        states.append((private, allowed))
    return table, states


def acted(loaded: StoredPolicy) -> list[list[str]]:
    """Return what agents do on seeded inputs, as hexadecimal floats."""
    table, states = seeded_inputs(loaded)
    policy = loaded.on_table(table)
    rows = torch.arange(len(loaded.agents)) * N_BARS
    return [
        as_hex(policy(PolicyInputs(rows + bar, table[:, bar], table[:, bar], *state)))
        for bar, state in enumerate(states)
    ]


def acted_live(loaded: StoredPolicy) -> list[list[str]]:
    table, states = seeded_inputs(loaded)
    live, found = loaded.live(), []
    for bar, (private, allowed) in enumerate(states):
        live.take(table[:, bar])
        found.append(as_hex(live.act(private, allowed)))
    return found


def as_hex(actions: Tensor) -> list[str]:
    return [float(action).hex() for action in actions]


def as_numbers(actions: list[list[str]]) -> list[list[float]]:
    return [[float.fromhex(action) for action in bar] for bar in actions]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    begin_run(tiny_config(**ENCODED), folder, name="done")
    return folder


@pytest.fixture(scope="module")
def run(workspace: Path) -> RunDirectory:
    return RunDirectory.open(workspace / "runs" / "done")


@pytest.fixture(scope="module")
def data(workspace: Path) -> TrainingData:
    return open_data(tiny_config(**ENCODED), workspace)


@pytest.fixture
def selected(run: RunDirectory, tmp_path: Path) -> Path:
    (folder,) = run.checkpoints.glob("*-selected")
    return shutil.copytree(folder, tmp_path / folder.name)


def rewrite(folder: Path, **changes: Any) -> None:
    """Change a manifest and seal it again."""
    manifest = read_manifest(folder)
    changed = CheckpointManifest.model_validate({**manifest.model_dump(), **changes}).sealed()
    (folder / "manifest.json").write_text(changed.model_dump_json())


@pytest.mark.parametrize("name", V1_RUNS)
def test_run_of_version_1_acts_as_it_did(name: str) -> None:
    expected = json.loads((VERSION_1 / name / "actions.json").read_text())

    loaded = load_policy(VERSION_1 / name)

    assert loaded.checkpoint.manifest.version == 1
    found = acted(loaded)
    # Stored on another kind of CPU, whose matrix products may round the last bits otherwise.
    assert np.allclose(as_numbers(found), as_numbers(expected), rtol=1e-6, atol=0.0)
    assert acted_live(loaded) == found
    assert len({action for bar in expected for action in bar}) > 1


def test_checkpoint_of_version_1_is_read_from_its_own_folder_too() -> None:
    (folder,) = (VERSION_1 / "sac-tiny" / "checkpoints").iterdir()

    assert acted(load_policy(folder)) == acted(load_policy(VERSION_1 / "sac-tiny"))


def test_checkpoint_of_version_1_among_those_of_another_run_is_refused(tmp_path: Path) -> None:
    target = shutil.copytree(VERSION_1 / "direct-row", tmp_path / "direct-row")
    (folder,) = (VERSION_1 / "sac-tiny" / "checkpoints").iterdir()
    moved = shutil.copytree(folder, target / "checkpoints" / folder.name)

    with pytest.raises(StorageError, match=r"lie in its run's folder.*Put it back into runs/sac"):
        load_policy(moved)


def test_run_or_checkpoint_in_memory_acts_as_its_folder() -> None:
    run = RunDirectory.open(VERSION_1 / "direct-row")
    expected = acted(load_policy(run.path))

    assert acted(load_policy(run)) == expected
    assert acted(load_policy(acting_checkpoint(run))) == expected


def test_run_of_version_1_without_its_learner_is_refused() -> None:
    record = RunDirectory.open(VERSION_1 / "direct-row").record
    learner = {**record.config["learner"], "name": "evolution"}
    for config in ({**record.config, "learner": learner}, {}):
        with pytest.raises(StorageError, match=r"must name its learner, task and encoder"):
            acting_of_version_1(record.model_copy(update={"config": config}))


def test_run_acts_from_selected_else_best_else_final(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    for update, kind in enumerate(("start", "last", "final", "best", "selected")):
        save_checkpoint(run, kind, update, content(training=None))  # type: ignore[arg-type]
    for kind in ("selected", "best", "final"):
        chosen = acting_checkpoint(run)
        assert chosen.manifest.label_names == (kind,)
        shutil.rmtree(chosen.folder)

    assert len(list_checkpoints(run)) == 2
    with pytest.raises(StorageError, match=r"must have a checkpoint to act from.*--resume toy"):
        acting_checkpoint(run)


def test_damaged_selected_checkpoint_gives_way_to_no_other(
    run: RunDirectory, tmp_path: Path
) -> None:
    copy = shutil.copytree(run.path, tmp_path / "done")
    (folder,) = (copy / "checkpoints").glob("*-selected")
    (folder / "agent.safetensors").unlink()

    with pytest.raises(StorageError, match=r"the selected checkpoint of a run must be whole"):
        load_policy(copy)


def test_table_may_be_traded_in_part(selected: Path) -> None:
    loaded = load_policy(selected)
    table, states = seeded_inputs(loaded)
    whole, part = loaded.on_table(table), loaded.on_table(table, bars=IndexRange(7, 30))
    first = torch.arange(len(loaded.agents))
    for bar in (7, 15, 29):
        views = table[:, bar], table[:, bar]
        rows = first * N_BARS + bar, first * 23 + bar - 7
        acts = [
            p(PolicyInputs(r, *views, *states[bar]))
            for p, r in zip((whole, part), rows, strict=True)
        ]
        assert as_hex(acts[0]) == as_hex(acts[1])


def test_checkpoint_without_scalers_scales_nothing() -> None:
    loaded = load_policy(VERSION_1 / "direct-row")
    bar = np.zeros((len(loaded.agents), 3), np.float32)

    with pytest.raises(ConfigError, match=r"must hold its scalers.*was manifest version 1"):
        loaded.scale(bar, np.ones(len(bar), bool))


def test_version_1_with_a_record_of_acting_is_refused(tmp_path: Path, selected: Path) -> None:
    (folder,) = (VERSION_1 / "direct-row" / "checkpoints").iterdir()
    copy = shutil.copytree(folder, tmp_path / "v1" / folder.name)
    acting = json.loads((selected / "manifest.json").read_text())["acting"]
    manifest = json.loads((copy / "manifest.json").read_text())
    (copy / "manifest.json").write_text(json.dumps({**manifest, "acting": acting}))

    with pytest.raises(StorageError, match="manifest was changed"):
        load_checkpoint(copy)


def test_manifest_says_everything_that_acting_needs(run: RunDirectory, data: TrainingData) -> None:
    acting = load_policy(run).acting
    config = tiny_config(**ENCODED)

    assert load_policy(run).checkpoint.manifest.version == 2
    assert acting.actor.prefix == "heads.actor."
    is_target = config.task.rules.action.space == "target"
    assert acting.actor.squash == {
        "kind": "tanh",
        "gain": 1.0,
        "low": 0.0 if is_target else -1.0,
        "high": 1.0,
        "levels": 0,
    }
    assert acting.action.rules["smoothing_bars"] == config.task.rules.action.smoothing_bars
    assert acting.action.limits["allow_short"] is config.task.rules.limits.allow_short
    assert [feature.id for feature in acting.features] == [*data.identity.feature_ids]
    assert all(feature.sha256 for feature in acting.features[:-3])
    assert acting.encoder is not None
    assert (acting.encoder.preset, acting.encoder.learned) == ("tiny", False)
    assert len(acting.encoder.sha256) == 64
    assert [each.sha256 for each in acting.scalers] == [s.sha256 for s in data.world.scalers]
    assert acting.threads == config.threads


def test_loaded_policy_is_that_of_the_run_on_its_data(
    run: RunDirectory, data: TrainingData, selected: Path
) -> None:
    table = market_table(data.world)
    ours, theirs = load_policy(selected).on_table(table), open_policy(run, data)
    n_agents, n_bars, _ = table.shape
    generator = torch.Generator().manual_seed(3)
    for bar in range(0, n_bars, 17):
        row = torch.arange(n_agents) * n_bars + bar
        private = torch.rand(18, n_agents, generator=generator)
        inputs = PolicyInputs(row, table[:, bar], table[:, bar], private)
        assert torch.equal(ours(inputs), theirs(inputs))


def test_trained_run_is_exported_and_compared_on_its_own_bars(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = command(["--workspace", str(workspace), "export", "done", "--json"])

    out, err = capsys.readouterr()
    assert code == 0, err
    told = json.loads(out)
    assert told["note"] is None
    parity = told["parity"]
    assert (parity["n_real"] > 1_000, parity["n_decisions_differ"]) == (True, 0)
    assert parity["largest_difference"] <= 1e-5


def test_live_policy_acts_as_the_table_from_the_middle_on(selected: Path) -> None:
    loaded = load_policy(selected)
    assert loaded.encoder is not None
    table, states = seeded_inputs(loaded)
    expected, live = acted(loaded), loaded.live(bar=5)

    for bar in range(5, N_BARS):
        live.take(table[:, bar])
        if bar >= 5 + loaded.encoder.lookback_bars - 1:
            assert as_hex(live.act(*states[bar])) == expected[bar]
    assert live.view.bar == N_BARS


def test_stored_scaler_scales_a_bar_as_the_table_was(selected: Path, data: TrainingData) -> None:
    loaded = load_policy(selected)
    world, bar = data.world, 200
    features = world.features[:, bar].astype(np.float64)
    parts, start = [], 0
    for scaler in loaded.scalers:
        names = scaler.feature_names
        columns = features[:, start : start + len(names)]
        parts.append(scaler.inverse(columns, feature_names=names))
        start += len(names)
    raw = np.concatenate(parts, axis=-1)
    assert start == world.features.shape[-1]
    assert len(loaded.scalers) == 2  # of features, and of the market's covariates

    found = loaded.scale(raw, np.ones(len(raw), dtype=bool))

    np.testing.assert_allclose(found.numpy(), world.features[:, bar], rtol=1e-6, atol=1e-6)
    assert loaded.scale(raw, np.zeros(len(raw), dtype=bool)).abs().max() == 0.0
    far = raw + 1e9
    assert (
        loaded.scale(far, np.ones(len(raw), dtype=bool)).abs().max() == loaded.acting.feature_bound
    )


def test_acting_imports_nothing_that_learns_or_commands(selected: Path) -> None:
    code = f"""
import sys
from pathlib import Path
import torch
from tradingbot.runs.policy import load_policy
loaded = load_policy(Path({str(selected)!r}))
live = loaded.live()
live.take(torch.zeros(len(loaded.agents), loaded.n_columns))
live.act(torch.zeros(18, len(loaded.agents)))
loaded.on_table(torch.zeros(len(loaded.agents), 9, loaded.n_columns))
ours = sorted(name for name in sys.modules if name.startswith("tradingbot."))
print([name for name in ours if name.split(".")[1] in {FORBIDDEN!r}])
print([name for name in ("gymnasium", "stable_baselines3", "polars", "typer", "lightgbm")
       if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == ["[]", "[]"]


def test_table_of_other_agents_or_columns_is_refused(selected: Path) -> None:
    loaded = load_policy(selected)

    with pytest.raises(ConfigError, match=r"agents and columns.*was 2 × 5"):
        loaded.on_table(torch.zeros(2, 9, 5))


def test_checkpoint_that_says_nothing_of_acting_is_refused(selected: Path) -> None:
    rewrite(selected, acting=None)

    with pytest.raises(StorageError, match="must say how it acts, was no actor"):
        load_policy(selected)


def test_encoder_or_scaler_that_is_not_the_manifests_is_refused(selected: Path) -> None:
    acting = read_manifest(selected).model_dump()["acting"]
    rewrite(selected, acting={**acting, "encoder": {**acting["encoder"], "sha256": "0" * 64}})
    with pytest.raises(StorageError, match="encoder must be the one that the manifest names"):
        load_policy(selected)

    scaler, covariates = acting["scalers"]
    other = {**scaler, "centre": [value + 1.0 for value in scaler["centre"]]}
    rewrite(selected, acting={**acting, "scalers": [other, covariates]})
    with pytest.raises(StorageError, match="scaler must be as it was stored, was other content"):
        load_policy(selected)


def test_actor_of_a_later_version_is_refused_by_name(selected: Path) -> None:
    acting = read_manifest(selected).model_dump()["acting"]
    head = {**acting["actor"]["head"], "gate": "soft"}
    rewrite(selected, acting={**acting, "actor": {**acting["actor"], "head": head}})

    with pytest.raises(ConfigError, match=r"actor of a checkpoint.*gate"):
        load_policy(selected)


def test_feature_with_another_formula_under_its_name_is_refused(selected: Path) -> None:
    manifest = read_manifest(selected)
    acting = manifest.model_dump()["acting"]
    first, *rest = acting["features"]
    changed = manifest.model_validate(
        {
            **manifest.model_dump(),
            "acting": {**acting, "features": [{**first, "sha256": "0" * 64}, *rest]},
        }
    )

    require_fit(manifest, feature_ids=manifest.feature_ids)
    with pytest.raises(ConfigError, match=f"formula of {first['id']}: 000000000000 →"):
        require_fit(changed, feature_ids=manifest.feature_ids)


def test_other_scaler_is_refused_by_its_hash(selected: Path) -> None:
    manifest = read_manifest(selected)
    assert manifest.acting is not None
    own, more = (each.sha256 for each in manifest.acting.scalers)

    require_fit(manifest, feature_ids=manifest.feature_ids, scaler_sha256=[own, more])
    with pytest.raises(ConfigError, match=f"scaler 1: {own[:12]} → ffffffffffff.*train again"):
        require_fit(manifest, feature_ids=manifest.feature_ids, scaler_sha256=["f" * 64, more])
