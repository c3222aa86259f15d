"""Evaluating a finished run: its dossier, piece by piece."""
