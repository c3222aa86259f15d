from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError

from tradingbot.configuration.decoding import model_at
from tradingbot.configuration.files import known_presets, load_config
from tradingbot.configuration.pipeline import PipelineConfig

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "configuration.md"


def fields(model: type[BaseModel], prefix: str = "") -> dict[str, str]:
    """Dotted name → one-line description of every leaf field."""
    found: dict[str, str] = {}
    for name, info in model.model_fields.items():
        dotted = f"{prefix}{name}"
        try:
            found |= (
                fields(model_at((dotted,)), f"{dotted}.") if not prefix else {dotted: _said(info)}
            )
        except StopIteration:
            found[dotted] = _said(info)
    return found


def _said(info: object) -> str:
    return str(getattr(info, "description", None) or "")


def test_configuration_every_field_has_a_one_line_description() -> None:
    described = fields(PipelineConfig)

    assert len(described) > 20
    assert [name for name, text in described.items() if not text or "\n" in text] == []


def test_configuration_reference_page_lists_exactly_the_fields() -> None:
    listed = {
        line.split("|")[1].strip().strip("`"): line.split("|")[3].strip()
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("| `")
    }

    assert listed == {
        name: text.replace("|", "\\|") for name, text in fields(PipelineConfig).items()
    }


def test_configuration_hash_ignores_where_files_lie_only() -> None:
    base = PipelineConfig()

    assert PipelineConfig(workspace="/elsewhere").config_hash == base.config_hash
    for preset in known_presets():
        config = load_config(preset).config
        assert (config.config_hash == base.config_hash) == (config == base)


def test_configuration_cannot_change_while_running() -> None:
    config = PipelineConfig()

    with pytest.raises(ValidationError, match="frozen"):
        config.proof.common_rounds = 1  # type: ignore[misc]


def test_configuration_workspace_expands_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")

    assert PipelineConfig(workspace="~/w s").workspace_path() == Path("/home/ada/w s")
    assert PipelineConfig().workspace_path() is None
