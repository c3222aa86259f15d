"""The inference server: predictions, health, metrics, keys, limits and swaps over HTTP."""
