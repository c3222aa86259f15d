"""A learner by gradients and evolution strategies, by turns; see docs/algorithms/hybrid.md."""
