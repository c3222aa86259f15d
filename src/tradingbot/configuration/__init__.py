"""Presets, YAML files and options become checked, frozen configuration objects; nothing else."""
