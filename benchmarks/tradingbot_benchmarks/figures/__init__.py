"""Pictures of benchmarks."""
