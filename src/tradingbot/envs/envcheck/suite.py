"""Running the checks: quietly, apart from each other, and without believing anything."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable, Iterator, Sequence

from tradingbot.domain.errors import UserError
from tradingbot.envs.envcheck.bars import flat
from tradingbot.envs.envcheck.catalogue import CHECKS
from tradingbot.envs.envcheck.check import CheckOutcome, CheckVerdict, EnvCheck
from tradingbot.envs.envcheck.probe import AnyEnv, CannotTell, EnvProbe, Intent, generic_probe
from tradingbot.envs.envcheck.scorecard import Scorecard, ScorecardEntry
from tradingbot.envs.envcheck.trace import build, play

_NO_PROBE = "prices cannot be dictated: write a probe"


def run_checks(
    subject: EnvProbe | Callable[[], AnyEnv], *, checks: Sequence[EnvCheck] = CHECKS, name: str = ""
) -> Scorecard:
    """Run the suite on an environment.

    Args:
        subject: A probe, or something that returns an environment when called; of the latter only
            what needs no known prices can be judged.
        checks: Which checks, in which order.
        name: Shown instead of the factory's own name.

    Raises:
        UserError: If the environment cannot be built, reset and stepped once.
    """
    if not isinstance(subject, EnvProbe):
        subject = generic_probe(name or getattr(subject, "__name__", "environment"), subject)
    with _quiet():
        _try_out(subject)
        findings = tuple(run_check(check, subject) for check in checks)
    return Scorecard(subject.name, subject.version, findings)


def run_check(check: EnvCheck, probe: EnvProbe) -> ScorecardEntry:
    """Run one check; an environment that raises on a lawful action fails it."""
    if check.needs_dictation and not probe.dictates:
        outcome = CheckOutcome(CheckVerdict.UNTESTABLE, _NO_PROBE)
    else:
        try:
            outcome = check.judge(probe)
        except CannotTell as e:
            outcome = CheckOutcome(CheckVerdict.UNTESTABLE, str(e))
        except Exception as e:
            outcome = CheckOutcome(CheckVerdict.FAIL, f"raised {_describe(e)}")
    limit, observed = (None if x is None else float(x) for x in (outcome.limit, outcome.observed))
    remedy = check.remedy if outcome.verdict is CheckVerdict.FAIL else ""
    told = (outcome.verdict, outcome.says, limit, observed)
    return ScorecardEntry(check.id, check.promise, *told, remedy)


def _try_out(probe: EnvProbe) -> None:
    try:
        env = build(probe, flat())
        play(env, probe, (Intent.HOLD if probe.dictates else Intent.ANY,))
    except UserError:
        raise
    except Exception as e:
        rule = "an environment to check must build, reset and take one step"
        remedy = "See docs/environments/envcheck.md for how to write a probe"
        raise UserError(rule, was=_describe(e), where=probe.name, remedy=remedy) from e


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep what environments print and warn of out of our output; filters are put back."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


def _describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
