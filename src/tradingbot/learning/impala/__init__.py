"""V-trace with actors that do not wait for the learner; see docs/algorithms/impala.md."""
