"""Sessions on paper: put together, run, shown, compared with a backtest."""
