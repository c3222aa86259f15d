"""The journal: decisions, orders, fills and states of sessions, in one chain that only grows.

`SessionJournal.open` writes, `JournalReader.at` reads. See `docs/concepts/journal.md`.
"""
