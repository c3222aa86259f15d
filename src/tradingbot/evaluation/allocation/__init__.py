"""How capital is divided by rule: what a master is compared with, estimated on past bars alone."""
