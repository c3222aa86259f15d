"""Certificates: issued only for proved reports, refused when anything is not as it should be."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import ValidationError

from tradingbot.domain.errors import UncertifiedPanelError
from tradingbot.features import scaling
from tradingbot.features.causality import certificate as certificate_module
from tradingbot.features.causality.certificate import (
    PANEL_SUBJECTS,
    Certificate,
    PanelIdentity,
    issue_certificate,
    require_certificate,
    write_certificate,
)
from tradingbot.features.causality.subject import CausalityReport, ProofVerdict

IDENTITY = PanelIdentity(dataset_sha256="d" * 64, spec_sha256="s" * 64, panel_sha256="p" * 64)


def verdict(subject: str) -> ProofVerdict:
    return ProofVerdict(subject, "value", "symbol", 0, "causal", comparisons=10, differing=0)


def make_report(*subjects: str) -> CausalityReport:
    return CausalityReport(
        verdicts=tuple(verdict(subject) for subject in subjects),
        common_cuts=(5, 9),
        staggered_cuts=((1, 2), (3, 4)),
        perturbations=("change",),
        seed=0,
        recomputations=4,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_certificate(tmp_path, issue_certificate(make_report(*PANEL_SUBJECTS), IDENTITY))
    return tmp_path


def test_certificate_comes_back_as_it_was_issued(folder: Path) -> None:
    certificate = require_certificate(folder, "d" * 64, "s" * 64)

    assert certificate == issue_certificate(make_report(*PANEL_SUBJECTS), IDENTITY)
    assert certificate.comparisons == 10 * len(PANEL_SUBJECTS)
    assert certificate.staggered_cuts == ((1, 2), (3, 4))
    assert certificate.staggered_pairs == make_report().staggered_pairs == 4
    with pytest.raises(ValidationError):
        certificate.seed = 1  # type: ignore[misc]


@pytest.mark.parametrize("status", ["leaks", "unproved"])
def test_report_with_a_failure_is_not_certified(status: str) -> None:
    bad = replace(verdict("features"), output="rsi_14", status=status, reason="because")
    report = replace(make_report(), verdicts=(verdict("scaling"), bad))

    with pytest.raises(UncertifiedPanelError, match="rsi_14: because"):
        issue_certificate(report, IDENTITY)


def test_empty_report_is_not_certified() -> None:
    with pytest.raises(UncertifiedPanelError, match="nothing examined"):
        issue_certificate(make_report(), IDENTITY)


def refusal(folder: Path, dataset: str = "d" * 64, spec: str = "s" * 64, **options) -> str:
    with pytest.raises(UncertifiedPanelError) as caught:
        require_certificate(folder, dataset, spec, **options)
    message = str(caught.value)
    assert "Run: tradingbot features prove-causal." in message
    assert "\n" not in message
    return message


def test_missing_certificate_is_refused(tmp_path: Path) -> None:
    assert "must have a causality certificate" in refusal(tmp_path)


def test_certificate_for_other_content_is_refused(folder: Path) -> None:
    assert "for this dataset" in refusal(folder, dataset="e" * 64)
    assert "for these features" in refusal(folder, spec="t" * 64)


def test_certificate_that_lacks_a_subject_is_refused(tmp_path: Path, folder: Path) -> None:
    assert "must cover probabilities" in refusal(folder, subjects=["features", "probabilities"])
    write_certificate(tmp_path, issue_certificate(make_report("features"), IDENTITY))
    assert "must cover scaling" in refusal(tmp_path)


@pytest.mark.parametrize("n_symbols", [None, 2, 143])
def test_certificate_without_staggered_rounds_is_refused(tmp_path: Path, n_symbols) -> None:
    report = replace(make_report(*PANEL_SUBJECTS), staggered_cuts=())
    write_certificate(tmp_path, issue_certificate(report, IDENTITY))

    message = refusal(tmp_path, n_symbols=n_symbols)

    assert "cut each symbol at rows of its own" in message
    assert "Set proof.staggered_rounds to 1 or more" in message


def test_certificate_of_one_symbol_needs_no_staggered_round(tmp_path: Path) -> None:
    report = replace(make_report(*PANEL_SUBJECTS), staggered_cuts=())
    write_certificate(tmp_path, issue_certificate(report, IDENTITY))

    assert require_certificate(tmp_path, "d" * 64, "s" * 64, n_symbols=1).staggered_pairs == 0


@pytest.mark.parametrize(
    ("field", "value"),
    [("dataset_sha256", "e" * 64), ("seed", 5), ("comparisons", 10**9), ("common_cuts", [1])],
)
def test_edited_certificate_is_refused(folder: Path, field: str, value: object) -> None:
    path = folder / "certificate.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, field: value}))

    assert "as it was issued" in refusal(folder, dataset="e" * 64)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"version": 2}', "\xff"])
def test_unreadable_certificate_is_refused(folder: Path, text: str) -> None:
    (folder / "certificate.json").write_text(text, encoding="latin-1")

    assert "must be readable" in refusal(folder)


def test_certificate_of_another_program_version_is_refused(folder: Path) -> None:
    path = folder / "certificate.json"
    old = Certificate.model_validate_json(path.read_text()).model_copy(
        update={"code_version": "0.0.0"}
    )
    write_certificate(folder, old.sealed())

    assert "must be of version" in refusal(folder)


def test_certificate_of_other_scaler_code_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proof made before the scaler's code changed says nothing of the new one."""
    monkeypatch.setattr(certificate_module, "scaler_code_sha256", lambda: "e" * 64)

    said = refusal(folder)

    assert "certificate must be for scalers of code eeeeeeeeeeeeeeee, was code" in said
    assert "prove-causal" in said


def test_certificate_of_version_1_is_refused_by_name(folder: Path) -> None:
    path = folder / "certificate.json"
    content = json.loads(path.read_text())
    old = {name: value for name, value in content.items() if not name.startswith("scaler_")}
    path.write_text(json.dumps({**old, "version": 1}))

    assert "must name the code of the scaler, was version 1" in refusal(folder)


def test_hash_of_scaler_code_is_of_what_it_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Path(scaling.__file__).read_text()
    found = []
    for text in (
        source,
        source.replace('"""Fit on training rows', '"""Fit on some rows'),
        source + "\n# a remark\n",
        source.replace("[25, 50, 75]", "[24, 50, 76]"),
    ):
        copy = tmp_path / "scaling.py"
        copy.write_text(text)
        monkeypatch.setattr(scaling, "__file__", str(copy))
        scaling.scaler_code_sha256.cache_clear()
        found.append(scaling.scaler_code_sha256())
    monkeypatch.undo()
    scaling.scaler_code_sha256.cache_clear()

    assert found[0] == found[1] == found[2] == scaling.scaler_code_sha256()
    assert found[3] != found[0]
