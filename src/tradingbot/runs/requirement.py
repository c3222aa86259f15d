"""What a distribution asks for, as written in package metadata, and what is installed.

Judges release numbers only, which is all our own requirements use.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import metadata

_REQUIREMENT = re.compile(
    r"^(?P<name>[A-Za-z0-9._-]+)(?:\[[^\]]*\])?\s*(?P<rules>[^;]*?)\s*"
    r"(?:;.*extra\s*==\s*['\"](?P<extra>[^'\"]+)['\"].*)?$"
)
_RULE = re.compile(r"(>=|<=|==|~=|<|>|!=)\s*([0-9][0-9A-Za-z.+-]*)")


@dataclass(frozen=True)
class Requirement:
    """A package that a distribution asks for; `extra` is empty for the base."""

    name: str
    rules: tuple[tuple[str, str], ...] = ()
    extra: str = ""

    @classmethod
    def parse(cls, text: str) -> Requirement | None:
        """Read a line of package metadata; None where it is not one we can judge.

        Example:
            >>> Requirement.parse('pandas>=3.1; extra == "bench"')
            Requirement(name='pandas', rules=(('>=', '3.1'),), extra='bench')
        """
        match = _REQUIREMENT.match(text)
        if match is None:
            return None
        return cls(match["name"], version_rules(match["rules"]), match["extra"] or "")

    def allows(self, version: str) -> bool:
        """Tell whether a version obeys every rule; pre-release and local parts do not count.

        Example:
            >>> Requirement("torch", (("==", "2.13.0"),)).allows("2.13.0+cpu")
            True
        """
        return all(_obeys(version, operator, bound) for operator, bound in self.rules)

    def __str__(self) -> str:
        return self.name + ",".join(operator + bound for operator, bound in self.rules)


def installed_version(name: str) -> str | None:
    """Return the version of an installed distribution, None where there is none."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def version_rules(text: str) -> tuple[tuple[str, str], ...]:
    """Split a version specifier into operators and bounds.

    Example:
        >>> version_rules("<3.12,>=3.11")
        (('<', '3.12'), ('>=', '3.11'))
    """
    return tuple(_RULE.findall(text))


def _obeys(version: str, operator: str, bound: str) -> bool:
    left, right = _release(version), _release(bound)
    width = max(len(left), len(right))
    left, right = left + (0,) * (width - len(left)), right + (0,) * (width - len(right))
    if operator == "~=":
        selected = len(_release(bound)) - 1
        return left >= right and left[:selected] == right[:selected]
    return {
        ">=": left >= right,
        "<=": left <= right,
        "==": left == right,
        "!=": left != right,
        "<": left < right,
        ">": left > right,
    }[operator]


def _release(version: str) -> tuple[int, ...]:
    match = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in match[0].split(".")) if match else ()
