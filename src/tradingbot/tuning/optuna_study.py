"""The study: Optuna chooses and keeps trials; what it is asked is a function of what is kept.

A wave of trials is chosen from the finished trials of the waves before, with a seed of its own, so
that a study that was killed chooses the same trials again. A trial goes into the database in one
transaction, when it is finished: what is there is whole.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from tradingbot.domain.errors import ConfigError, MissingExtraError
from tradingbot.domain.redaction import redact
from tradingbot.domain.seeding import stream
from tradingbot.tuning.request import TuneSettings
from tradingbot.tuning.search_space import Choice, SearchParameter, SearchSpace
from tradingbot.tuning.trial_record import TrialResult, TrialState, TuningTrial

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.pruners import BasePruner
    from optuna.study import Study
    from optuna.trial import FrozenTrial

_SEEDS = 2**31 - 1
_IDENTITY = "identity"
_OWN_TABLE = "studies"


def require_optuna() -> None:
    """Refuse to tune where Optuna is not installed; it is imported by no other command.

    Raises:
        MissingExtraError: Naming the extra.
    """
    if find_spec("optuna") is None:
        raise MissingExtraError("tune", package="optuna")


class OptunaStudy:
    """Trials of one study in a database, and the choice of the next."""

    def __init__(self, name: str, storage: str, space: SearchSpace, settings: TuneSettings) -> None:
        """Open the study in a database, made where it is absent.

        Raises:
            ConfigError: If the database cannot be opened, or is one of another kind.
        """
        self._space, self._settings = space, settings
        self._study = _open(name, storage)

    def require_identity(self, identity: str) -> None:
        """Write down what is tuned, or compare with what was written down.

        Raises:
            ConfigError: If a study of this name tunes something else.
        """
        known = self._study.user_attrs.get(_IDENTITY)
        if known is None:
            self._study.set_user_attr(_IDENTITY, identity)
        elif known != identity:
            raise ConfigError(
                "a study must go on with the configuration, space and settings it began with",
                was="others",
                where=self._study.study_name,
                remedy="Choose another name, or give the command of before; only --trials and "
                "--top may change",
            )

    def results(self) -> list[TrialResult]:
        """Return the finished trials in the order of their numbers."""
        found = [_result_of(each) for each in self._study.get_trials(deepcopy=False)]
        return sorted(found, key=lambda each: each.spec.number)

    def keep(self, result: TrialResult) -> None:
        """Store a finished trial, once."""
        if any(each.spec.number == result.spec.number for each in self.results()):
            return
        self._study.add_trial(_frozen(result, _distributions(self._space)))

    def choose(self, wave: int, before: Sequence[TrialResult]) -> list[TuningTrial]:
        """Choose the trials of a wave.

        Args:
            wave: From 0.
            before: Finished trials of all waves before it.
        """
        settings, first = self._settings, wave * self._settings.wave
        count = min(settings.wave, settings.trials - first)
        memory = self._in_memory(before, seed=_draw_seed(settings.seed, "wave", wave))
        asked = [memory.ask(_distributions(self._space)).params for _ in range(count)]
        seeds = tuple(_draw_seed(settings.seed, "training", k) for k in range(settings.seeds))
        return [
            TuningTrial(first + place, tuple(_plain(params, self._space)), seeds)
            for place, params in enumerate(asked)
        ]

    def importance(self) -> dict[str, float]:
        """Return how much of the score each setting explains, largest first; they sum to 1.

        By PED-ANOVA (Watanabe, Bansal & Hutter 2023); empty where fewer than two trials finished.
        """
        import optuna

        evaluator = optuna.importance.PedAnovaImportanceEvaluator()
        memory = self._in_memory(self.results(), seed=0)
        scores = {each.score for each in self.results() if each.state == "finished"}
        if len(scores) < 2:
            return {}
        with quiet_optuna():
            return dict(optuna.importance.get_param_importances(memory, evaluator=evaluator))

    def _in_memory(self, before: Sequence[TrialResult], *, seed: int) -> Study:
        import optuna

        settings = self._settings
        sampler: Any = optuna.samplers.RandomSampler(seed=seed)
        with quiet_optuna():
            if settings.sampler == "tpe":
                sampler = optuna.samplers.TPESampler(
                    seed=seed,
                    n_startup_trials=settings.random_trials,
                    multivariate=True,
                    constant_liar=True,
                )
            memory = optuna.create_study(direction="maximize", sampler=sampler)
            distributions = _distributions(self._space)
            memory.add_trials([_frozen(each, distributions) for each in before])
        return memory


def build_pruner(settings: TuneSettings) -> BasePruner:
    """Return Optuna's pruner of that name."""
    import optuna

    if settings.pruner == "median":
        # The first point of a curve says little, and the first wave has nothing beside it.
        return optuna.pruners.MedianPruner(
            n_startup_trials=settings.wave, n_warmup_steps=2, n_min_trials=3
        )
    if settings.pruner == "hyperband":
        return optuna.pruners.HyperbandPruner(1, settings.evaluations)
    return optuna.pruners.NopPruner()


def freeze_results(results: Sequence[TrialResult], space: SearchSpace) -> list[FrozenTrial]:
    """Return trials as Optuna keeps them."""
    distributions = _distributions(space)
    return [_frozen(each, distributions) for each in results]


@contextmanager
def quiet_optuna() -> Iterator[None]:
    """Let Optuna say nothing of experiments and of every trial."""
    import optuna

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            optuna.logging.set_verbosity(before)


def _open(name: str, storage: str) -> Study:
    import optuna
    from sqlalchemy import create_engine, inspect
    from sqlalchemy.exc import SQLAlchemyError

    try:
        engine = create_engine(storage)
        tables = set(inspect(engine).get_table_names())
        engine.dispose()
        if tables and _OWN_TABLE not in tables:
            raise _refusal(storage, f"one with the table {min(tables)!r}")
        with quiet_optuna():
            return optuna.create_study(
                study_name=name, storage=storage, direction="maximize", load_if_exists=True
            )
    except (SQLAlchemyError, optuna.exceptions.OptunaError, ImportError) as e:
        raise _refusal(storage, str(e).splitlines()[0][:160]) from e


def _refusal(storage: str, was: str) -> ConfigError:
    return ConfigError(
        "the database of trials must be one of its own that can be opened",
        was=redact(was),
        where=redact(storage),
        remedy="Name an empty database with --storage; journals and MLflow keep theirs apart",
    )


def _distributions(space: SearchSpace) -> dict[str, BaseDistribution]:
    return {each.key: _distribution(each) for each in space.parameters}


def _distribution(parameter: SearchParameter) -> BaseDistribution:
    from optuna.distributions import (
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )

    if parameter.choices:
        return CategoricalDistribution(parameter.choices)
    is_log = parameter.scale == "log"
    if parameter.step:
        low, high = int(parameter.low), int(parameter.high)
        return IntDistribution(low, high, log=is_log, step=1 if is_log else parameter.step)
    return FloatDistribution(parameter.low, parameter.high, log=is_log)


def _plain(params: dict[str, Any], space: SearchSpace) -> list[tuple[str, Choice]]:
    return [(each.key, params[each.key]) for each in space.parameters]


def _draw_seed(root: int, *names: str | int) -> int:
    return int(stream(root, "tuning", *names).integers(0, _SEEDS))


def _frozen(result: TrialResult, distributions: dict[str, BaseDistribution]) -> FrozenTrial:
    from optuna.trial import TrialState as States
    from optuna.trial import create_trial

    states = {"finished": States.COMPLETE, "pruned": States.PRUNED, "failed": States.FAIL}
    told = {
        "number": result.spec.number,
        "seeds": list(result.spec.seeds),
        "state": result.state,
        "score": result.score,
        "steps_per_agent": result.steps_per_agent,
        "took_s": result.took_s,
        "config_hash": result.config_hash,
        "failed": result.failed,
    }
    is_worth = result.state != "failed"
    return create_trial(
        state=states[result.state],
        value=result.score if is_worth else None,
        params=dict(result.spec.params),
        distributions=distributions,
        user_attrs=told,
        system_attrs=dict(result.notes),
        intermediate_values=dict(result.curve),
    )


def _result_of(trial: FrozenTrial) -> TrialResult:
    told = trial.user_attrs
    state: TrialState = told["state"]
    spec = TuningTrial(told["number"], tuple(trial.params.items()), tuple(told["seeds"]))
    return TrialResult(
        spec=spec,
        state=state,
        score=told["score"],
        curve=tuple(sorted(trial.intermediate_values.items())),
        steps_per_agent=told["steps_per_agent"],
        took_s=told["took_s"],
        config_hash=told["config_hash"],
        failed=told["failed"],
        notes=trial.system_attrs,
    )
