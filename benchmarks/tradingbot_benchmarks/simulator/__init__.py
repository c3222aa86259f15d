"""The simulator, its growth, its peers and its limits."""
