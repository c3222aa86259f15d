"""`tradingbot market list | oracle | facts`."""

from __future__ import annotations

import pytest

from tradingbot.data.synthetic.registry import known_markets


def test_list_has_every_market_with_its_defaults(call) -> None:
    rows = call("market", "list", "--json").document

    names = {row["name"] for row in rows}
    assert names == {spec.name for spec in known_markets()}
    assert {"regimes", "planted", "opposed", "hidden_trend", "cost_trap", "noise"} <= names
    planted = next(row for row in rows if row["name"] == "planted")
    assert {"kappa", "phi"} <= set(planted["defaults"])
    assert "kappa=" in call("market", "list").out.replace("\n", "")


def test_oracle_of_a_dataset_takes_cost_and_rule(call) -> None:
    (cheap,) = call("market", "oracle", "planted", "--cost-bps", "0", "--json").document
    (dear,) = call(
        "market", "oracle", "planted", "--cost-bps", "5", "--rule", "long_short", "--json"
    ).document

    assert cheap["terms"] == {**cheap["terms"], "cost_frac": 0.0, "action_rule": "long_only"}
    assert dear["terms"]["cost_frac"] == pytest.approx(5e-4)
    assert dear["terms"]["action_rule"] == "long_short"
    assert cheap["label"] == "synthetic"


def test_oracle_table_says_synthetic_and_its_terms(call) -> None:
    answer = call("market", "oracle", "hidden", "--cost-bps", "2")

    assert answer.code == 0
    assert "Oracles (synthetic, cost 2 bp, long_only)" in answer.out
    assert "attainable" in answer.out
    assert "omniscient" in answer.out


def test_facts_stand_side_by_side_and_say_which_is_synthetic(call) -> None:
    answer = call("market", "facts", "regimes", "planted")
    document = call("market", "facts", "regimes", "planted", "--json").document

    assert "regimes (synthetic)" in answer.out
    assert list(document) == ["regimes", "planted"]
    volatility = document["planted"]["annual_volatility"]
    assert volatility["low"] <= volatility["median"] <= volatility["high"]
    assert f"{volatility['median']:.3g}" in answer.out
