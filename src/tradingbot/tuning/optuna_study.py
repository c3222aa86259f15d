"""The study: Optuna chooses and keeps trials; what it is asked is a function of what is kept.

A wave of trials is chosen from the finished trials of the waves before, with a seed of its own, so
that a study that was killed chooses the same trials again. A trial goes into the database in one
transaction, when it is finished: what is there is whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from tradingbot.domain.errors import ConfigError, MissingExtraError
from tradingbot.domain.seeding import stream
from tradingbot.tuning.request import TuneSettings
from tradingbot.tuning.search_parameter import Choice, SearchParameter
from tradingbot.tuning.search_space import SearchSpace
from tradingbot.tuning.study_database import (
    ASKED,
    FACTS,
    IDENTITY,
    KnownStudy,
    known_of,
    open_database,
    quiet_optuna,
)
from tradingbot.tuning.trial_record import TrialResult, TrialState, TuningTrial

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.pruners import BasePruner
    from optuna.study import Study
    from optuna.trial import FrozenTrial

_SEEDS = 2**31 - 1


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
        self._study, self._storage = open_database(name, storage), storage
        self._identity: str | None = None

    @property
    def known(self) -> KnownStudy:
        """What was written down when it began."""
        return known_of(self._study, self._storage)

    def note(self, identity: str, facts: Mapping[str, str], asked: Mapping[str, Any]) -> None:
        """Write down what is tuned and on which data, where that is not there yet.

        A study without trials is told anew: what it was to be has moved nothing.
        """
        known, self._identity = self.known, identity
        noted = {IDENTITY: known.identity, FACTS: known.facts, ASKED: known.asked}
        given = {IDENTITY: identity, FACTS: dict(facts), ASKED: dict(asked)}
        for key, value in given.items():
            if noted[key] is None or (not known.ended and noted[key] != value):
                self._study.set_user_attr(key, value)

    def results(self) -> list[TrialResult]:
        """Return the finished trials in the order of their numbers.

        Of one that two workspaces made at the same time, the first that was kept.
        """
        found = [_result_of(each) for each in self._study.get_trials(deepcopy=False)]
        first = {each.spec.number: each for each in reversed(found)}
        return [first[number] for number in sorted(first)]

    def keep(self, result: TrialResult) -> None:
        """Store a finished trial, once.

        Raises:
            ConfigError: If another workspace began this study anew while it had no trials.
        """
        if self._identity is not None and self.known.identity != self._identity:
            raise ConfigError(
                "a study must be that which its trials were made for",
                was="begun anew with other settings meanwhile",
                where=self._study.study_name,
                remedy="Choose another name",
            )
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
