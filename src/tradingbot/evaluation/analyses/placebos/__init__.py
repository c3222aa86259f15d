"""The pipeline where nothing can be earned."""
