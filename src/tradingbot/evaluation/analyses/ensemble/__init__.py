"""How agents complement each other: correlation, diversification, redundancy."""
