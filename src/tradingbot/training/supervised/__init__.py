"""Supervised models of a workspace: the data they are fitted on, and the fit."""
