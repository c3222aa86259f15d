"""`tradingbot demo`: what it refuses."""

from __future__ import annotations

from pathlib import Path

from tradingbot.app.cli.demo import with_market
from tradingbot.app.demo.story import has_no_signal
from tradingbot.configuration.files import load_config

SHORT = """
extends: quick
market:
  name: planted
  start: 2025-09-29
"""


def test_demo_too_short_is_refused_in_one_line(call, tmp_path: Path) -> None:
    (tmp_path / "short.yaml").write_text(SHORT)

    answer = call("demo", "--config", str(tmp_path / "short.yaml"))

    assert answer.code == 2
    assert answer.err.splitlines()[-1].startswith("error: ")
    assert "Traceback" not in answer.err


def test_noise_is_the_demonstrated_market_without_its_signal() -> None:
    shown = load_config("demo").config

    noise = with_market(shown, "noise")
    other = with_market(shown, "hidden_trend")

    assert (shown.market.name, has_no_signal(shown)) == ("planted_regimes", False)
    assert noise.market.params == {**shown.market.params, "kappa": 0.0}
    assert noise == shown.model_copy(update={"market": noise.market})
    assert (noise.market.name, has_no_signal(noise)) == ("planted_regimes", True)
    assert (other.market.name, other.market.params) == ("hidden_trend", {})
    assert with_market(load_config("quick").config, "noise").market.name == "noise"
