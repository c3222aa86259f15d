"""Pre-training of an encoder by auxiliary tasks: configuration, targets, losses, learner."""
