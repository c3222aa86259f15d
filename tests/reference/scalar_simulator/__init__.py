"""The scalar market: the simulator for one account in plain numbers, without tensors.

It follows `docs/concepts/simulator.md` independently of the batched one. No files, no clocks, no
generators here.
"""

from reference.scalar_simulator.account import ScalarAccount, open_account
from reference.scalar_simulator.actions import ScalarDecision, scalar_mask
from reference.scalar_simulator.advance import ScalarAdvanced, ScalarBar, scalar_advance
from reference.scalar_simulator.fill import ScalarFill

__all__ = [
    "ScalarAccount",
    "ScalarAdvanced",
    "ScalarBar",
    "ScalarDecision",
    "ScalarFill",
    "open_account",
    "scalar_advance",
    "scalar_mask",
]
