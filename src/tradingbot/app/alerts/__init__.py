"""Alerts, put together: settings, sources, channels and the processes that watch."""
