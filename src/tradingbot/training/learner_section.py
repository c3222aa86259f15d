"""The section `learner` of a training configuration: which learner, and the settings of each.

Every learner of the catalogue has a section by its name. Sections are no fields of the model, so
that a learner which is registered later has one too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ConfigDict, ValidationError, model_serializer, model_validator
from pydantic_core import InitErrorDetails

from tradingbot.configuration.pipeline import ConfigSection, Name
from tradingbot.domain.errors import ConfigError, UserError, join_choices, suggest
from tradingbot.domain.plain_values import as_plain_values, read_record
from tradingbot.learning.catalogue import known_learners, learner_spec
from tradingbot.learning.learner_spec import LearnerSpec, ResolvedLearner

_NAME, _DEFAULT = "name", "ppo"


class LearnerSection(ConfigSection):
    """Which learner, and the settings of each: `section.ppo` is a `PPOConfig`, and so on."""

    model_config = ConfigDict(extra="allow")

    name: Name = _DEFAULT
    """Learner that trains, by its name in `learning.catalogue`; only its settings count, and
    those of learners that it wraps."""

    @model_validator(mode="before")
    @classmethod
    def _read_sections(cls, values: Any) -> Any:
        """Read the section of every learner; what is left out is as its configuration says."""
        if not isinstance(values, Mapping):
            return values  # pydantic says that it must be a mapping
        faults = [*_name_faults(values)]
        sections: dict[str, Any] = {}
        for name in known_learners():
            kind, given = learner_spec(name).config, values.get(name, {})
            try:
                sections[name] = read_record(kind, given, name=f"learner.{name}")
            except UserError as e:
                faults.append(_fault(name, given, e))
        if faults:
            raise ValidationError.from_exception_data(cls.__name__, faults)
        return {_NAME: values.get(_NAME, _DEFAULT), **sections}

    @model_serializer
    def _plain(self) -> dict[str, Any]:
        sections = self.model_extra or {}
        return {_NAME: self.name} | {name: as_plain_values(each) for name, each in sections.items()}

    @property
    def spec(self) -> LearnerSpec:
        """The learner that trains."""
        return self._resolved.spec

    @property
    def settings(self) -> Any:
        """Its settings: an instance of `spec.config`, or what a learner that wraps others takes."""
        return self._resolved.settings

    @property
    def acting_sections(self) -> tuple[str, ...]:
        """Names of the sections whose settings count: its own, and those of learners it wraps."""
        return self._resolved.sections

    @property
    def words(self) -> str:
        """Its name, and which learners it wraps, as messages say it."""
        own, *wrapped = self.acting_sections
        return f"{own} of {' and '.join(wrapped)}" if wrapped else own

    @property
    def _resolved(self) -> ResolvedLearner:
        return learner_spec(self.name).resolve(self.model_extra or {}, learner_spec)


def _name_faults(values: Mapping[str, Any]) -> Iterator[InitErrorDetails]:
    """Say what is wrong with the name of the learner that trains, and with those of sections."""
    names = known_learners()
    if values.get(_NAME, _DEFAULT) not in names:
        expected = join_choices([repr(name) for name in names])
        yield InitErrorDetails(
            type="literal_error", loc=(_NAME,), input=values[_NAME], ctx={"expected": expected}
        )
    for key in (key for key in values if key not in (_NAME, *names)):
        unknown = ConfigError(
            "key must be known in section 'learner'",
            was=repr(key),
            remedy=suggest(key, (_NAME, *names)),
        )
        yield _fault(key, values[key], unknown)


def _fault(key: str, value: object, error: UserError) -> InitErrorDetails:
    """Say where in the section a rule is broken; the cause carries rule, value and remedy."""
    wrapped = ValueError(str(error))
    wrapped.__cause__ = error
    return InitErrorDetails(type="value_error", loc=(key,), input=value, ctx={"error": wrapped})
