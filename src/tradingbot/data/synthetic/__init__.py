"""Generated markets: their common contract, a registry, and one file per market."""
