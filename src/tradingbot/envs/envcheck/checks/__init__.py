"""One check per file: a promise every trading environment makes, and a market that tests it."""
