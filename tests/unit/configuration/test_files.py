from __future__ import annotations

from pathlib import Path

import pytest

from tradingbot.configuration.files import known_presets, load_config
from tradingbot.domain.errors import ConfigError


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize("preset", known_presets())
def test_load_config_every_preset_is_valid(preset: str) -> None:
    assert load_config(preset).files[0].stem == preset


def test_load_config_child_overrides_single_values(tmp_path: Path) -> None:
    write(
        tmp_path,
        "a.yaml",
        "scaling:\n  kind: minmax\n  pooling: pooled\nproof:\n  common_rounds: 3\n",
    )
    child = write(tmp_path, "b.yaml", "extends: a.yaml\nscaling:\n  kind: standard\n")

    loaded = load_config(child)

    assert loaded.config.scaling.kind == "standard"
    assert loaded.config.scaling.pooling == "pooled"
    assert loaded.config.proof.common_rounds == 3
    assert [file.name for file in loaded.files] == ["b.yaml", "a.yaml"]


def test_load_config_places_point_to_the_file_that_decided(tmp_path: Path) -> None:
    parent = write(tmp_path, "a.yaml", "proof:\n  common_rounds: 3\n  seed: 1\n")
    child = write(tmp_path, "b.yaml", "extends: a.yaml\nproof:\n\n  common_rounds: 4\n")

    loaded = load_config(child)

    assert loaded.place_of("proof", "common_rounds") == f"{child}:4"
    assert loaded.place_of("proof", "seed") == f"{parent}:3"
    assert loaded.place_of("costs", "slippage_frac") is None


def test_load_config_other_market_drops_inherited_params(tmp_path: Path) -> None:
    write(tmp_path, "a.yaml", "market:\n  name: planted\n  params:\n    kappa: 0.2\n")
    other = write(tmp_path, "b.yaml", "extends: a.yaml\nmarket:\n  name: noise\n")
    same = write(tmp_path, "c.yaml", "extends: a.yaml\nmarket:\n  params:\n    phi: 0.5\n")

    assert load_config(other).config.market.params == {}
    assert load_config(same).config.market.params == {"kappa": 0.2, "phi": 0.5}


def test_load_config_long_cycle_names_the_chain(tmp_path: Path) -> None:
    first = write(tmp_path, "a.yaml", "extends: b.yaml\n")
    write(tmp_path, "b.yaml", "extends: c.yaml\n")
    (tmp_path / "c.yaml").symlink_to(first)

    with pytest.raises(ConfigError, match=r"was a\.yaml → b\.yaml → a\.yaml \("):
        load_config(first)


def test_load_config_error_in_parent_names_the_parent(tmp_path: Path) -> None:
    parent = write(tmp_path, "a.yaml", "proof:\n  common_rounds: 0\n")
    child = write(tmp_path, "b.yaml", "extends: a.yaml\n")

    with pytest.raises(ConfigError) as caught:
        load_config(child)

    assert caught.value.where == f"{parent}:2"


def test_load_config_same_content_in_other_order_has_the_same_hash(tmp_path: Path) -> None:
    one = write(
        tmp_path,
        "a.yaml",
        "proof:\n  common_rounds: 5\n  seed: 1\ncosts:\n  slippage_frac: 0.001\n",
    )
    two = write(
        tmp_path, "b.yaml", "costs: {slippage_frac: 1.0e-3}\nproof: {seed: 1, common_rounds: 5}\n"
    )

    assert load_config(one).config.config_hash == load_config(two).config.config_hash
