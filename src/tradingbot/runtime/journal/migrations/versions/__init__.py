"""Revisions, oldest first: `first_tables`, `views`. A released one never changes."""
