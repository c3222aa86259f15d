"""What a campaign is planned from: options that are given, else the preset, else defaults."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from tradingbot.app.cli import run as run_module
from tradingbot.app.cli.application import run
from tradingbot.campaign.request import CampaignRequest


@pytest.mark.parametrize(
    ("words", "seed"),
    [
        ([], 0),
        (["--set", "seed=7"], 7),
        (["--seed", "3"], 3),
        (["--set", "seed=7", "--seed", "0"], 0),
        (["--preset", "seeded.yaml"], 11),
    ],
)
def test_seed_is_that_of_the_option_else_of_the_settings_else_of_the_preset(
    words: list[str], seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned: list[CampaignRequest] = []

    def walk(request: CampaignRequest, *_: object, **__: object) -> None:
        planned.append(request)
        raise typer.Exit(0)

    monkeypatch.setattr(run_module, "_walk", walk)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "seeded.yaml").write_text("extends: quick\nseed: 11\n")
    run(["--workspace", str(tmp_path / "w"), "run", "quick", "--name", "x", *words])

    assert planned[0].config.seed == seed


def test_setting_of_the_evaluation_is_refused_by_the_option_that_said_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", "quick", "--evaluate", "seeds.count=-1"]
    assert run(["--workspace", str(tmp_path), *words]) == 2

    said = capsys.readouterr().err
    assert "was -1 (--evaluate seeds.count)" in said
    assert "--set" not in said
