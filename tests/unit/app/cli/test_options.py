"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tradingbot.app.cli.invocation import Invocation, find_workspace
from tradingbot.app.cli.options import choose_workspace, require_picture
from tradingbot.configuration.pipeline import PipelineConfig
from tradingbot.domain.errors import ConfigError


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("map.txt", r"--heat-map must name a \.png file, was 'map\.txt'"),
        ("map", r"--heat-map must name a \.png file, was 'map'"),
        (
            "gone/map.png",
            r"--heat-map must name a file in a folder that exists, was '.*/gone/map.png'",
        ),
        ("gone/map.txt", r"--heat-map must name a \.png file"),
    ],
)
def test_require_picture_other_files_and_folders_are_refused(
    tmp_path: Path, name: str, words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        require_picture(tmp_path / name, "--heat-map")


def test_require_picture_png_in_a_folder_passes(tmp_path: Path) -> None:
    require_picture(tmp_path / "map.PNG", "--heat-map")


def test_choose_workspace_option_goes_before_the_file() -> None:
    settings = PipelineConfig(workspace="from-file")

    assert choose_workspace(Invocation(), settings) == Path("from-file")
    given = Invocation(workspace=Path("given"), workspace_is_given=True)
    assert choose_workspace(given, settings) == Path("given")
    assert choose_workspace(Invocation(), PipelineConfig()) == Path("workspace")


def test_workspace_may_be_a_file_url_with_a_whole_path() -> None:
    assert find_workspace("file:///srv/my%20bars") == Path("/srv/my bars")
    with pytest.raises(ConfigError, match="whole path"):
        find_workspace("file://srv/bars")
