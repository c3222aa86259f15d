"""Trainings of an evaluation: other seeds, settings and periods."""
