"""Is it luck: the test part under every statistic."""
