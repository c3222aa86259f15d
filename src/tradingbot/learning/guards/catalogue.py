"""Every rule of the flight recorder, the gravest first."""

from tradingbot.learning.guards.detector import Detector
from tradingbot.learning.guards.detectors import (
    activity,
    aims,
    allocation,
    exploration,
    incentives,
    progress,
    stability,
)

RULES: tuple[Detector, ...] = (
    *(stability.NotFinite(), stability.RewardExplodes(), stability.GradientExplodes()),
    *(exploration.OneAction(), exploration.LowEntropy(), exploration.LivesOnNoise()),
    allocation.OneSleeve(),
    *(activity.AllHold(), activity.NotExecuted(), activity.Repeats(), stability.DeadCritic()),
    *(exploration.EntropyFalls(), activity.FewTrades(), stability.OneTerm()),
    *(aims.OneOption(), aims.GoalsMissed()),
    *(progress.PopulationCollapsed(), progress.ActorsLag(), progress.CurriculumStuck()),
    *(incentives.IntrinsicDominates(), incentives.OneObjective()),
    *(activity.FewActions(), activity.ExecutionGap()),
)
