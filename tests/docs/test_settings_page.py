"""docs/reference/settings.md is written from the configuration classes.

Ranges are the rules that a configuration checks when it is built: they are recorded, not copied.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import math
import re
import sys
import textwrap
import types
from collections.abc import Iterator
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import pytest
from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel

from tradingbot.domain import checks
from tradingbot.domain.errors import ConfigError
from tradingbot.evaluation.pipeline.config import EvaluateConfig
from tradingbot.learning.catalogue import known_learners
from tradingbot.learning.schedules import Schedule, constant
from tradingbot.monitoring.alerts.rule import AlertRule, EscalationStep
from tradingbot.monitoring.alerts.settings import AlertSettings, ChannelSettings
from tradingbot.training.config import TrainConfig
from tradingbot.training.config_files import load_train_config, override_config

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "settings.md"
REGENERATE = ".venv/bin/python tests/docs/test_settings_page.py"
_WORDS = {bool: "true or false", int: "whole number", float: "number", str: "text", date: "day"}
_SIGNS = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}

_INTRODUCTION = f"""\
# Settings of training, evaluation and alerts

<!-- Generated from the configuration classes. Do not edit; run: {REGENERATE} -->

Every key that `tradingbot train` and `tradingbot evaluate` read, from a preset, a YAML file
(`--preset FILE`) or an option (`--set KEY=VALUE`). Settings of data, features and proofs are in
[configuration](configuration.md). Units are in the names: `_frac` fractions of one, `_bps` basis
points, `_bars` bars, `_ccy` account currency; shares and rates without a unit are of one. Ranges
are the rules that are checked when a configuration is read.
"""
_OF_ALERTS = """\
What `tradingbot alerts` reads, from `alerts.yaml` of the workspace or `--rules FILE`
([how to](../how_to/alerts.md)); channels and rules have names of one's own.
"""


class Setting(NamedTuple):
    """One row of the page."""

    key: str
    type: str
    default: str
    range: str
    meaning: str


def training_settings() -> list[Setting]:
    """Return every setting of a training, learners of the catalogue included."""
    rows = [*_of_model(TrainConfig(), "")]
    learners = TrainConfig().learner.model_extra or {}
    place = max(i for i, row in enumerate(rows) if row.key.startswith("learner.")) + 1
    own = [
        row
        for name in known_learners()
        for row in _of_dataclass(learners[name], f"learner.{name}.")
    ]
    return rows[:place] + own + rows[place:]


def evaluation_settings() -> list[Setting]:
    """Return every setting of an evaluation."""
    return [*_of_dataclass(EvaluateConfig(), "")]


def alert_settings() -> list[Setting]:
    """Return every setting of alerts, of one channel and of one rule."""
    own = [
        row for row in _of_dataclass(AlertSettings(), "") if row.key not in ("rules", "channels")
    ]
    channel = _of_dataclass(ChannelSettings("console"), "channels.NAME.")
    rule = _of_dataclass(AlertRule("drawdown_frac", max=0.2), "rules.NAME.")
    step = _of_dataclass(EscalationStep(), "rules.NAME.escalation[].")
    needed = {"channels.NAME.kind", "rules.NAME.metric", "rules.NAME.max"}
    rows = [*own, *channel, *rule, *step]
    empty = [row.key in needed or not row.default for row in rows]
    return [row._replace(default="none") if e else row for row, e in zip(rows, empty, strict=True)]


def render_page() -> str:
    """Write the whole page."""
    parts = [_INTRODUCTION]
    for title, rows in (("Training", training_settings()), ("Evaluation", evaluation_settings())):
        parts += [f"## {title}\n", *_table(rows)]
    parts += ["## Alerts\n", _OF_ALERTS, *_table(alert_settings())]
    schedule = _of_dataclass(constant(0.0), "")
    parts += ["## Schedule\n", "A number that changes during training.\n", *_table([*schedule])]
    return "\n".join(parts)


def _table(rows: list[Setting]) -> list[str]:
    head = ["| key | type | default | range | meaning |", "|---|---|---|---|---|"]
    return [
        *head,
        *(
            f"| `{row.key}` | {_cell(row.type)} | {_code(row.default)} | {_cell(row.range)} "
            f"| {_cell(row.meaning)} |"
            for row in rows
        ),
        "",
    ]


def _of_model(model: BaseModel, prefix: str) -> Iterator[Setting]:
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        if _is_section(value):
            yield from _of_section(value, f"{prefix}{name}.")
            continue
        yield Setting(
            f"{prefix}{name}",
            _type_words(field.annotation),
            _default(value),
            _limits(field.metadata) or _choices(field.annotation),
            " ".join((field.description or "").split()),
        )


def _of_section(value: object, prefix: str) -> Iterator[Setting]:
    return (
        _of_model(value, prefix) if isinstance(value, BaseModel) else _of_dataclass(value, prefix)
    )


def _of_dataclass(config: Any, prefix: str) -> Iterator[Setting]:
    kind = type(config)
    hints, meanings, rules = get_type_hints(kind), _meanings(kind), _rules(config)
    for field in dataclasses.fields(kind):
        value, hint = getattr(config, field.name), hints[field.name]
        if _is_section(value):
            yield from _of_dataclass(value, f"{prefix}{field.name}.")
            continue
        yield Setting(
            f"{prefix}{field.name}",
            _type_words(hint),
            _default(value),
            "; ".join(rules.get(field.name, [])) or _choices(hint),
            meanings.get(field.name, ""),
        )


def _is_section(value: object) -> bool:
    is_dataclass = dataclasses.is_dataclass(value) and not isinstance(value, type | Schedule)
    return isinstance(value, BaseModel) or is_dataclass


def _meanings(kind: type) -> dict[str, str]:
    """Return the text below every field, of the class and those it extends."""
    found: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        if not dataclasses.is_dataclass(each):
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(each))).body[0]
        assert isinstance(body, ast.ClassDef)
        for node, after in zip(body.body, body.body[1:], strict=False):
            is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and is_text:
                found[node.target.id] = " ".join(str(after.value.value).split())  # type: ignore[attr-defined]
    return found


def _rules(config: Any) -> dict[str, list[str]]:
    """Record the rules that a configuration checks when it is built: field → rules."""
    found: dict[str, list[str]] = {}

    def record(holds: bool, rule: str, rules: object, remedy: str = "") -> None:
        name, _, rest = rule.partition(" ")
        words = rest.removeprefix("must ").removeprefix("be ").replace("lie in ", "in ", 1)
        found.setdefault(name, []).append(words)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checks, "require", record)
        for each in type(config).__mro__:
            module = sys.modules[each.__module__]
            if hasattr(module, "require"):
                patch.setattr(module, "require", record)
        dataclasses.replace(config)
    return {name: _narrowest(rules) for name, rules in found.items()}


def _narrowest(rules: list[str]) -> list[str]:
    """Leave out what a narrower rule says too."""
    once = list(dict.fromkeys(rules))
    return [rule for rule in once if rule != "a finite number" or len(once) == 1]


def _type_words(hint: Any) -> str:
    if get_origin(hint) is Annotated:
        return _type_words(get_args(hint)[0])
    origin = get_origin(hint)
    if hint is Schedule:
        return "number or [schedule](#schedule)"
    if origin is Literal:
        return "choice"
    if origin in (Union, types.UnionType):
        members = get_args(hint)
        words = [_type_words(member) for member in members if member is not type(None)]
        return " or ".join(dict.fromkeys(words)) + (" or none" if type(None) in members else "")
    if origin is tuple:
        return f"list of {_plural(get_args(hint)[0])}"
    if origin is dict:
        return "mapping"
    if isinstance(hint, type) and issubclass(hint, Enum):
        return "choice"
    return _WORDS.get(hint, getattr(hint, "__name__", str(hint)))


def _plural(hint: Any) -> str:
    if dataclasses.is_dataclass(hint):
        return "mappings"
    names = {int: "whole numbers", float: "numbers", str: "names"}
    return names.get(hint, "pairs" if get_origin(hint) is tuple else "names")


def _choices(hint: Any) -> str:
    for each in (hint, *get_args(hint)):
        if get_origin(each) is Literal:
            return ", ".join(f"`{choice}`" for choice in get_args(each))
        if isinstance(each, type) and issubclass(each, Enum):
            return ", ".join(f"`{choice.value}`" for choice in each)
    return ""


def _limits(metadata: list[Any]) -> str:
    """Write the bounds of a pydantic field."""
    found = []
    for limit in metadata:
        for kind in (Ge, Gt, Le, Lt):
            if isinstance(limit, kind):
                sign = kind.__name__.lower()
                found.append(f"{_SIGNS[sign]} {_number(getattr(limit, sign))}")
    return ", ".join(found)


def _default(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, Schedule):
        return _schedule(value)
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return _number(value)
    if isinstance(value, tuple):
        return "[" + ", ".join(_default(each) for each in value) + "]"
    if _is_section(value):
        return str(getattr(value, "name", value))
    return "{}" if value == {} else str(value)


def _schedule(value: Schedule) -> str:
    if value.first == value.last:
        return _number(value.first)
    return f"{_number(value.first)} → {_number(value.last)}, {value.kind}"


def _number(value: Any) -> str:
    if isinstance(value, int) and value >= 2**40:
        return f"2^{value.bit_length()} − 1" if value & (value + 1) == 0 else f"{value:,}"
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _code(text: str) -> str:
    return "none" if text == "none" else f"`{text.replace('|', chr(92) + '|')}`"


def test_page_is_current() -> None:
    message = f"docs/reference/settings.md is out of date. Run: {REGENERATE}"
    assert PAGE.read_text(encoding="utf-8") == render_page(), message


def test_every_setting_has_a_meaning() -> None:
    rows = training_settings() + evaluation_settings() + alert_settings()

    assert len(rows) > 200
    assert [row.key for row in rows if not row.meaning] == []


def test_keys_are_those_that_a_run_stores() -> None:
    keys = {row.key for row in training_settings()}

    stored = TrainConfig().as_mapping()
    assert {"budget.n_envs", "guards.low_entropy", "task.rules.limits.max_order_frac"} <= keys
    assert _missing(stored, keys, "") == []


def _missing(values: dict[str, Any], keys: set[str], prefix: str) -> list[str]:
    found = []
    for name, value in values.items():
        key = f"{prefix}{name}"
        if key in keys:
            continue
        found += _missing(value, keys, f"{key}.") if isinstance(value, dict) else [key]
    return found


CHECKED_ELSEWHERE = ("seed", "seeds.count", "placebos.draws", "splits.")
"""Numbers whose range is no bound of the field, but a rule with a remedy of its own."""


def test_every_number_says_its_range() -> None:
    """C03: a number without bounds takes -1, NaN and infinity."""
    rows = [*training_settings(), *evaluation_settings(), *alert_settings()]
    numbers = [row for row in rows if row.type in ("number", "whole number")]

    assert len(numbers) > 150
    bare = [row.key for row in numbers if not row.range]
    assert [key for key in bare if not key.startswith(CHECKED_ELSEWHERE)] == []


def test_no_number_of_training_may_be_nan_and_no_rate_negative_or_infinite() -> None:
    """F7: rates, weights and scales below 0 were trained with."""
    base = load_train_config("quick")
    kinds = ("number", "whole number", "number or [schedule](#schedule)")
    keys = [row.key for row in training_settings() if row.type in kinds]
    rates = [key for key in keys if re.search(r"rate$|scale$|weight|floor$|clip$|decay|penal", key)]
    assert len(rates) > 25

    values = [(key, math.nan) for key in keys] + [(key, -1.0) for key in rates]
    values += [(key, math.inf) for key in rates if "clip" not in key]
    accepted = []
    for key, value in values:
        try:
            override_config(base, {key: value})
            accepted.append((key, value))
        except ConfigError:
            pass
    assert accepted == []


def test_ranges_are_the_rules_that_are_checked() -> None:
    rows = {row.key: row for row in training_settings()}

    assert rows["guards.low_entropy"].range == "in [0, 1]; not lie below low_entropy_critical"
    assert rows["budget.n_envs"].range == "≥ 1, ≤ 65,536"
    assert "`cuda`" in rows["device"].range


if __name__ == "__main__":
    PAGE.write_text(render_page(), encoding="utf-8")
    sys.stdout.write(f"wrote {PAGE.relative_to(ROOT)}\n")
