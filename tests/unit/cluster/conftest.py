"""One cluster of two nodes for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fixtures.ray_nodes import RayNodes, ray_nodes


@pytest.fixture(scope="package")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayNodes]:
    """A head and a node beside it, with a CPU each."""
    with ray_nodes(tmp_path_factory.mktemp("ray"), "second") as found:
        yield found
