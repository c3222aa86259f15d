"""Command line, configuration and wiring: the only place where everything meets."""
