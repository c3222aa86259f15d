"""Run directories: what a training run leaves on disk, written whole or not at all."""

__all__: list[str] = []
