"""What a configuration must be for a kind of environment to be trained in."""

from __future__ import annotations

from collections.abc import Iterator

from tradingbot.domain.errors import ConfigError, join_choices
from tradingbot.market.params import ActionRules, SimulatorParams
from tradingbot.training.environment import EnvironmentSection
from tradingbot.training.learner_section import LearnerSection


def environment_rules(
    environment: EnvironmentSection,
    learner: LearnerSection,
    *,
    clones: bool,
    rules: SimulatorParams,
    encoder: str,
    features: str,
) -> Iterator[tuple[bool, str, tuple[str, ...]]]:
    """Yield what must hold, how it is said, and the keys that do not go with the environment.

    Args:
        environment: What is trained in.
        learner: What trains.
        clones: Whether actors clone an expert first.
        rules: How accounts read actions and close positions.
        encoder: Name of its preset.
        features: Name of the set.
    """
    kind, action = environment.kind, rules.action
    yield from _learner_rules(kind, learner, clones, action)
    yield (
        action.neutral_gross_frac == 0.0 or kind == "population",
        "task.rules.action.neutral_gross_frac must be 0 outside environment population, whose "
        f"agents trade the same bars, was above 0 in {kind}",
        ("task.rules.action.neutral_gross_frac",),
    )
    if kind == "curriculum":
        yield (
            features == "default",
            "features must be default in environment curriculum: its generated markets have "
            f"no others, was {features}",
            ("features",),
        )
    if kind in ("population", "curriculum"):
        return
    spec, settings = learner.spec, learner.settings
    yield (
        not clones,
        f"cloning.enabled must be false in environment {kind}: experts trade single accounts, "
        "was true",
        ("cloning.enabled",),
    )
    if kind == "goal":
        yield (
            spec.learns_reward(settings),
            "learner must learn from the reward in environment goal, "
            f"was {learner.name} with objective {getattr(settings, 'objective', None)}",
            (f"learner.{learner.name}.objective", "learner.name"),
        )
        yield (
            not (spec.differentiates and environment.goal.reward == "sparse"),
            "environment.goal.reward must be dense for a learner that follows its gradient, "
            f"was sparse with learner {learner.name}",
            ("environment.goal.reward", "learner.name"),
        )
        return
    yield from _sleeve_rules(environment)
    yield from _portfolio_rules(learner, rules, encoder)


def _sleeve_rules(
    environment: EnvironmentSection,
) -> Iterator[tuple[bool, str, tuple[str, ...]]]:
    """Yield what learning of the sleeves' agents asks: that there are agents."""
    settings = environment.portfolio
    yield (
        settings.joint.rate == 0.0 or settings.sleeves.startswith("run:"),
        "environment.portfolio.joint.rate must be 0 where a rule trades the sleeves: only agents "
        f"of a run (run:NAME) learn, was {settings.joint.rate:g} with {settings.sleeves}",
        ("environment.portfolio.joint.rate", "environment.portfolio.sleeves"),
    )


def _portfolio_rules(
    learner: LearnerSection, rules: SimulatorParams, encoder: str
) -> Iterator[tuple[bool, str, tuple[str, ...]]]:
    """Yield what a master asks: weights that are learned as they are, of accounts of targets."""
    spec, settings = learner.spec, learner.settings
    yield (
        spec.takes_members,
        "learner.name must be one that learns weights (ppo or direct) in environment portfolio, "
        f"was {learner.name}",
        ("learner.name",),
    )
    yield (
        getattr(settings, "act_levels", 0) == 0,
        f"learner.{learner.name}.act_levels must be 0 in environment portfolio: rounded weights "
        f"would put all into few sleeves, was {getattr(settings, 'act_levels', 0)}",
        (f"learner.{learner.name}.act_levels",),
    )
    yield (
        rules.action.space == "target",
        "task.rules.action.space must be target in environment portfolio: rules trade its "
        f"accounts, was {rules.action.space}",
        ("task.rules.action.space",),
    )
    exits = ("stop_loss_frac", "take_profit_frac")
    yield (
        not rules.account.watches_bars,
        f"task.rules.account.{' and '.join(exits)} must be infinite in environment portfolio: its "
        "net orders fill at opens, none is closed within a bar, was "
        + " and ".join(str(getattr(rules.account, name)) for name in exits),
        tuple(f"task.rules.account.{name}" for name in exits),
    )
    yield (
        not rules.account.closes_delisted,
        "task.rules.account.delisted_after_bars must be left out in environment portfolio: its net "
        f"orders fill at opens, was {rules.account.delisted_after_bars}",
        ("task.rules.account.delisted_after_bars",),
    )
    yield (
        encoder == "row",
        "encoder.preset must be row in environment portfolio: one agent sees all symbols, "
        f"was {encoder}",
        ("encoder.preset",),
    )


def _learner_rules(
    kind: str, learner: LearnerSection, clones: bool, action: ActionRules
) -> Iterator[tuple[bool, str, tuple[str, ...]]]:
    """Yield what learners ask of the environment: goals for hindsight, bars for options."""
    hindsight = getattr(learner.settings, "hindsight", None)
    yield (
        hindsight is None or hindsight.strategy == "off" or kind == "goal",
        f"learner.{learner.name}.hindsight.strategy must be off outside environment goal: there is "
        f"no goal to relabel, was {getattr(hindsight, 'strategy', None)} in {kind}",
        (f"learner.{learner.name}.hindsight.strategy",),
    )
    for name, whose, *also in (
        ("paired_envs", "environments of their own"),
        ("actors", "all environments", "learner.name"),
    ):
        key, count = f"learner.{learner.name}.{name}", getattr(learner.settings, name, 1)
        yield (
            count == 1 or kind != "curriculum",
            f"{key} must be 1 in environment curriculum: agents progress by {whose}, was {count}",
            (key, *also),
        )
    if learner.spec.takes_options:
        yield (
            kind in ("population", "goal") and not clones,
            f"environment.kind must be population or goal without cloning for {learner.name}: its "
            f"options read the run's own bars, was {kind}",
            ("environment.kind", "learner.name"),
        )
        yield (
            action.space == "continuous",
            f"task.rules.action.space must be continuous for {learner.name}: options buy and sell "
            f"shares, was {action.space}",
            ("task.rules.action.space", "learner.name"),
        )


def require_sleeve_rule(text: str) -> None:
    """Refuse what cannot trade the sleeves of a portfolio; the package's own rules can.

    An oracle sees the future, and the code of a plugin's strategy is no part of a run's identity.

    Args:
        text: A name with parameters, where some are set: `sma_cross:fast=20,slow=100`.

    Raises:
        ConfigError: With all names that can, or naming the closest parameter.
    """
    from tradingbot.evaluation.policy_names import require_known_rules
    from tradingbot.plugins.reference import RULE_NAMES, RUN_PREFIX, read_reference

    if text.startswith(RUN_PREFIX):
        return
    if read_reference(text).name not in RULE_NAMES:
        rule = "environment.portfolio.sleeves must be a rule of the package"
        raise ConfigError(rule, was=repr(text), remedy=f"Use {join_choices(RULE_NAMES)}")
    require_known_rules([text])
