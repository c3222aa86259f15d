"""The page of the environment has every number, key and id that the code has, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tradingbot.envs import ENV_PRESETS, synthetic_world
from tradingbot.envs.config import EnvConfig
from tradingbot.envs.registration import ENV_IDS
from tradingbot.envs.single.info import LastStepInfo, ResetInfo
from tradingbot.envs.spaces import flatten_layout
from tradingbot.market.private_features import PORTFOLIO_FEATURES, POSITION_FEATURES

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "environments" / "trading_env.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("part", "features"), [("position", POSITION_FEATURES), ("portfolio", PORTFOLIO_FEATURES)]
)
def test_table_of_private_numbers_has_their_names_and_bounds(part: str, features: tuple) -> None:
    table = TEXT.split(f"| `{part}` | low | high |")[1].split("\n\n")[0]
    rows = re.findall(r"^\| `(\w+)` \| (\S+) \| (\S+) \|", table, re.MULTILINE)

    found = [(name, *(float(x.replace("−", "-")) for x in bounds)) for name, *bounds in rows]
    assert found == [tuple(feature) for feature in features]


def test_page_names_every_key_of_info() -> None:
    section = TEXT.split("## Information")[1].split("## Render")[0]
    named = set(re.findall(r"`(\w+)`", section))

    assert set(LastStepInfo.__annotations__) | set(ResetInfo.__annotations__) <= named


def test_page_names_every_id_preset_and_shape() -> None:
    for env_id in ENV_IDS:
        assert f"`{env_id}`" in TEXT
    for preset in ENV_PRESETS:
        assert f"`{preset}`" in TEXT
    world = synthetic_world("regimes", n_symbols=1, n_bars=300)
    for part in flatten_layout(world, EnvConfig(observation="dict")):
        assert f"| `{part.name}` | {part.shape} |" in TEXT
