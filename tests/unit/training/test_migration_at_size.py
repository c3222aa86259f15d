"""Migration of runs that were trained in earnest: what codes earned is kept by numbers."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tradingbot.training.run_migration import migrate_run
from tradingbot.training.session import begin_run
from tradingbot_benchmarks.recovery.cell import Cell, cell_config


@pytest.mark.slow
def test_validation_keeps_nine_tenths_of_what_codes_earned(tmp_path: Path) -> None:
    """Four agents of their own, PPO, paid the growth of their accounts; two markets and seeds."""
    before, after = 0.0, 0.0
    for seed in (1, 2):
        config = cell_config(Cell("planted", "log_growth", seed))
        begin_run(config, tmp_path, name=f"codes-{seed}")
        made = migrate_run(f"codes-{seed}", tmp_path, at=datetime.now(UTC))
        before += made.cost.discrete_bp.estimate
        after += made.cost.continuous_bp.estimate
        assert made.proof.hidden_is_equal
        assert made.cost.difference_bp.high > 0.0

    assert before > 0.0
    assert after > 0.9 * before
