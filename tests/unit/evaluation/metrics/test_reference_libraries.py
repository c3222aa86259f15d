"""Metrics beside quantstats and empyrical, on ordinary, degenerate and observed series.

What the libraries say was recorded by tests/fixtures/record_reference_figures.py, with versions.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from fixtures import return_series
from tradingbot.domain.errors import DataError
from tradingbot.evaluation.metrics import registry
from tradingbot.evaluation.statistics import bootstrap, superior

RECORDED = json.loads(
    (Path(return_series.__file__).parent / "reference_figures.json").read_text(encoding="utf-8")
)
# Where the libraries differ from us on purpose: (series, figure) → what we say.
OURS = {
    **{("empty", name): math.nan for name in ("total_return", "hit_rate", "profit_factor")},
    ("one", "profit_factor"): math.nan,
    ("zeros", "hit_rate"): math.nan,
    ("zeros", "profit_factor"): math.nan,
    **{("constant", name): math.nan for name in ("sharpe", "sortino", "profit_factor")},
    **{("all_wins", name): math.nan for name in ("sortino", "profit_factor")},
    **{("one_move", name): math.nan for name in ("sortino", "profit_factor")},
}


def measured(returns: np.ndarray, reference: np.ndarray | None) -> dict[str, float]:
    return registry.measure(
        registry.PerformanceSeries(
            returns, RECORDED["bars_per_year"], reference=reference, trade_pnl=returns
        )
    )


def compare(group: str, name: str, ours: dict[str, float], *, relative: float = 1e-9) -> int:
    """Compare with every recorded figure that is a number or NaN; count them."""
    compared = 0
    for library, figures in RECORDED[group][name].items():
        for figure, theirs in figures.items():
            if isinstance(theirs, str) and theirs not in ("nan", "inf", "-inf"):
                continue  # the library raised
            expected = OURS.get((name, figure), float(theirs))
            assert ours[figure] == pytest.approx(expected, rel=relative, abs=1e-14, nan_ok=True), (
                f"{figure} of {name}, {library}"
            )
            compared += 1
    return compared


@pytest.mark.parametrize("name", return_series.ordinary_series())
def test_ordinary_series_has_the_figures_of_both_libraries(name: str) -> None:
    series = return_series.ordinary_series()
    reference = series["normal"] if len(series[name]) == len(series["normal"]) else None

    assert compare("ordinary", name, measured(series[name], reference)) >= 17


@pytest.mark.parametrize(
    "name", [name for name in return_series.degenerate_series() if name not in ("tiny", "huge")]
)
def test_degenerate_series_has_their_figures_or_a_stated_nan(name: str) -> None:
    ours = measured(return_series.degenerate_series()[name], None)

    assert compare("degenerate", name, ours) >= 10
    assert not any(math.isinf(figure) for figure in ours.values())


def test_tiny_series_has_the_figures_of_the_same_series_scaled_up() -> None:
    tiny = return_series.degenerate_series()["tiny"]
    ours, scaled = measured(tiny, None), measured(tiny * 1e157, None)

    for name in ("sharpe", "sortino", "profit_factor", "hit_rate"):
        assert ours[name] == pytest.approx(scaled[name], rel=1e-9)


def test_huge_series_is_refused_for_its_unit() -> None:
    with pytest.raises(DataError, match="Check the unit"):
        measured(return_series.degenerate_series()["huge"] * 1e12, None)


@pytest.fixture(scope="module")
def observed(real_data: Path) -> dict[str, np.ndarray]:
    return return_series.observed_series(real_data)


@pytest.mark.parametrize("name", ["SPY", "NVDA", "equal_weight"])
def test_observed_series_has_the_figures_of_both_libraries(
    observed: dict[str, np.ndarray], name: str
) -> None:
    ours = measured(observed[name], observed["SPY"])

    assert compare("observed", name, ours) == 20


def test_observed_index_has_the_published_figures(observed: dict[str, np.ndarray]) -> None:
    spy = measured(observed["SPY"], None)

    assert spy["sharpe"] == pytest.approx(2.06, abs=0.03)
    assert spy["total_return"] == pytest.approx(0.371, abs=0.005)


@pytest.mark.parametrize("name", RECORDED["block_bars"])
def test_block_lengths_are_those_of_arch(name: str) -> None:
    series = return_series.ordinary_series()[name]
    for kind in ("stationary", "circular"):
        length = bootstrap.automatic_block_bars(series, kind=kind)
        assert length == pytest.approx(RECORDED["block_bars"][name][kind], rel=1e-9)


@pytest.mark.parametrize(("name", "gain"), [("null", 0.0), ("close", 0.17)])
def test_superior_ability_has_the_p_values_of_arch(name: str, gain: float) -> None:
    generator = np.random.Generator(np.random.PCG64(123))
    baseline, models = generator.standard_normal(500), generator.standard_normal((500, 20))
    losses = models - gain * (np.arange(20) == 3)
    ours = superior.superior_ability(
        -losses, -baseline, block_bars=10, n_draws=5_000, studentise=False
    )

    for kind, theirs in RECORDED["superior"][name].items():
        # They have 10,000 draws and we 5,000: three standard errors of the difference.
        allowed = 3.0 * math.sqrt(max(theirs * (1.0 - theirs), 1e-3) * (1e-4 + 2e-4))
        assert getattr(ours, f"p_{kind}") == pytest.approx(theirs, abs=allowed)
