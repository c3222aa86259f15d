"""What a curriculum is, as plain values: stages, when one is passed, how hard a market is."""
