"""Bytes to checked bars: sources, calendar, schema, quality, content-addressed store, splits."""
