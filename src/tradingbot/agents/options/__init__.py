"""Options of a trader: open long, close position, trend follow, scalp, wait."""
