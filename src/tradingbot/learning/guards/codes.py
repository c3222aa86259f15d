"""Codes of the flight recorder's rules, told without torch; a test holds that they are all."""

RULE_CODES = (
    *("NOT_FINITE", "REWARD_EXPLODES", "GRADIENT_EXPLODES", "ONE_ACTION", "LOW_ENTROPY"),
    *("LIVES_ON_NOISE", "ONE_SLEEVE", "ALL_HOLD", "NOT_EXECUTED", "REPEATS", "DEAD_CRITIC"),
    *("ENTROPY_FALLS", "FEW_TRADES", "ONE_TERM", "ONE_OPTION", "GOALS_MISSED"),
    *("POPULATION_COLLAPSED", "ACTORS_LAG", "CURRICULUM_STUCK", "INTRINSIC_DOMINATES"),
    *("ONE_OBJECTIVE", "FEW_ACTIONS", "EXECUTION_GAP"),
)
"""Those of `guards.catalogue.RULES`, in their order."""
