"""Alerts: rules as data, a pure engine that decides what is told, and channels that tell it.

`tradingbot alerts watch` measures what the product writes, `engine.advance` says which incidents
begin and end, `delivery` sends notices, and `store` keeps all of it in `<workspace>/alerts/`.
Pages read it with `reading.AlertReader`. See `docs/how_to/alerts.md`.
"""
