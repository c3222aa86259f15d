"""Every setting of an evaluation changes what its analysis finds, on a run of two agents."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import pytest

from docs.test_settings_page import evaluation_settings
from fixtures.evaluation_effects import Results, effect_of, part_of, with_trainings
from fixtures.tiny_evaluation import TINY_EVALUATION
from tradingbot.evaluation.analyses.analysis import AnalysisInputs
from tradingbot.evaluation.analyses.evaluated_run import EvaluatedRun, open_evaluated_run
from tradingbot.evaluation.analyses.performance import measure_performance
from tradingbot.evaluation.pipeline.config import EvaluateConfig, load_evaluate_config

KEYS = [setting.key for setting in evaluation_settings()]
SMALL: dict[str, object] = TINY_EVALUATION | {
    "statistics.path_blocks": 4,
    "leak_check.cuts": 1,
    "leak_check.feature_rounds": 1,
    "leak_check.most_delay_bars": 0,
    "walk_forward.first_share_frac": 0.5,
    "walk_forward.retrain_every": 1,
    "regimes.trend_bars": 5,
    "regimes.volatility_bars": 5,
    "stress.before_bars": 4,
    "stress.after_bars": 8,
    "sensitivity.cost_bps": [5.0],
    "sensitivity.delay_bars": [0],
    "sensitivity.slippage_bps": [5.0],
    "sensitivity.limit_shares": [1.0],
    "sensitivity.capital_ccy": [1e8],
    "policy.max_states": 100,
    "policy.attention_bars": 4,
    "policy.attention_states": 8,
    "placebos.n_policies": 5,
}
"""Settings with which analyses are short."""
OTHERS: dict[str, object] = {
    "statistics.draws": 500,
    "statistics.overfitting_blocks": 10,
    "walk_forward.first_share_frac": 0.6,
    "analyses": ["regimes"],
    "sensitivity.delay_bars": [0, 1],
    "sensitivity.limit_shares": [0.5, 1.0],
    "sensitivity.impact_coef": 4.0,
    "ensemble.min_exposure_frac": 0.99,
    "policy.max_states": 120,
    "ablation.variants": ["budget.n_envs=3"],
    "ablation.most_automatic": 2,
    "regimes.min_bars": 60,
}
"""Key → another value; the rest get one by kind."""
WITH_CRITIC = (
    *("policy.landscape_bins", "policy.attention_bars", "policy.attention_states"),
    *("policy.temperature", "policy.sampled_episodes"),
    "stress.crash_bars",
)
"""Settings that need a run with a critic and a transformer, or agents that do not just hold."""


@pytest.fixture(scope="module")
def direct(evaluated_workspace: Any) -> EvaluatedRun:
    return open_evaluated_run("tiny", evaluated_workspace)


@pytest.fixture(scope="module")
def made(direct: EvaluatedRun) -> Results:
    """Results that other analyses need: the performance, and two trainings."""
    settings = load_evaluate_config("quick", SMALL).performance
    return with_trainings(measure_performance(AnalysisInputs(direct), settings))


@pytest.fixture(scope="module")
def kept() -> dict[tuple[str, bool], Any]:
    """Part and run → what is found with nothing changed."""
    return {}


@pytest.mark.parametrize("key", KEYS)
def test_setting_changes_what_its_analysis_finds(
    key: str,
    direct: EvaluatedRun,
    made: Results,
    kept: dict[tuple[str, bool], Any],
    request: pytest.FixtureRequest,
) -> None:
    part, needs_critic = part_of(key), key in WITH_CRITIC
    subject = request.getfixturevalue("ppo_subject") if needs_critic else direct
    base = load_evaluate_config("full", SMALL)
    if (part, needs_critic) not in kept:
        kept[part, needs_critic] = effect_of(part, base, subject, made)
    changed = load_evaluate_config("full", SMALL | {key: _other(key, base)})

    assert effect_of(part, changed, subject, made) != kept[part, needs_critic]


def _other(key: str, config: EvaluateConfig) -> Any:
    if key in OTHERS:
        return OTHERS[key]
    now: Any = config
    for word in key.split("."):
        assert is_dataclass(now)
        assert word in {field.name for field in fields(now)}
        now = getattr(now, word)
    if isinstance(now, tuple):
        return [*now, 2 * now[-1]]
    return now + 2 if isinstance(now, int) else 0.5 * now


@pytest.mark.parametrize("section", ["statistics", "placebos", "policy", "regimes"])
def test_analysis_without_a_change_finds_the_same_again(
    section: str, direct: EvaluatedRun, made: Results
) -> None:
    """Else a difference would prove nothing; these are those that draw, rank or cut."""
    first, again = (
        effect_of(section, load_evaluate_config("full", SMALL), direct, made) for _ in range(2)
    )

    assert first == again
    assert len(first) > 10
