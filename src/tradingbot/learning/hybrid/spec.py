"""Hybrid learning as the catalogue knows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tradingbot.domain.lazy_names import import_on_call
from tradingbot.learning.hybrid.config import HybridConfig, HybridSettings
from tradingbot.learning.learner_spec import FindLearner, LearnerSpec, ResolvedLearner

if TYPE_CHECKING:
    from tradingbot.learning.task import ActionSpec
    from tradingbot.networks.actor_layout import ActorLayout


def _resolve(sections: Mapping[str, Any], find: FindLearner) -> ResolvedLearner:
    turns: HybridConfig = sections["hybrid"]
    inner = find(turns.learner)
    spec = replace(
        SPEC,
        action_kinds=inner.action_kinds,
        differentiates=inner.differentiates,
        tells_entropy=inner.tells_entropy,
    )
    settings = HybridSettings(turns, inner, sections[turns.learner], sections["es"])
    return ResolvedLearner(spec, settings, ("hybrid", turns.learner, "es"))


def _layout(settings: HybridSettings, action: ActionSpec, private: tuple[str, ...]) -> ActorLayout:
    return settings.wrapped.actor_layout(settings.gradient, action, private)


SPEC = LearnerSpec(
    name="hybrid",
    config=HybridConfig,
    build=import_on_call("tradingbot.learning.hybrid.learner:Hybrid"),
    actor_layout=_layout,
    action_kinds=("discrete", "box", "simplex"),
    steps_per_update="steps_per_update",
    trains_encoder=False,
    keeps_rewards="generations are ranked by what the task itself pays, and both must aim alike",
    wraps=_resolve,
)
