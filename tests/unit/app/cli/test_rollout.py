"""`tradingbot market rollout`: on stored panels, on generated markets, and what it refuses."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import polars as pl
import pytest

PROOF = """
extends: quick
proof:
  common_rounds: 1
  staggered_rounds: 1
"""


@pytest.fixture
def config(tmp_path: Path) -> str:
    (tmp_path / "proof.yaml").write_text(PROOF)
    return str(tmp_path / "proof.yaml")


def test_generated_market_is_rolled_out_with_its_oracle(call, tmp_path: Path) -> None:
    page = tmp_path / "page.html"

    answer = call(
        *("market", "rollout", "--market", "planted", "--set", "kappa=0.3", "--seed", "5"),
        *("--start", "2025-07-01", "--end", "2025-10-01", "--out", str(page), "--json"),
    )

    assert answer.code == 0
    document = answer.document
    assert document["synthetic"] is True
    assert "seed 5" in document["terms"]
    assert "costs alpaca (1.2 bp" in document["terms"]
    figures = {each["policy"]: each for each in document["statistics"]}
    assert list(figures) == ["random", "buy_and_hold", "expert", "oracle"]
    assert figures["oracle"]["total_return_frac"] > figures["buy_and_hold"]["total_return_frac"]
    assert figures["buy_and_hold"]["win_rate_frac"] is None
    for policy, returns in document["total_return_by_symbol"].items():
        mean = sum(returns.values()) / len(returns)
        assert mean == pytest.approx(figures[policy]["total_return_frac"])
        terms = document["reward_terms"][policy]
        assert sum(terms.values()) == pytest.approx(figures[policy]["reward"])
    html = page.read_text()
    assert "Everything on this page is synthetic" in html
    assert html.count("<figure>") == 5
    assert "color-scheme: light dark" in html
    assert "still open" in html


def test_table_says_data_period_costs_and_seed(call) -> None:
    answer = call(
        *("market", "rollout", "--market", "noise", "--policies", "expert,buy_and_hold"),
        *("--costs", "retail", "--reward", "log_growth", "--start", "2025-07-01", "--seed", "3"),
    )

    assert answer.code == 0
    said = " ".join(answer.out.split())
    assert "Policies side by side (synthetic, net of costs)" in said
    assert "synthetic market 'noise', seed 3, 2025-08-08 … 2025-10-01" in said
    assert "costs retail (15.0 bp" in said
    assert "Reward 'log_growth' per 1,000 bars" in said
    assert "random" not in said


def test_stored_panel_needs_its_certificate(call, config: str) -> None:
    locked = call("market", "rollout", "planted")
    assert call("features", "build", "planted", "--config", config).code == 0
    unproved = call("market", "rollout", "planted")
    assert call("features", "prove-causal", "planted", "--config", config).code == 0

    days = ("--start", "2025-08-15", "--end", "2025-09-12")
    answer = call("market", "rollout", "planted", *days, "--json")

    assert locked.code == unproved.code == 2
    assert "prove-causal" in unproved.err
    assert answer.code == 0
    assert answer.document["label"].endswith("2025-08-15 … 2025-09-12")
    assert [each["policy"] for each in answer.document["statistics"]][-1] == "oracle"
    outside = call("market", "rollout", "planted", "--start", "2026-01-01")
    assert outside.code == 2
    assert "days of a backtest must hold a bar, was 2026-01-01 … the last" in outside.err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "either a dataset or --market must be given"),
        (("planted", "--market", "noise"), "either a dataset or --market must be given"),
        (("planted", "--set", "kappa=0.1"), "--set must come with --market"),
        (("--market", "plantd"), "Did you mean 'planted'?"),
        (("--market", "noise", "--policies", "oracel"), "Did you mean 'oracle'?"),
        (("--market", "noise", "--policies", ""), "policy must be a known one, was ''"),
        (("--market", "noise", "--costs", "alpca"), "Did you mean 'alpaca'?"),
        (("--market", "noise", "--reward", "v32"), "Did you mean 'v31'?"),
        (("--market", "noise", "--set", "phi"), "--set must be NAME=VALUE"),
        (("--market", "noise", "--out", "page.pdf"), "--out must name an .html file"),
        (("--market", "noise", "--out", "/nowhere/page.html"), "folder that exists"),
        (("--market", "noise", "--start", "2025-09-20"), "they need 192 bars of a symbol"),
        (("absent",), "absent"),
    ],
)
def test_mistakes_are_answered_in_one_line(
    call, arguments: tuple[str, ...], complaint: str
) -> None:
    answer = call("market", "rollout", *arguments)

    assert answer.code == 2
    assert complaint in answer.err
    assert answer.err.splitlines()[-1].startswith("error: ")
    assert "Traceback" not in answer.err


def test_real_bars_are_rolled_out_without_an_oracle(
    call, config: str, real_data: Path, tmp_path: Path
) -> None:
    slice_of_it = (
        pl.scan_parquet(real_data / "us_hourly_2023_2025.parquet")
        .filter(
            pl.col("symbol").is_in(["AAPL", "MSFT", "NVDA"])
            & (pl.col("timestamp").dt.date() >= date(2025, 6, 2))
        )
        .collect()
    )
    slice_of_it.write_parquet(tmp_path / "slice.parquet")
    page = tmp_path / "page.html"
    assert call("data", "import", str(tmp_path / "slice.parquet"), "--name", "real").code == 0
    assert call("features", "build", "real", "--config", config).code == 0
    assert call("features", "prove-causal", "real", "--config", config).code == 0

    answer = call("market", "rollout", "real", "--out", str(page), "--json")
    asked = call("market", "rollout", "real", "--policies", "oracle")

    assert answer.code == 0
    assert answer.document["synthetic"] is False
    assert [each["policy"] for each in answer.document["statistics"]] == [
        "random",
        "buy_and_hold",
        "expert",
    ]
    assert "Observed bars, simulated trading" in page.read_text()
    assert asked.code == 2
    assert "must have a synthetic market: it reads the latent state" in asked.err
