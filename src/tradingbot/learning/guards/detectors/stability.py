"""Signs in the numbers that learning rests on: rewards, gradients and what the critic explains."""

from __future__ import annotations

import torch

from tradingbot.learning.guards.config import GuardConfig
from tradingbot.learning.guards.detector import Detection, Detector, Scene, percent
from tradingbot.learning.guards.history import History

_COUNTS = {
    "rollout/bad_rewards": "rewards",
    "rollout/bad_actions": "actions",
    "loss/bad_losses": "losses or gradients",
}
_USUAL = 0.25
"""Quantile of the ring buffer that counts as usual: low, so that slow explosions show as well."""
_VARIES = 0.1
"""Deviation of rewards, of the largest kept, below which there is nothing to explain."""


class NotFinite(Detector, code="NOT_FINITE", cure="restart"):
    """NaN or infinity in rewards, actions, losses or gradients; or updates refused for them."""

    remedy = (
        "Find the first NaN: rewards point to the data or a division by zero, losses with sound "
        "rewards to the learning rate. Nothing since may be kept as best."
    )
    warms_up = False

    def check(self, history: History, config: GuardConfig) -> Detection:
        """Count what is not a number; one is too many.

        It is a warning where the learner kept it from the weights, unless that goes on and on.
        """
        total = history["update/skipped"].clone()
        for name in _COUNTS:
            total += history[name]
        bad = total > 0.0
        contained = (history["update/skipped"] > 0.0) & (history["loss/bad_losses"] == 0.0)
        # Bad in each of the last updates, as many as patience has.
        window = config.patience
        goes_on = bad.unfold(0, window, 1).all(-1) if len(bad) >= window else bad[:0]
        lasting = torch.cat((torch.zeros_like(bad[: len(bad) - len(goes_on)]), goes_on))
        return Detection.of(total, 0.0, bad, bad & (~contained | lasting))

    def words(self, scene: Scene) -> str:
        """Tell what is not a number, and how many."""
        found = ((scene.now(name), what) for name, what in _COUNTS.items())
        parts = [f"{count:,.0f} {what}" for count, what in found if count]
        said = f"NaN or infinite: {', '.join(parts)}" if parts else "an update was not finite"
        others = scene.history["rollout/bad_rewards"][-1] > 0.0
        if not others[scene.agent] and others.any():
            culprit = scene.names.agents[int(others.long().argmax())]
            said += f", by way of what it shares with {culprit}"
        skipped = scene.now("update/skipped")
        also = f"; the learner skipped {skipped:,.0f} steps of its optimiser"
        return said + also if skipped else said

    def patience(self, config: GuardConfig) -> int:
        """Say how long it must last."""
        return 1


class RewardExplodes(Detector, code="REWARD_EXPLODES", cure="restart"):
    """Rewards grow out of all proportion: the critic cannot follow, and advantages mean nothing."""

    remedy = (
        "Look for a reward that feeds on itself or divides by something small; normalise or clip "
        "it."
    )
    warms_up = False

    def check(self, history: History, config: GuardConfig) -> Detection:
        """Compare the scale of rewards with its usual size, and with what is usable at all."""
        scale = history["rollout/reward_scale"]
        usual = scale.nanquantile(_USUAL, dim=0)
        grown = (scale > config.reward_growth * usual) & (scale > config.reward_floor)
        explodes = grown | (scale > config.reward_scale)
        return Detection.of(scale / usual, config.reward_growth, explodes, explodes)

    def words(self, scene: Scene) -> str:
        """Tell the scale now and before."""
        usual = float(scene.history["rollout/reward_scale"][:, scene.agent].nanquantile(_USUAL))
        now = scene.now("rollout/reward_scale")
        return (
            f"rewards are of size {now:.3g}, usually {usual:.3g} (limits: "
            f"{scene.config.reward_growth:g} times the usual, or {scene.config.reward_scale:g})"
        )

    def patience(self, config: GuardConfig) -> int:
        """Say how long it must last."""
        return 2


class GradientExplodes(Detector, code="GRADIENT_EXPLODES", cure="restart"):
    """The gradient norm before clipping grows out of all proportion."""

    remedy = "Lower the learning rate; look for rewards or features without bounds."

    def check(self, history: History, config: GuardConfig) -> Detection:
        """Compare the norm with its usual size; small ones may grow."""
        norm = history["loss/gradient_norm"]
        growth = norm / norm.nanquantile(_USUAL, dim=0)
        matters = norm > config.gradient_floor
        limit = config.gradient_growth
        grown = ((growth > limit) & matters, (growth > limit**2) & matters)
        return Detection.of(growth, limit, *grown)

    def words(self, scene: Scene) -> str:
        """Tell the norm now and before."""
        usual = float(scene.history["loss/gradient_norm"][:, scene.agent].nanquantile(_USUAL))
        now = scene.now("loss/gradient_norm")
        return (
            f"the gradient norm is {now:.3g}, usually {usual:.3g} (limit "
            f"{scene.config.gradient_growth:g} times the usual)"
        )


class DeadCritic(Detector, code="DEAD_CRITIC", cure="restart"):
    """The critic is worse than a constant, and stays so: advantages are noise."""

    remedy = "Look at the scale of rewards, the critic's learning rate and the weight of its loss."

    def check(self, history: History, config: GuardConfig) -> Detection:
        """Compare the explained variance."""
        share, deviation = history["value/explained_variance"], history["rollout/reward_deviation"]
        # Where rewards hardly vary any more, there is nothing to explain.
        varies = deviation > _VARIES * deviation.amax(0)
        limit, critical = config.explained_variance, config.explained_variance_critical
        found = Detection.of(share, limit, share < limit, share < critical)
        return found._replace(level=found.level * varies)

    def words(self, scene: Scene) -> str:
        """Tell the explained variance and for how long it has been so."""
        now, updates = scene.now("value/explained_variance"), scene.config.critic_patience
        return (
            f"the critic explains {now:.2f} of the variance of its targets (limit "
            f"{scene.config.explained_variance:g}) for {updates} updates or more: a constant would "
            "do better"
        )

    def patience(self, config: GuardConfig) -> int:
        """Say how long it must last."""
        return config.critic_patience


class OneTerm(Detector, code="ONE_TERM", cure="none"):
    """One term makes up the reward: the others are decoration."""

    remedy = "Weigh the terms so that each is heard, or leave out those that are not."

    def check(self, history: History, config: GuardConfig) -> Detection:
        """Compare the largest term's share; of gain and cost alone, gain may be nearly all."""
        share, n_terms = history["rollout/largest_term_share"], history["rollout/active_terms"]
        found = Detection.of(share, config.one_term, (share > config.one_term) & (n_terms > 1.0))
        return found.excused(n_terms <= 2.0)

    def words(self, scene: Scene) -> str:
        """Name the term and its share."""
        term = scene.names.terms[int(scene.now("rollout/largest_term"))]
        share = percent(scene.now("rollout/largest_term_share"))
        return f"{share} of its reward is the term {term} (limit {percent(scene.config.one_term)})"

    def patience(self, config: GuardConfig) -> int:
        """Say how long it must last."""
        return config.term_patience
