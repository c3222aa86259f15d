"""Supervised models of a workspace: fitting, storing, opening, joining to worlds, backtesting."""
