"""`tradingbot features list | build | prove-causal`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tradingbot.domain.errors import UncertifiedPanelError
from tradingbot.features.causality.subject import ProofSubject, register_subject, unregister_subject
from tradingbot.features.inputs import MarketInputs
from tradingbot.features.panel import Panel

SMALL = "extends: us143\nproof:\n  common_rounds: 1\n  staggered_rounds: 1\n"


@pytest.fixture
def config(tmp_path: Path) -> str:
    (tmp_path / "small.yaml").write_text(SMALL)
    return str(tmp_path / "small.yaml")


def test_list_has_the_23_features_and_10_regimes(call) -> None:
    rows = call("features", "list", "--json").document

    families = [row["family"] for row in rows if row["set"] == "default"]
    assert sum(row["set"] == "relative" for row in rows) == 9
    assert families.count("technical") == 23
    assert families.count("regime") == 10
    assert all(row["unit"] and row["lookback_bars"] >= 1 and row["nan_policy"] for row in rows)
    assert f"{len(rows)} features" in call("features", "list").out


def test_relative_features_are_built_proved_and_shown_by_option(call, config: str) -> None:
    option = ("--features", "relative", "--json")

    built = call("features", "build", "regimes", *option).document
    call("features", "prove-causal", "regimes", "--config", config, *option)
    shown = call("features", "show", "regimes", *option).document

    assert built["manifest"]["shapes"]["features"][2] == 32
    assert shown["folder"] == built["folder"]
    assert any("residual_rank" in str(each) for each in shown["certificate"]["outputs"])


def test_build_stores_an_uncertified_panel_and_its_scaler(call, workspace: Path) -> None:
    document = call("features", "build", "regimes", "--json").document

    folder = Path(document["folder"])
    assert folder.parent == workspace / "panels"
    assert document["manifest"]["shapes"]["features"][2] == 23
    assert 0.5 < document["valid_frac"] <= 1.0
    assert any(document["scaler_sha256"][:16] in str(p) for p in (folder / "scalers").rglob("*"))
    with pytest.raises(UncertifiedPanelError):
        Panel.open(folder)


def test_build_over_a_damaged_panel_is_refused(call) -> None:
    tensors = Path(call("features", "build", "regimes", "--json").document["folder"])
    tensors /= "panel.safetensors"
    content = bytearray(tensors.read_bytes())
    content[-1] ^= 1
    tensors.write_bytes(bytes(content))

    answer = call("features", "build", "regimes")

    assert (answer.code, "panel must match its manifest" in answer.err) == (2, True)


def test_build_for_people_says_synthetic_and_what_is_next(call) -> None:
    answer = call("features", "build", "regimes")

    assert answer.code == 0
    assert "synthetic" in answer.out
    assert "features prove-causal regimes" in answer.err


def test_prove_causal_writes_a_certificate_that_opens_the_panel(
    call, workspace: Path, config: str
) -> None:
    answer = call("features", "prove-causal", "regimes", "--config", config, "--json")

    assert answer.code == 0
    assert answer.document["causal"] is True
    (folder,) = (workspace / "panels").glob("[!.]*")
    certificate = Panel.open(folder).certificate
    assert certificate is not None
    assert answer.document["certificate"]["panel_sha256"] == certificate.panel_sha256


def test_prove_causal_for_people_counts_what_was_compared(call, config: str) -> None:
    answer = call("features", "prove-causal", "planted", "--config", config)

    assert answer.code == 0
    assert "past values compared bit for bit" in answer.out


@pytest.fixture
def leak() -> Iterator[None]:
    """A registered subject that looks one bar ahead."""

    def peek(inputs: MarketInputs) -> dict[str, np.ndarray]:
        close = inputs.bars["close"]
        return {"next_close": np.vstack([close[1:], close[-1:]])}

    register_subject("peek", lambda context: ProofSubject("peek", peek))
    yield
    unregister_subject("peek")


def test_prove_causal_of_a_leak_leaves_with_1_and_no_certificate(
    call, workspace: Path, config: str, leak: None
) -> None:
    answer = call("features", "prove-causal", "regimes", "--config", config)

    assert answer.code == 1
    assert "leaks: peek" in answer.err
    assert "none: the panel stays locked" in answer.out.replace("\n", " ")
    (folder,) = (workspace / "panels").glob("[!.]*")
    with pytest.raises(UncertifiedPanelError):
        Panel.open(folder)


def test_prove_causal_of_a_leak_for_machines_names_it(call, config: str, leak: None) -> None:
    answer = call("features", "prove-causal", "regimes", "--config", config, "--json")

    assert (answer.code, answer.document["causal"]) == (1, False)
    assert answer.document["certificate"] is None
    leaking = [v for v in answer.document["report"]["verdicts"] if v["status"] == "leaks"]
    assert [verdict["subject"] for verdict in leaking] == ["peek"]
