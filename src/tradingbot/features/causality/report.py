"""What a proof found: one verdict per output, with the first offence where there is one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tradingbot.features.causality.subject import Scope

Status = Literal["causal", "leaks", "unproved"]


@dataclass(frozen=True)
class Offence:
    """One past value that changed with the future."""

    symbol: str | None  # None where the output has no symbol axis
    closed_at: str | None  # ISO 8601, UTC; None for fitted outputs
    cut_at: str  # close of the last untouched bar of that symbol
    perturbation: str
    expected: str
    got: str

    def __str__(self) -> str:
        place = " ".join(part for part in (self.symbol, self.closed_at) if part)
        return (
            f"{place or 'fitted value'}: was {self.expected}, became {self.got} when the future "
            f"after {self.cut_at} was changed ({self.perturbation})"
        )


@dataclass(frozen=True)
class ProofVerdict:
    """What was found about one output."""

    subject: str
    output: str
    scope: Scope | Literal["fitted"]
    known_from: int
    status: Status
    comparisons: int  # past values compared bit for bit
    differing: int  # of those, how many changed
    offence: Offence | None = None
    reason: str = ""  # why it could not be proved

    @property
    def is_causal(self) -> bool:
        """True if proved; an output that could not be examined is not causal."""
        return self.status == "causal"


@dataclass(frozen=True)
class CausalityReport:
    """The result of one proof."""

    verdicts: tuple[ProofVerdict, ...]
    common_cuts: tuple[int, ...]
    staggered_cuts: tuple[tuple[int, ...], ...]  # rounds × N
    perturbations: tuple[str, ...]
    seed: int
    recomputations: int

    @property
    def is_causal(self) -> bool:
        """True if something was examined and every output was proved causal."""
        return bool(self.verdicts) and all(verdict.is_causal for verdict in self.verdicts)

    @property
    def comparisons(self) -> int:
        """Past values compared, over all outputs."""
        return sum(verdict.comparisons for verdict in self.verdicts)

    @property
    def staggered_pairs(self) -> int:
        """Number of (symbol, cut) pairs of all staggered rounds together."""
        return sum(map(len, self.staggered_cuts))

    @property
    def failures(self) -> tuple[ProofVerdict, ...]:
        """Verdicts of outputs that leak or could not be proved."""
        return tuple(verdict for verdict in self.verdicts if not verdict.is_causal)

    @property
    def subjects(self) -> tuple[str, ...]:
        """Names of the subjects examined."""
        return tuple(dict.fromkeys(verdict.subject for verdict in self.verdicts))

    def verdict(self, output: str) -> ProofVerdict:
        """The verdict on one output, by `output` or `subject:output`."""
        for verdict in self.verdicts:
            if output in (verdict.output, f"{verdict.subject}:{verdict.output}"):
                return verdict
        raise KeyError(output)
