"""What a search that learns from its trials finds beside one that does not."""
