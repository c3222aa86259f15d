from __future__ import annotations

import re
from dataclasses import replace

from fixtures.example_dossier import example_dossier, example_memo
from tradingbot.evaluation.dossier.analysis import StateActionMap
from tradingbot.evaluation.report.dossier_page import render_dossier


def test_label_that_rounds_to_the_one_before_is_not_written_again() -> None:
    dossier = example_dossier()
    assert dossier.policy is not None
    close = StateActionMap("own size", (0.0, 0.9991, 0.9996, 1.0), (0.4, 0.9, 0.9), (9, 9, 9))

    page = render_dossier(
        replace(dossier, policy=replace(dossier.policy, maps=(close,))), example_memo()
    )
    chart = page.split("Action by own size</h3>")[1].split("</svg>")[0]

    assert re.findall(r">(0|1)</text>", chart) == ["0", "1"]
