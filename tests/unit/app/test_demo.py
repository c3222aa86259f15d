"""The demo's steps and its page, on a market of ten symbols."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from fixtures.short_work import shortened_work
from tradingbot.app.cli.application import run
from tradingbot.app.demo import story as demo
from tradingbot.app.demo.page import render_demo
from tradingbot.app.demo.story import DemoResult, run_demo
from tradingbot.configuration.pipeline import (
    CostsConfig,
    MarketConfig,
    PipelineConfig,
    ProofConfig,
    ScalingConfig,
)
from tradingbot.data.sources.source import ignore_progress
from tradingbot.data.store import BarStore
from tradingbot.features.causality.prover import prove_every_bar
from tradingbot.features.pipeline import build_features
from tradingbot.training.config import EncoderSection
from tradingbot.training.config_files import load_train_config
from tradingbot.training.setup import env_config

CONFIG = PipelineConfig(
    market=MarketConfig(
        name="planted",
        universe="prototype10",
        start=date(2025, 4, 1),
        end=date(2025, 10, 1),
        params={"kappa": 0.1},
    ),
    proof=ProofConfig(common_rounds=1, staggered_rounds=1),
    scaling=ScalingConfig(kind="minmax", pooling="per_symbol"),
    costs=CostsConfig(slippage_frac=0.0005),
)
STEPS = [
    *("generate", "validate", "features", "prove causal"),
    *("stylised facts", "known answers", "train", "evaluate", "trade"),
]


def test_bars_that_a_process_streams_beside_are_proved_as_in_this_one(
    synthetic_store: BarStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = build_features(synthetic_store.open("regimes"), tmp_path)
    told: list[str] = []

    def waited(*_: object, every_bar: Callable[[], object], **__: object) -> object:
        return every_bar()

    with monkeypatch.context() as patch:
        patch.setattr(demo, "prove_features", waited)
        found = demo._prove(
            CONFIG, synthetic_store.root, built, 2, lambda _, __, words: told.append(words)
        )

    assert found == prove_every_bar(built.inputs, built.specs)
    assert "every bar" in told
    leak = replace(found[0], status="leaks")
    report, certificate = demo.prove_features(built, CONFIG, every_bar=lambda: (leak, *found[1:]))
    assert certificate is None
    assert leak in report.verdicts


@pytest.fixture(scope="module")
def announced() -> list[str]:
    return []


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory, announced: list[str]) -> DemoResult:
    def announce(step: str):
        announced.append(step)
        return ignore_progress

    folder = tmp_path_factory.mktemp("demo")
    with shortened_work():
        return run_demo(CONFIG, folder, announce, training="quick", evaluation="required")


def test_demo_announces_and_times_every_step(result: DemoResult, announced: list[str]) -> None:
    assert announced == STEPS
    assert list(result.seconds) == STEPS
    assert all(seconds > 0 for seconds in result.seconds.values())


def test_scaling_and_costs_of_the_demonstration_reach_its_training(result: DemoResult) -> None:
    assert result.training is not None
    config = result.training.config

    assert config.scaling == CONFIG.scaling
    assert result.scaler.kind == "minmax"
    assert env_config(config).costs.slippage_frac == 0.0005
    assert result.training.run.record.data.normaliser_sha256 is not None
    usual = demo.training_options(PipelineConfig(), load_train_config("quick"))
    assert not [key for key in usual if key.startswith("task.")]  # the same as before


def test_demo_result_hangs_together(result: DemoResult) -> None:
    manifest = result.dataset.manifest
    assert manifest.provenance.synthetic
    assert result.quality.ready
    assert result.built.panel.manifest.dataset_sha256 == manifest.content_sha256
    assert result.proof.is_causal
    assert result.certificate is not None
    assert result.certificate.dataset_sha256 == manifest.content_sha256
    assert result.scaler.train_last == result.split.train.stop - 1
    costs = CONFIG.costs
    expected = costs.commission_frac + costs.slippage_frac
    assert result.oracles[0].terms.cost_frac == pytest.approx(expected)


def test_page_of_a_market_without_regimes_has_every_section(result: DemoResult) -> None:
    html = render_demo(result)

    titles = re.findall(r"<h2>(\d) · ([^<]+?)\s*<?", html)
    assert [number for number, _ in titles] == list("12345678")
    assert html.count("<figure>") == 9
    assert result.evaluation is not None
    assert f'<span class="word">{result.evaluation.memo.verdict}</span>' in html
    assert result.dataset.id in html


def test_page_says_whether_agents_see_through_a_pretrained_encoder(result: DemoResult) -> None:
    assert result.training is not None
    assert "pre-trained" not in render_demo(result)  # this preset shows features as they are
    encoder = EncoderSection(preset="skip")
    seen = result.training.config.model_copy(update={"encoder": encoder})
    other = replace(result, training=replace(result.training, config=seen))

    assert "encoder “skip”, which was pre-trained on the training part" in render_demo(other)


def test_demo_trains_on_its_own_market_and_judges_the_run(result: DemoResult) -> None:
    training, evaluation = result.training, result.evaluation
    assert training is not None
    assert evaluation is not None
    assert training.run.record.data.dataset_sha256 == result.dataset.manifest.content_sha256
    assert evaluation.dossier.header.run == training.run.id
    assert evaluation.dossier.header.synthetic
    assert evaluation.memo.verdict in ("NO-GO", "CONDITIONAL")  # what is required is not measured
    assert evaluation.page.is_file()


def test_leaking_panel_is_not_trained_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, result: DemoResult
) -> None:
    monkeypatch.setattr(demo, "prove_features", lambda *_, **__: (result.proof, None))
    monkeypatch.setattr(demo, "answer_all", lambda **_: result.oracles)

    leaking = run_demo(CONFIG, tmp_path, lambda _: ignore_progress)

    assert leaking.training is leaking.evaluation is None
    assert "train" not in leaking.seconds
    assert "no agent may look at it" in render_demo(leaking)


def test_page_of_a_leaking_panel_says_so(result: DemoResult) -> None:
    html = render_demo(replace(result, certificate=None))

    assert '<span class="badge bad">leaks</span>' in html
    assert "Certificate: none." in html
    assert '<span class="badge good">proved</span>' not in html


def test_demo_without_a_certificate_leaves_with_1(
    tmp_path: Path,
    result: DemoResult,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(demo, "run_demo", lambda *_, **__: replace(result, certificate=None))

    code = run(["--workspace", str(tmp_path), "demo", "--config", "quick", "--json"])

    document = json.loads(capsys.readouterr().out)
    assert code == 1
    assert document["certificate_sha256"] is None
    assert Path(document["page"]).is_file()
