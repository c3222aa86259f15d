"""Multi-agent reinforcement-learning trading, from raw bars to paper trading behind hard limits."""

__version__ = "0.1.0"

__all__ = ["__version__"]
