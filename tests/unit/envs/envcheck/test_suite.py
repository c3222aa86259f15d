"""Running the suite: what it does with what it cannot know, what breaks, and what it prints."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import pytest

from tradingbot.domain.errors import UserError
from tradingbot.envs.envcheck import CHECKS, CheckVerdict, run_checks
from tradingbot.envs.envcheck.bars import dictate, flat, gap
from tradingbot.envs.envcheck.reference import ReferenceEnv, reference_probe
from tradingbot.envs.envcheck.scorecard import comparison_text


class Crashes(ReferenceEnv):
    def step(self, action: Any) -> Any:
        if self.bar > 4:
            raise IndexError("row 5 is not there")
        return super().step(action)


class Chatters(ReferenceEnv):
    def step(self, action: Any) -> Any:
        print("step")  # noqa: T201
        warnings.warn("look out", stacklevel=2)
        return super().step(action)


def make_reference() -> ReferenceEnv:
    return ReferenceEnv(dictate(gap(20)))


def test_honest_probe_passes_everything() -> None:
    card = run_checks(reference_probe())

    assert card.failed == ()
    assert card.count(CheckVerdict.PASS) == len(CHECKS)
    assert [finding.check for finding in card.findings] == [check.id for check in CHECKS]


def test_environment_without_probe_is_judged_only_where_prices_do_not_matter() -> None:
    card = run_checks(make_reference)

    for check, finding in zip(CHECKS, card.findings, strict=True):
        wanted = CheckVerdict.UNTESTABLE if check.needs_dictation else CheckVerdict.PASS
        assert finding.verdict is wanted, finding
        assert ("write a probe" in finding.says) is check.needs_dictation
    assert card.environment == "make_reference"


def test_action_space_without_a_nan_is_not_judged_by_one() -> None:
    class Switches(ReferenceEnv):
        def __init__(self) -> None:
            super().__init__(dictate(gap(20)))
            self.action_space = gymnasium.spaces.MultiBinary(1)

        def step(self, action: Any) -> Any:
            return super().step(float(action[0]))

    card = run_checks(Switches)

    (finding,) = [each for each in card.findings if each.check == "nan_action_is_safe"]
    assert finding.verdict is CheckVerdict.UNTESTABLE
    assert "MultiBinary" in finding.says


def test_factory_of_a_faulty_environment_fails_without_a_probe() -> None:
    class Forgetful(ReferenceEnv):
        def reset(self, **options: Any) -> Any:
            observation, info = super().reset(**options)
            return observation + np.float32(getattr(self, "episodes", 0)), info

        def step(self, action: Any) -> Any:
            self.episodes = 1
            return super().step(action)

    card = run_checks(lambda: Forgetful(dictate(flat())))

    assert card.verdict_of("no_bleeding_between_episodes") is CheckVerdict.FAIL


def test_environment_that_raises_on_a_lawful_action_fails() -> None:
    card = run_checks(reference_probe(Crashes))

    finding = next(f for f in card.findings if f.check == "equity_identity")
    assert finding.verdict is CheckVerdict.FAIL
    assert finding.says == "raised IndexError: row 5 is not there"


def test_environment_that_cannot_be_built_is_the_users_mistake() -> None:
    def build(*_: Any, **__: Any) -> Any:
        raise KeyError("Close")

    with pytest.raises(UserError, match=r"must build, reset and take one step, was KeyError"):
        run_checks(replace(reference_probe(), build=build))


def test_output_and_warnings_of_the_environment_stay_out_of_ours(
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = list(warnings.filters)

    card = run_checks(reference_probe(Chatters))

    assert card.failed == ()
    assert capsys.readouterr().out == ""
    assert list(warnings.filters) == before


def test_card_survives_json_and_names_every_remedy_in_its_text() -> None:
    class Free(ReferenceEnv):
        def fee(self, traded_ccy: float) -> float:
            return 0.0

    card = run_checks(reference_probe(Free))
    document = json.loads(json.dumps(card.to_dict()))

    assert document["counts"] == {"pass": 15, "fail": 1, "untestable": 0}
    failed = [finding for finding in document["findings"] if finding["verdict"] == "FAIL"]
    assert [finding["check"] for finding in failed] == ["fees_charged"]
    assert failed[0]["observed"] == pytest.approx(0.0, abs=1e-6)
    assert failed[0]["remedy"] in card.to_text()
    assert "15 passed, 1 failed, 0 cannot be told" in card.to_text()


def test_table_of_several_environments_has_a_column_each() -> None:
    honest, unknown = run_checks(reference_probe()), run_checks(make_reference)

    text = comparison_text([honest, unknown])

    assert "fees_charged                  pass     -" in text


def test_box_actions_without_probe_are_sent_nan() -> None:
    card = run_checks(lambda: gymnasium.make("Pendulum-v1"))

    finding = next(f for f in card.findings if f.check == "nan_action_is_safe")
    assert finding.verdict is CheckVerdict.FAIL
    assert finding.observed is not None
    assert finding.observed > 0
