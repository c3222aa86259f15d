"""How policies did over a part of the data: one record, measured from backtests."""
