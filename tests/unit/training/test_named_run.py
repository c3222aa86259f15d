"""A run of a fixed name is begun, resumed or found, and never one of other settings or bars."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fixtures.tiny_training import tiny_config
from tradingbot.domain.errors import ConfigError, InterruptionError
from tradingbot.training import named_run
from tradingbot.training.named_run import train_named
from tradingbot.training.session import SessionCallbacks


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("named")
    train_named("done", tiny_config(), place)
    asked = iter([False, False, False, True])
    stops = SessionCallbacks(interrupted=lambda: next(asked, True))
    with pytest.raises(InterruptionError):
        train_named("stopped", tiny_config(), place, stops)
    return place


def stamps(workspace: Path) -> list[tuple[str, int]]:
    return sorted((str(each), each.stat().st_mtime_ns) for each in workspace.rglob("*"))


def test_finished_run_with_the_same_settings_is_found(workspace: Path) -> None:
    before = stamps(workspace)

    run, result = train_named("done", tiny_config(), workspace)

    assert (run.id, result.weights_sha256 != "") == ("done", True)
    assert stamps(workspace) == before


@pytest.mark.parametrize("name", ["done", "stopped"])
def test_run_with_other_settings_is_refused_and_left_as_it_is(name: str, workspace: Path) -> None:
    before = stamps(workspace)

    with pytest.raises(ConfigError, match="settings and data it is asked for") as refusal:
        train_named(name, tiny_config(seed=6), workspace)

    assert "seed: 5 → 6" in str(refusal.value)
    assert "--force" not in str(refusal.value)
    assert stamps(workspace) == before


@pytest.mark.parametrize("name", ["done", "stopped"])
def test_run_that_learned_from_other_bars_is_refused(
    name: str, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole: Callable[..., object] = named_run.open_data

    def moved(*given: object) -> object:
        data = whole(*given)
        identity = data.identity.model_copy(update={"data_sha256": "f" * 64})  # type: ignore[attr-defined]
        return replace(data, identity=identity)  # type: ignore[type-var]

    monkeypatch.setattr(named_run, "open_data", moved)
    with pytest.raises(ConfigError, match="settings and data it is asked for") as refusal:
        train_named(name, tiny_config(), workspace)

    assert "→ ffffffffffff" in str(refusal.value)
