"""A reward term of your own: log growth, less a price for large positions."""

import tradingbot as tb


@tb.reward_term(low=-1.0, high=0.0, objective="risk")
def large_position(step, xp, *, scale: float = 1e4):
    """Cost of a position that moved much: the square of what it made equity move."""
    return -xp.minimum(scale * step.equity_return * step.equity_return, 1.0)


bars = tb.generate_bars("planted", symbols=["SPY"], start="2025-04-01", kappa=0.3)  # synthetic
for weight in (0.0, 1.0):
    settings = {"task.reward_weights": {"large_position": weight}, "validation.shrink": False}
    settings["learner.direct.objective"] = "reward"  # else it learns log growth alone
    settings["budget.steps_per_agent"] = 320  # five updates: to see it run
    run = tb.train(bars, preset="quick", seed=1, settings=settings)
    result = tb.backtest(tb.load_policy(run), bars, start=run.part("test").first_day)
    invested = abs(result.played.position_frac).mean()
    print(f"weight {weight}: invested {invested:.0%} of the time, {result!r}")
