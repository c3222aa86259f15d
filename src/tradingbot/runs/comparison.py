"""What differs between runs: configuration by dotted key, and facts of their records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tradingbot.runs.compatibility import shown_value
from tradingbot.runs.directory import RunDirectory

ABSENT = "(absent)"


class DifferingValue(NamedTuple):
    """One key or fact that is not the same in all runs."""

    name: str
    values: tuple[Any, ...]
    """Of each run, in their order; of configurations as text."""


def state_of(run: RunDirectory) -> str:
    """Say how a run is: as its status says, but `killed` where its process is gone."""
    state: str = run.status().state
    return "killed" if state == "running" and not run.is_held() else state


def differing_settings(configs: Sequence[Mapping[str, Any]]) -> list[DifferingValue]:
    """Return the dotted keys whose values differ, in order of the keys.

    Example:
        >>> found = differing_settings([{"ppo": {"epochs": 10}}, {"ppo": {"epochs": 4}, "seed": 1}])
        >>> [(each.name, *each.values) for each in found]
        [('ppo.epochs', '10', '4'), ('seed', '(absent)', '1')]
    """
    flat = [dict(_flat(config, "")) for config in configs]
    found = []
    for key in sorted({key for each in flat for key in each}):
        values = [each.get(key, ABSENT) for each in flat]
        if any(_identity(value) != _identity(values[0]) for value in values):
            found.append(DifferingValue(key, tuple(map(shown_value, values))))
    return found


def differing_facts(runs: Sequence[RunDirectory]) -> list[DifferingValue]:
    """Return learner, seed, data, code, machine and progress, as far as they differ."""
    facts = [facts_of(run) for run in runs]
    rows = [DifferingValue(name, tuple(each[name] for each in facts)) for name in facts[0]]
    return [row for row in rows if any(value != row.values[0] for value in row.values)]


def facts_of(run: RunDirectory) -> dict[str, Any]:
    """Return what identifies a run beside its configuration, by name."""
    record = run.record
    return {
        "learner": record.learner,
        "seed": record.seeds["root"],
        "data": record.data.data_sha256,
        "certificate": record.data.certificate_sha256,
        "normaliser": record.data.normaliser_sha256,
        "agents": len(record.data.agents),
        "code": record.code_sha256,
        "commit": record.git.commit,
        "device": record.environment.get("device"),
        "torch": record.environment.get("torch"),
        "threads": record.environment.get("threads"),
        "state": state_of(run),
        "updates": run.status().update,
        "steps": run.status().steps,
    }


def _flat(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key in value:
            yield from _flat(value[key], f"{path}.{key}" if path else str(key))
    else:
        yield path, value


def _identity(value: Any) -> tuple[bool, Any]:
    """Tell values apart as a configuration does: True is not 1, a list is a tuple."""
    listed = [_identity(each) for each in value] if isinstance(value, list | tuple) else value
    return isinstance(value, bool), listed
