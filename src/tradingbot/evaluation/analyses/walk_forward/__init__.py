"""Windows that move forward through time, with retraining."""
