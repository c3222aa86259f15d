"""Behaviour cloning: an actor learns to do what an expert does. Configuration, loss, learner."""
