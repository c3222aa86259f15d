"""Every registered feature keeps what its spec promises; a new one is tested by being there."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from pathlib import Path

import numpy as np
import pytest

from fixtures.feature_markets import bars_of, closes_of, inputs_of, with_sentiment
from tradingbot.features.compute import compute_features
from tradingbot.features.inputs import BAR_FIELDS, MarketInputs
from tradingbot.features.registry import registered_features
from tradingbot.features.spec import FeatureSpec

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "features.md"
SPECS = tuple(registered_features().values())
EACH = pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.id)
LENGTH = 260


@pytest.fixture(scope="module", params=["random", "trending", "stepped"])
def inputs(request: pytest.FixtureRequest) -> MarketInputs:
    return with_sentiment(inputs_of(bars_of(closes_of(request.param, LENGTH, 4))))


@pytest.fixture(scope="module")
def features(inputs: MarketInputs) -> dict[str, dict[str, np.ndarray]]:
    return {
        "raw": compute_features(inputs, SPECS, form="raw"),
        "network": compute_features(inputs, SPECS),
    }


@EACH
def test_feature_is_undefined_in_its_warm_up_and_nowhere_else(
    spec: FeatureSpec, features: dict[str, dict[str, np.ndarray]]
) -> None:
    for form, node in (("raw", spec.raw), ("network", spec.network)):
        values = features[form][spec.name]
        assert values.shape == (LENGTH, 4)
        assert values.dtype == np.float64
        assert np.isnan(values[: node.warm_up_bars]).all(), form
        assert np.isfinite(values[node.warm_up_bars :]).all(), form


@EACH
def test_feature_stays_in_its_range(
    spec: FeatureSpec, features: dict[str, dict[str, np.ndarray]]
) -> None:
    low, high = spec.network_range

    values = features["network"][spec.name]

    assert np.nanmin(values) >= low
    assert np.nanmax(values) <= high


@EACH
def test_feature_alone_equals_feature_among_others(
    spec: FeatureSpec, inputs: MarketInputs, features: dict[str, dict[str, np.ndarray]]
) -> None:
    alone = compute_features(inputs, [spec])[spec.name]

    np.testing.assert_array_equal(alone, features["network"][spec.name])


@pytest.mark.parametrize(
    "spec", [spec for spec in SPECS if spec.network.finite_memory], ids=lambda spec: spec.id
)
def test_feature_with_finite_memory_needs_its_lookback_only(
    spec: FeatureSpec, inputs: MarketInputs, features: dict[str, dict[str, np.ndarray]]
) -> None:
    last = slice(LENGTH - spec.network.warm_up_bars - 1, LENGTH)
    tail = replace(
        inputs,
        closed_at=inputs.closed_at[last],
        present=inputs.present[last],
        bars={name: values[last] for name, values in inputs.bars.items()},
    )

    of_tail = compute_features(tail, [spec])[spec.name]

    np.testing.assert_array_equal(of_tail[-1], features["network"][spec.name][-1])


@EACH
def test_feature_does_not_depend_on_inputs_it_does_not_name(
    spec: FeatureSpec, inputs: MarketInputs, features: dict[str, dict[str, np.ndarray]]
) -> None:
    others = set(BAR_FIELDS) - set(spec.inputs)
    bars = {n: np.full_like(x, np.nan) if n in others else x for n, x in inputs.bars.items()}

    values = compute_features(replace(inputs, bars=bars), [spec])[spec.name]

    np.testing.assert_array_equal(values, features["network"][spec.name])


@EACH
def test_feature_is_described(spec: FeatureSpec) -> None:
    assert spec.unit
    assert spec.formula
    assert spec.network_formula
    assert spec.nan_policy
    assert spec.description
    assert spec.inputs
    assert spec.id == f"{spec.name}-v{spec.version}"


def bound(value: float) -> str:
    return {inf: "∞", -inf: "−∞"}.get(value, f"{value:.4g}".replace("-", "−"))


def table_row(spec: FeatureSpec) -> str:
    """The row of the reference page that belongs to a spec."""
    memory = "" if spec.finite_memory else " + all before"
    low, high = spec.network_range
    cells = [
        f"`{spec.name}`",
        spec.unit,
        spec.formula.replace("|", "\\|"),
        spec.network_formula.replace("|", "\\|"),
        f"{spec.lookback_bars}{memory}",
        spec.nan_policy,
        f"{bound(low)} … {bound(high)}",
    ]
    return f"| {' | '.join(cells)} |"


def test_reference_page_lists_every_feature_as_registered() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:3] == "| `"]

    assert rows == [table_row(spec) for spec in SPECS]
