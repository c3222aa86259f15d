"""The way from data to verdict: the plan's phases on one dataset, judged by gates, resumable."""
