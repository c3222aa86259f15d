"""The built-in paper broker: a venue in a file, with the simulator's fills."""
