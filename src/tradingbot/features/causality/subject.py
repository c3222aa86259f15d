"""What can be proved causal, and what a proof found: subjects with their outputs, verdicts.

How a proof is carried out is in `prover`. A verdict stands for one output, with the first offence
where there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from numpy.typing import NDArray

from tradingbot.domain.errors import ConfigError, require_known
from tradingbot.features.inputs import MarketInputs

Scope = Literal["symbol", "market", "grid"]
"""`symbol`: column n uses symbol n only. `market`: a column may use every symbol's past.

`grid`: rows are made of row numbers and closing times alone (a row counter, a warm-up mask) and are
the same for every symbol. Such an output may come out the same for another market if it only rises
or only falls with the row."""


@dataclass(frozen=True)
class Rows:
    """An output with one row per grid time: row t is claimed to be known at `closed_at[t]`."""

    values: NDArray[Any]  # (T, …); for scope "symbol" (T, N, …)
    scope: Scope | None = None  # None: the subject's scope
    known_from: int = 0
    """Row t is known at row max(t, known_from): e.g. train rows scaled with train statistics."""


@dataclass(frozen=True)
class Fitted:
    """An output that is fitted once, from nothing after grid row `as_of`."""

    values: NDArray[Any]  # any shape
    as_of: int


Output = NDArray[Any] | Rows | Fitted
Compute = Callable[[MarketInputs], Mapping[str, Output]]
Prefixes = Callable[[MarketInputs], Callable[[int], tuple[int, Mapping[str, NDArray[Any]]]]]
"""Of a market: a function that is given a number of rows and returns the first row and the values
from there on that outputs have where the market ends after so many rows."""


@dataclass(frozen=True)
class ProofSubject:
    """Something that claims to be causal: a pure function of market inputs.

    `compute` must depend on nothing but its argument and must accept any length, any pattern of
    absent bars and any bar values. What it remembers from elsewhere, the prover cannot change: a
    statistic of the whole sample has to be computed inside, from the argument. A plain array means
    `Rows(array)`.
    """

    name: str
    compute: Compute
    scope: Scope = "market"
    proved_at_every_bar: bool = False
    """Its caller compares it at every bar in another way: hundreds of short cuts are left out."""
    prefixes: Prefixes | None = None
    """How to compute the end of a prefix without all that lies before; None: by `compute`."""


@dataclass(frozen=True)
class ProofContext:
    """What a subject may need to know besides the market inputs."""

    specs: tuple[Any, ...]  # feature specs of the panel
    train_rows: int  # rows 0 … train_rows - 1 are the training period


SubjectFactory = Callable[[ProofContext], ProofSubject]
_FACTORIES: dict[str, SubjectFactory] = {}


def register_subject(name: str, factory: SubjectFactory) -> None:
    """Have `factory(context)` proved in every later proof.

    Raises:
        ConfigError: If the name is taken by another factory.
    """
    if _FACTORIES.get(name, factory) is not factory:
        raise ConfigError("subject name must be free", was=repr(name), remedy="Choose another name")
    _FACTORIES[name] = factory


def unregister_subject(name: str) -> None:
    """Take a subject out of the registry again."""
    del _FACTORIES[require_known(name, _FACTORIES, "subject must be registered")]


def subject_names() -> tuple[str, ...]:
    """Names of all registered subjects, in order of registration."""
    return tuple(_FACTORIES)


def registered_subjects(context: ProofContext) -> tuple[ProofSubject, ...]:
    """Make every registered subject for one dataset and list of specs."""
    subjects = []
    for name, factory in _FACTORIES.items():
        subject = factory(context)
        if subject.name != name:
            raise ConfigError("subject must bear its registered name", was=subject.name, where=name)
        subjects.append(subject)
    return tuple(subjects)


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
