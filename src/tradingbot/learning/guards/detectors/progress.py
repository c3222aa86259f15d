"""Signs that what should carry learning on stands still: actors, a population, a curriculum."""

from __future__ import annotations

from tradingbot.learning.guards.config import GuardConfig
from tradingbot.learning.guards.detector import Detection, Detector, Scene, percent
from tradingbot.learning.guards.history import History


class ActorsLag(Detector, code="ACTORS_LAG", cure="none"):
    """Actors are too far behind: what they collect says little of the policy that learns."""

    remedy = (
        "Use fewer actors or shorter rollouts (learner.impala.actors, rollout_steps), larger "
        "minibatches, or a fixed lag (learner.impala.asynchronous: false)."
    )

    def check(self, history: History, config: GuardConfig) -> Detection:
        """Compare the largest lag; unknown where there are no actors."""
        lag = history["actors/largest_lag"]
        return Detection.of(lag, config.actor_lag, lag > config.actor_lag)

    def words(self, scene: Scene) -> str:
        """Tell the lag."""
        lag, limit = scene.now("actors/largest_lag"), scene.config.actor_lag
        return f"an actor collects with weights of {lag:.0f} updates before (limit {limit:g})"


class PopulationCollapsed(Detector, code="POPULATION_COLLAPSED", cure="entropy"):
    """Members of a population all earn the same: their ranks are chance, and nothing is learned."""

    remedy = (
        "Raise learner.es.sigma, or leave rounding out (act_levels: 0); if members do not trade at "
        "all, compare costs with the edge."
    )

    def check(self, history: History, config: GuardConfig) -> Detection:
        """Compare the share of different results, 0 where all are one; unknown without members."""
        share, limit = history["population/distinct_share"], config.distinct_members
        return Detection.of(share, limit, share < limit, (share == 0.0) & (limit > 0.0))

    def words(self, scene: Scene) -> str:
        """Tell the share."""
        share, limit = scene.now("population/distinct_share"), scene.config.distinct_members
        said = f"members of its population come to {percent(share)} different results"
        said = said if share > 0.0 else "all members of its population come to one result"
        return f"{said} (limit {percent(limit)}): variations of its weights change nothing"


class CurriculumStuck(Detector, code="CURRICULUM_STUCK", cure="none"):
    """A stage is not passed after many episodes: what should get easier by learning does not."""

    remedy = (
        "Look at which limit is missed (Sharpe ratio, win rate, trades of the stage); then lower "
        "it, let difficulty move (environment.curriculum.adaptive: true), or train for longer."
    )

    def check(self, history: History, config: GuardConfig) -> Detection:
        """Compare the episodes in a stage; unknown where there is no curriculum."""
        episodes, limit = history["curriculum/unpassed_episodes"], config.stuck_episodes
        return Detection.of(episodes, float(limit), episodes > limit)

    def words(self, scene: Scene) -> str:
        """Tell how many."""
        episodes, limit = scene.now("curriculum/unpassed_episodes"), scene.config.stuck_episodes
        return f"it has not passed its stage after {episodes:,.0f} episodes (limit {limit:,})"
