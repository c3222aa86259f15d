"""What a database of trials may be called, and that no refusal tells its password."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fixtures.tiny_tuning import tiny_study
from tradingbot.app.cli.application import run
from tradingbot.domain.errors import ConfigError
from tradingbot.tuning.session import open_study
from tradingbot.tuning.storage_url import require_storage

SECRET = "hunter2pw"


@pytest.mark.parametrize(
    "url",
    [
        f"mysql://a:{SECRET}@h/d",
        f"mysql://a:x@{SECRET}@h/d",
        f"mysql://a:x/{SECRET}@h/d",
        f"mysql://a:{SECRET}",
        f"a:{SECRET}@h/d",
        f"mysql:a:{SECRET}@h/d",
        f"postgres://a:{SECRET}@h/d",
        f"postgresql://a:x@{SECRET}@h/d",  # a name is looked up with what follows the first @
        f"mysql://h/d?user=a&password={SECRET}",
        f"{SECRET}://a@h/d",
        f"sqlite:///:memory:#{SECRET}",
    ],
)
def test_refused_storage_tells_no_password(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["tune", "x", "--preset", "quick", "--storage", url])

    told = capsys.readouterr()
    assert code == 2
    assert "storage of trials must be the URL" in told.err
    assert SECRET not in told.out + told.err


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://a:{SECRET}@127.0.0.1:1/d",
        f"postgresql://a:x/{SECRET}@127.0.0.1:1/d",
        f"postgresql://127.0.0.1:1/d?user=a&password={SECRET}",
        f"postgresql://a:{SECRET}",
    ],
)
def test_database_that_cannot_be_opened_tells_no_password(url: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="database of trials") as refusal:
        open_study(replace(tiny_study(), storage=url), tmp_path)

    assert SECRET not in str(refusal.value)


@pytest.mark.parametrize("url", ["sqlite:///", "sqlite:///:memory:", "sqlite:///?mode=memory"])
def test_trials_are_not_kept_in_memory(url: str) -> None:
    with pytest.raises(ConfigError, match="SQLite or PostgreSQL"):
        require_storage(url)


@pytest.mark.parametrize("url", ["", "sqlite:////tmp/x.db", "sqlite:///x.db", "postgresql://h/d"])
def test_usual_addresses_are_taken(url: str) -> None:
    require_storage(url)
