"""The commands `tradingbot bench …`."""
