"""`tradingbot universe list | show`."""

from __future__ import annotations

from pathlib import Path


def test_list_has_the_three_universes(call) -> None:
    rows = {row["name"]: row for row in call("universe", "list", "--json").document}

    assert {name: rows[name]["symbols"] for name in ("us143", "prototype10", "crypto12")} == {
        "us143": 143,
        "prototype10": 10,
        "crypto12": 12,
    }
    assert rows["crypto12"]["calendar"] == "24/7"
    assert "survivorship bias" in call("universe", "list").err


def test_show_on_a_day_leaves_out_who_was_not_there(call, tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(
        "symbol,kind,sector,joined_on,left_on\n"
        "AAA,stock,x,,\nBBB,stock,x,2024-01-01,\nCCC,stock,x,,2023-06-30\n"
    )

    everyone = call("universe", "show", str(file), "--json").document
    early = call("universe", "show", str(file), "--as-of", "2023-01-01", "--json").document
    late = call("universe", "show", str(file), "--as-of", "2024-06-28", "--json").document

    def symbols(document: dict) -> list[str]:
        return [member["symbol"] for member in document["members"]]

    assert symbols(everyone) == ["AAA", "BBB", "CCC"]
    assert symbols(early) == ["AAA", "CCC"]
    assert symbols(late) == ["AAA", "BBB"]


def test_show_for_people_counts_members_and_warns(call) -> None:
    answer = call("universe", "show", "prototype10", "--as-of", "2024-06-28")

    assert "10 members on 2024-06-28" in answer.out
    assert "survivorship bias" in answer.err
