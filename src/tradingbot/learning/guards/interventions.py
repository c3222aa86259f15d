"""What is done about verdicts: a pure decision, and what must be remembered between two of them.

The trainer carries decisions out. Each response that does not help is followed by the next: warn,
boost the entropy bonus of the agents concerned (where it is asked for, let them stand still for a
while first), roll everyone back to the last healthy checkpoint with other settings, halt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from tradingbot.learning.guards.config import RESPONSES, GuardConfig, InterventionConfig, Response
from tradingbot.learning.guards.detector import AlarmLevel, Cure, Diagnosis

_NEVER = -(2**40)
_BROKEN = "A weight is not a finite number."
_ALWAYS_GRAVE = "NOT_FINITE"
"""Rule that a single agent suffices for: what is not a number spreads to all."""


class Memory(NamedTuple):
    """What was done so far; on the CPU, part of checkpoints. Roll-backs do not undo it."""

    entropy_scale: Tensor
    """(N,) float64, factor on the entropy bonus."""
    boosted_at: Tensor
    """(N,) int64, environment steps at the last boost. After a pause, those at which it ends: an
    agent is paused as long as they lie ahead."""
    learning_rate_scale: Tensor
    """() float64"""
    roll_backs: Tensor
    """() int64"""
    rolled_back_at: Tensor
    """() int64, environment steps at the last one."""

    @classmethod
    def begin(cls, n_agents: int) -> Memory:
        """Return what is remembered before the first decision."""
        return cls(
            torch.ones(n_agents, dtype=torch.float64),
            torch.full((n_agents,), _NEVER, dtype=torch.int64),
            torch.tensor(1.0, dtype=torch.float64),
            *(torch.tensor(number, dtype=torch.int64) for number in (0, _NEVER)),
        )


class Intervention(NamedTuple):
    """What the trainer is to do now."""

    response: Response | None
    """None: nothing to tell."""
    words: str
    """One sentence for the log; empty without a response."""
    agents: tuple[str, ...]
    """Whom it is about."""
    memory: Memory
    """To be kept, and its scales to be set: those of a boost or pause now, those of a roll-back
    after the checkpoint has been loaded."""

    @property
    def policy_seed(self) -> int:
        """Number of the last roll-back, 0 before the first.

        After one, exploration is drawn from the stream of this number (`Learner.explore_anew`).
        """
        return int(self.memory.roll_backs)


def is_healthy(verdicts: Sequence[Diagnosis], n_agents: int, config: GuardConfig) -> bool:
    """Return whether it is worth coming back to the weights as they are now.

    Nothing may be NaN, and fewer agents may be in a critical state than a roll-back takes.
    """
    if any(verdict.code == _ALWAYS_GRAVE for verdict in verdicts):
        return False
    grave = {verdict.agent for verdict in verdicts if verdict.severity is AlarmLevel.CRITICAL}
    return len(grave) < config.interventions.roll_back_share * n_agents


def decide(
    verdicts: Sequence[Diagnosis],
    memory: Memory,
    config: GuardConfig,
    *,
    agents: Sequence[str],
    cures: Mapping[str, Cure],
    steps: int,
    sound: bool = True,
) -> Intervention:
    """Choose the response to what was found after an update.

    Args:
        verdicts: Of all rules and agents.
        memory: Of the decision before.
        config: Limits and how far to go.
        agents: N names.
        cures: Rule code → what may help.
        steps: Environment steps per agent lived through so far, those undone included.
        sound: Whether every weight is a finite number. If not, going on is no choice, whatever
            `strongest` allows: no checkpoint can be made of such weights.
    """
    now = _Situation(memory, config.interventions, tuple(agents), steps)
    asked = {verdict: now.wanted(verdict, cures[verdict.code]) for verdict in verdicts}
    strongest = now.rules.strongest
    allowed = {each: _at_most(wanted, strongest) for each, wanted in asked.items() if wanted}
    going_back = _named(allowed, "roll_back", "halt")
    enough = len(going_back) >= now.rules.roll_back_share * len(agents) or _spreads(allowed)
    if not sound or (going_back and enough):
        return now.go_back(sorted(going_back), allowed, may_halt=not sound or strongest == "halt")
    paused = now.boostable(_named(allowed, "pause") - going_back)
    boosted = paused or now.boostable(_named(allowed, "boost_entropy") - going_back)
    if boosted:
        return now.boost(boosted, pause=bool(paused))
    if allowed:
        told = sorted(_named(allowed, *RESPONSES))
        return Intervention("warn", f"Signs of trouble in {_list(told)}.", tuple(told), memory)
    return Intervention(None, "", (), memory)


class _Situation(NamedTuple):
    """What a decision is made in."""

    memory: Memory
    rules: InterventionConfig
    agents: tuple[str, ...]
    steps: int

    def wanted(self, verdict: Diagnosis, cure: Cure) -> Response | None:
        """Return what this verdict alone asks for, given what was tried already."""
        rules, agent = self.rules, self.agents.index(verdict.agent)
        if verdict.severity is AlarmLevel.INFO:
            return None
        if verdict.severity is AlarmLevel.WARNING:
            return rules.on_warning
        chosen = dict(rules.by_rule).get(verdict.code)
        if chosen not in (None, "pause") or (chosen is None and cure == "none"):
            return chosen or "warn"
        first = chosen or rules.on_critical
        if first not in ("boost_entropy", "pause"):
            return first
        if cure == "restart" and chosen is None:
            return "roll_back"
        tried = float(self.memory.entropy_scale[agent]) >= rules.max_boost
        return "roll_back" if tried and bool(self.rested()[agent]) else first

    def go_back(
        self, named: list[str], allowed: Mapping[Diagnosis, Response], *, may_halt: bool
    ) -> Intervention:
        rules, memory, tried = self.rules, self.memory, int(self.memory.roll_backs)
        why = next((v.words for v in allowed if v.agent in named), _BROKEN)
        if "halt" in allowed.values() or (tried >= rules.max_roll_backs and may_halt):
            words = f"Halted after {tried} roll-backs: {why}"
            return Intervention("halt", words, tuple(named), memory)
        if tried >= rules.max_roll_backs:
            words = f"Going on, as halting is not allowed: {why}"
            return Intervention("warn", words, tuple(named), memory)
        concerned = self.mask(named)
        scale = memory.entropy_scale * torch.where(concerned, rules.roll_back_entropy, 1.0)
        rate = memory.learning_rate_scale * rules.roll_back_learning_rate
        at = torch.tensor(self.steps, dtype=torch.int64)
        changed = Memory(scale, memory.boosted_at, rate, memory.roll_backs + 1, at)
        words = f"Roll-back {tried + 1} of {rules.max_roll_backs} to the last healthy checkpoint, "
        words += f"learning rate × {float(rate):g}"
        if named:
            words += f", entropy bonus of {_list(named)} × {float(scale[concerned].max()):g}"
        return Intervention("roll_back", f"{words}: {why}", tuple(named), changed)

    def boostable(self, named: set[str]) -> list[str]:
        able = self.rested() & (self.memory.entropy_scale < self.rules.max_boost)
        pairs = zip(self.agents, able.tolist(), strict=True)
        return [name for name, can in pairs if can and name in named]

    def rested(self) -> Tensor:
        """Return whose last intervention is a cooldown ago, (N,) bool."""
        last = torch.maximum(self.memory.boosted_at, self.memory.rolled_back_at)
        return last <= self.steps - self.rules.cooldown_steps

    def boost(self, named: list[str], *, pause: bool) -> Intervention:
        """Raise the entropy bonus of agents; let them stand still before that where asked."""
        rules, memory, concerned = self.rules, self.memory, self.mask(named)
        boosted = (memory.entropy_scale * rules.boost_factor).clamp_max(rules.max_boost)
        scale = torch.where(concerned, boosted, memory.entropy_scale)
        begins = self.steps + (rules.pause_steps if pause else 0)
        at = torch.where(concerned, begins, memory.boosted_at)
        words = f"Entropy bonus of {_list(named)} raised to × {float(scale[concerned].max()):.3g}."
        if pause:
            words += f" Learning of {_list(named)} stands still for {rules.pause_steps:,} steps."
        changed = memory._replace(entropy_scale=scale, boosted_at=at)
        response: Response = "pause" if pause else "boost_entropy"
        return Intervention(response, words, tuple(named), changed)

    def mask(self, named: Sequence[str]) -> Tensor:
        return torch.tensor([name in named for name in self.agents])


def _named(allowed: Mapping[Diagnosis, Response], *responses: Response) -> set[str]:
    return {verdict.agent for verdict, response in allowed.items() if response in responses}


def _spreads(allowed: Mapping[Diagnosis, Response]) -> bool:
    drastic = ("roll_back", "halt")
    return any(v.code == _ALWAYS_GRAVE and r in drastic for v, r in allowed.items())


def _at_most(response: Response, strongest: Response) -> Response:
    return RESPONSES[min(RESPONSES.index(response), RESPONSES.index(strongest))]


def _list(named: Sequence[str]) -> str:
    shown, more = ", ".join(named[:5]), len(named) - 5
    return f"{shown} and {more} more" if more > 0 else shown
