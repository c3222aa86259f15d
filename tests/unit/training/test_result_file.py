"""`result.json` is read as it was written, that of version 1 too, and damage is told in words."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import pytest

from tradingbot.domain.errors import StorageError
from tradingbot.evaluation.dossier.codec import to_plain
from tradingbot.training.result_file import RESULT_FORMAT, read_result, store_result

STORED = Path(__file__).parents[2] / "fixtures" / "version_1" / "result.json"
"""As `tradingbot train` of version 0.1.0 left it, on a synthetic market."""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    shutil.copy(STORED, tmp_path / "result.json")
    return tmp_path


def test_result_of_version_1_is_read(old: Path) -> None:
    content = json.loads(STORED.read_text())
    assert "format" not in content

    result = read_result(old)

    assert result.format == RESULT_FORMAT
    assert result.trading_agents == ("SPY", "AAPL")
    assert result.weights_sha256 == content["weights_sha256"]
    test, stored = result.part("test"), content["parts"][1]
    agents = test.policies[0]
    assert list(agents.sharpe_annual) == stored["policies"][0]["sharpe_annual"]
    assert agents.max_drawdown_frac == stored["policies"][0]["max_drawdown_frac"]
    kinds = ["agents", "baseline", "oracle", "baseline", "baseline"]
    assert [row.kind for row in test.policies] == kinds
    assert agents.n_trades is None  # that version did not count them
    assert math.isnan(agents.win_rate_frac)
    assert test.share_of_oracle is not None
    assert test.share_of_oracle.estimate == stored["share_of_oracle"]
    assert [row.total_return_frac for row in test.agents] == [
        row["total_return_frac"] for row in stored["agents"]
    ]
    assert result.gates[1].failures == tuple(stored["gate"]["failures"])
    assert result.gates[1].histogram == tuple(stored["gate"]["histogram"])


def test_result_is_read_as_it_was_written(old: Path, tmp_path: Path) -> None:
    result = read_result(old)

    store_result(tmp_path, result)

    assert to_plain(read_result(tmp_path)) == to_plain(result)
    assert json.loads((tmp_path / "result.json").read_text())["format"] == RESULT_FORMAT


def test_result_of_format_2_is_read_without_parts_of_the_net_return(
    old: Path, tmp_path: Path
) -> None:
    content = to_plain(read_result(old))
    for part in content["parts"]:
        del part["factor"], part["alpha_over_hold_bps"]
        for row in part["policies"]:
            del row["earned"]
        for row in part["agents"]:
            for name in ("market", "timing", "alpha"):
                del row[f"{name}_bps_per_bar"]
    (tmp_path / "result.json").write_text(json.dumps({**content, "format": 2}))

    result = read_result(tmp_path)

    assert to_plain(result) == to_plain(read_result(old))
    assert result.part("test").policies[0].earned is None


@pytest.mark.parametrize(
    ("content", "was"),
    [
        (None, "missing"),
        ("{", "no JSON in line 1: expecting property name enclosed in double quotes"),
        ("{}", "one without 'trading_agents'"),
        ("[]", "result.json must be a record, was []"),
        ('{"format": 3}', "result.json must have the fields of TrainResult"),
    ],
)
def test_result_that_cannot_be_read_is_told_in_words(
    tmp_path: Path, content: str | None, was: str
) -> None:
    if content is not None:
        (tmp_path / "result.json").write_text(content)

    with pytest.raises(StorageError, match="readable result, was") as refused:
        read_result(tmp_path)

    assert was in str(refused.value)
