"""The rooms whose tests are judged, the tests that judge them, and changes that change nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "tradingbot"


@dataclass(frozen=True)
class Room:
    """A folder of code and the tests that are for it."""

    name: str
    source: Path
    tests: tuple[str, ...]


def _room(name: str, *tests: str) -> Room:
    return Room(name, PACKAGE / name, (f"tests/unit/{name}", *tests))


ROOMS = {
    room.name: room
    for room in (
        _room(
            "risk", "tests/property/test_relations.py", "tests/regression/test_simulator_pins.py"
        ),
        _room(
            "market",
            "tests/parity/test_native_batch.py",
            "tests/parity/test_native_lanes.py",
            "tests/parity/test_native_step.py",
            "tests/parity/test_position_vs_ledger.py",
            "tests/parity/test_scalar_parts_vs_batch.py",
            "tests/parity/test_scalar_vs_batch.py",
            "tests/parity/test_single_vs_batch.py",
            "tests/property/test_accounting.py",
            "tests/property/test_relations.py",
            "tests/regression/test_simulator_pins.py",
            "tests/episode_ends",
            "tests/unit/envs/curriculum/test_difficulty.py",
            "tests/unit/envs/curriculum/test_stages.py",
        ),
        _room(
            "runs",
            "tests/property/test_checkpoint.py",
            "tests/unit/app/cli/test_runs.py",
            "tests/unit/evaluation/analyses/test_evaluated_run.py",
            "tests/unit/training/test_checkpoint_writer.py",
            "tests/unit/training/test_killed_conclusion.py",
            "tests/unit/training/test_trial_ledger.py",
        ),
        _room("evaluation/statistics", "tests/property/test_statistics.py"),
    )
}

_NOTHING = "an order of nothing is never denied"
_CLOSES = "an order that leaves nothing only reduces, and those are not judged by this rule"
_SIGN = "only the sign is read, and where nothing is held the other condition decides"

EQUIVALENT = {
    "risk/order_rules.py::check_short: view.after < 0.0 → (view.after <= 0.0)": _CLOSES,
    "risk/order_rules.py::check_position: abs(view.after) > abs(view.units) → "
    "(abs(view.after) >= abs(view.units))": "a position of the same size is no order, or turned",
    "risk/order_rules.py::check_position: namespace_of(view.mark).sign(view.after) * view.units → "
    "(namespace_of(view.mark).sign(view.after) / view.units)": _SIGN,
    "risk/order_rules.py::check_cash_reserve: view.order > 0.0 → (view.order >= 0.0)": _NOTHING,
    "risk/rule.py::OrderView.reduces: namespace_of(self.order).sign(self.order) * self.units → "
    "(namespace_of(self.order).sign(self.order) / self.units)": _SIGN,
    "risk/rule.py::OrderView.reduces: namespace_of(self.order).sign(self.order) * self.units < 0.0 "
    "→ (namespace_of(self.order).sign(self.order) * self.units <= 0.0)": _NOTHING,
}
"""`file::function: change` → why no test can tell it from the code."""
