"""Reads `dossier.json` of format 1, which had no format number, and of formats 2 to 12.

There the net return of the agents had a second interval, by Newey and West's error, beside the one
of the stationary bootstrap. The latter is the interval of a policy; the former is dropped. Agents
had no count of steps with a trade. Before format 3 nothing said what an action means, nor
how each auxiliary task did; before format 4 the policy had no maps over two inputs, and
rewards were not analysed; before format 5 stages of a curriculum were not told; before format 6 net
returns were not taken apart, and statistics judged the portfolio's net return; before format 7
break-even costs, regimes and placebos judged the net return; before format 8 nothing told of the
use of options, nor of the Sharpe ratio of alpha; before format 9 no actions were drawn; before
format 10 there was no tear sheet; before format 11 no portfolio was evaluated; before format
12 a master was compared with its fixed allocation by the return a year alone; before format 13
charts of prices had two marks for each trade, at the mean prices of its entry and its exit, and the
return of a trade was on all that it ever bought.
"""

from __future__ import annotations

from typing import Any

from tradingbot.evaluation.dossier.dossier import DOSSIER_FORMAT
from tradingbot.evaluation.performance.record import add_missing_parts

_ADDED: dict[str, dict[str, Any]] = {
    "header": {"actions": ""},
    "training": {"auxiliary_tasks": [], "curriculum_stages_passed": None},
    "policy": {
        "value_edges": [],
        "planes": [],
        "unavailable": [],
        "attention_features": [],
        "attention_map": [],
        "options": None,
        "sampled": None,
    },
    "statistics": {
        "judged": "",
        "sharpe_annual": None,
        "net_sharpe_per_bar": "nan",
        "net_probabilistic_sharpe": "nan",
        "effective_bars": None,
    },
    "walk_forward": {"sharpe_annual": None, "alpha_bps": None},
    "sensitivity": {"judged": "net return"},
    "seeds": {"alpha_bps_iqm": None},
    "allocation": {"over_fixed_bps": None, "fixed_alpha_bps": None},
}
"""Fields that formats before this one lack, and what they are there."""
_ADDED_TO_ROWS: dict[tuple[str, str], dict[str, Any]] = {
    ("walk_forward", "windows"): {"alpha_bps_per_bar": "nan"},
    ("sensitivity", "rows"): {"alpha_bps_per_bar": None},
    ("seeds", "rows"): {"alpha_bps_per_bar": "nan"},
    ("regimes", "rows"): {
        "market_bps_per_bar": "nan",
        "timing_bps_per_bar": "nan",
        "alpha_bps_per_bar": None,
        "n_trades": 0,
        "win_rate_frac": "nan",
        "mean_trade_bars": "nan",
    },
}
"""The same of the rows of an analysis."""
_SECOND_INTERVALS = ("edge_hac_bps", "excess_hac_bps")


def upgraded(values: Any) -> Any:
    """Return the content of a dossier as this version has it; anything else as it is."""
    if not isinstance(values, dict) or values.get("format", 1) not in range(1, DOSSIER_FORMAT):
        return values
    upgrade = {
        "rewards": None,
        "workers_lost": 0,
        "tear_sheet": None,
        "allocation": None,
        **values,
        "format": DOSSIER_FORMAT,
    }
    for part, added in _ADDED.items():
        if isinstance(values.get(part), dict):
            upgrade[part] = added | values[part]
    for (part, name), added in _ADDED_TO_ROWS.items():
        if isinstance(values.get(part), dict) and isinstance(values[part].get(name), list):
            rows = [added | row if isinstance(row, dict) else row for row in values[part][name]]
            upgrade[part] = {**upgrade[part], name: rows}
    if isinstance(values.get("parts"), list):
        upgrade["parts"] = [add_missing_parts(part) for part in values["parts"]]
    upgrade["tear_sheet"] = _tear_sheet(upgrade["tear_sheet"])
    if "format" in values:
        return upgrade
    if isinstance(values.get("statistics"), dict):
        upgrade["statistics"] = {
            name: value
            for name, value in upgrade["statistics"].items()
            if name not in _SECOND_INTERVALS
        }
    if isinstance(values.get("parts"), list):
        upgrade["parts"] = [_part(part) for part in upgrade["parts"]]
    return upgrade


def _tear_sheet(sheet: Any) -> Any:
    """Add what marks and trades lack; a return on all that was ever bought is not kept."""
    if not isinstance(sheet, dict):
        return sheet
    found = dict(sheet)
    trades = sheet.get("trades")
    if isinstance(trades, dict):
        changed = {"committed_ccy": "nan", "return_frac": "nan"}
        found["trades"] = {**trades, "rows": _changed(trades.get("rows"), changed)}
    if isinstance(sheet.get("prices"), list):
        added = {"part": "", "units": "nan"}
        found["prices"] = [
            {"n_fills": 0, **price, "marks": _changed(price.get("marks"), added)}
            if isinstance(price, dict)
            else price
            for price in sheet["prices"]
        ]
    return found


def _changed(rows: Any, fields: dict[str, Any]) -> Any:
    if not isinstance(rows, list):
        return rows
    return [{**row, **fields} if isinstance(row, dict) else row for row in rows]


def _part(part: Any) -> Any:
    if not isinstance(part, dict) or not isinstance(part.get("agents"), list):
        return part
    added = {"trades_per_1000": "nan"}
    agents = [added | row if isinstance(row, dict) else row for row in part["agents"]]
    return {**part, "agents": agents}
