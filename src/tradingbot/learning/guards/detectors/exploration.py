"""Signs of a policy that explores no more: one action, low entropy, nothing but noise."""

from __future__ import annotations

import torch

from tradingbot.learning.guards.config import GuardConfig
from tradingbot.learning.guards.detector import AlarmLevel, Detection, Detector, Scene, percent
from tradingbot.learning.guards.history import History

_DECIDED = " although its actions still differ from state to state"


class OneAction(Detector, code="ONE_ACTION", cure="entropy", judges="choices"):
    """One action makes up most of the last selections: how the first version failed."""

    remedy = (
        "Look at the reward first: does this action pay whatever the market does? Then limit "
        "repeats, raise the entropy bonus, or use continuous actions."
    )

    def check(self, history: History, config: GuardConfig) -> Detection:
        """Compare the largest share of the window, once the window is full.

        Doing nothing most of the time is how positions are held: of it, only the critical share
        counts.
        """
        # Where updates are so small that all that is kept does not fill the window, that must do.
        full = history["rollout/selections"] >= config.window
        full |= torch.tensor(len(history.steps) >= config.kept_updates)
        share = torch.where(full, history["rollout/largest_share"], torch.nan)
        limit, critical = config.one_action, config.one_action_critical
        holds = (history["rollout/idle_share"] > config.one_action) & ~history.is_stopped(config)
        excused = history.is_resting(config, config.one_action)
        excused |= holds & (share <= critical)
        return Detection.of(share, limit, share > limit, share > critical).excused(excused)

    def words(self, scene: Scene) -> str:
        """Name the action and its share."""
        share, count = scene.now("rollout/largest_share"), scene.now("rollout/selections")
        said = f"{percent(share)} of the last {count:,.0f} selections are "
        action, limit = scene.bin_name("rollout/largest_code"), percent(scene.config.one_action)
        said += f"{action} (limit {limit})"
        if scene.severity is AlarmLevel.INFO:
            said += ": it mostly holds or stays out"
        return said


class LowEntropy(Detector, code="LOW_ENTROPY", cure="entropy"):
    """The policy hardly draws lots any more: low entropy on the common scale."""

    remedy = (
        "Raise the entropy bonus or hold it for longer; if that does not help, the reward has one "
        "answer for every state."
    )

    def check(self, history: History, config: GuardConfig) -> Detection:
        """Compare the entropy; a policy that is decided, not collapsed, counts one degree less."""
        entropy = history["policy/normalised_entropy"]
        limit, critical = config.low_entropy, config.low_entropy_critical
        found = Detection.of(entropy, limit, entropy < limit, entropy < critical)
        milder = (found.level - 1).clamp_min(0)
        level = torch.where(history.is_decided(config), milder, found.level)
        return found._replace(level=level).excused(history.is_resting(config, config.one_action))

    def words(self, scene: Scene) -> str:
        """Tell the entropy, and whether actions still vary."""
        entropy = scene.now("policy/normalised_entropy")
        said = f"the normalised entropy of the policy is {entropy:.3f} "
        limit, critical = scene.config.low_entropy, scene.config.low_entropy_critical
        said += f"(limit {limit:g}, critical {critical:g})"
        if scene.now("eval/entropy") >= scene.config.varied:
            said += _DECIDED
        return said


class LivesOnNoise(Detector, code="LIVES_ON_NOISE", cure="restart", judges="choices"):
    """Deterministic play shows one action, sampling many: diversity that is only noise."""

    remedy = (
        "Judge by deterministic evaluation only. More exploration does not help a policy that does "
        "not tell states apart: look at features, reward and learning rate."
    )

    def check(self, history: History, config: GuardConfig) -> Detection:
        """Compare the share of the largest deterministic action with its share in sampling.

        It is critical where the noise earns more than the policy does without it.
        """
        share = history["eval/largest_share"]
        gap = share - history["eval/share_in_sampling"]
        lives = (share >= config.noise_largest) & (gap > config.noise_gap)
        found = Detection.of(gap, config.noise_gap, lives, lives & history.noise_pays())
        undecided = history["policy/normalised_entropy"] >= config.undecided
        return found.excused(undecided | history.is_resting(config, config.noise_largest))

    def words(self, scene: Scene) -> str:
        """Tell both shares and what they mean."""
        share, sampled = scene.now("eval/largest_share"), scene.now("eval/share_in_sampling")
        said = f"{percent(share)} {scene.bin_name('eval/largest_code')} in deterministic "
        said += f"evaluation although {percent(sampled)} in sampling: "
        if scene.now("policy/normalised_entropy") >= scene.config.undecided:
            return said + "it is still undecided"
        if scene.severity is AlarmLevel.INFO:
            return said + "it stays out, and only its exploration trades"
        return said + "the policy lives on its noise"

    def patience(self, config: GuardConfig) -> int:
        """Say how long it must last."""
        return max(config.patience, config.probe_every + 1)


class EntropyFalls(Detector, code="ENTROPY_FALLS", cure="entropy"):
    """The policy's entropy falls fast: the last moment to save exploration cheaply."""

    remedy = (
        "Lower the learning rate or the number of epochs, or hold the entropy bonus for longer."
    )

    def check(self, history: History, config: GuardConfig) -> Detection:
        """Compare the normalised entropy with that of some updates before; a high one may fall."""
        entropy, span = history["policy/normalised_entropy"], config.entropy_fall_updates
        before = torch.full_like(entropy, torch.nan)
        before[span:] = entropy[:-span]
        lost = 1.0 - entropy / before
        # Falling from anything-goes to the middle of the scale is learning.
        falls = (lost > config.entropy_fall) & (entropy < config.varied)
        resting = history.is_resting(config, config.one_action)
        # Told at once, so that luck of one update's exploration must not end the excuse.
        resting[1:] |= resting[:-1].clone()
        found = Detection.of(lost, config.entropy_fall, falls)
        return found.excused(history.is_decided(config) | resting)

    def words(self, scene: Scene) -> str:
        """Tell both entropies and the time between."""
        span, name = scene.config.entropy_fall_updates, "policy/normalised_entropy"
        before, now = float(scene.history[name][-1 - span, scene.agent]), scene.now(name)
        said = f"the normalised entropy of the policy fell from {before:.2f} to {now:.2f} in {span}"
        lost, limit = percent(1.0 - now / before), percent(scene.config.entropy_fall)
        return f"{said} updates, by {lost} (limit {limit})"

    def patience(self, config: GuardConfig) -> int:
        """Say how long it must last."""
        return 1
