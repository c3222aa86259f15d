"""The tear sheet of one policy: months, drawdowns, rolling figures, tails, exposure, trades."""
