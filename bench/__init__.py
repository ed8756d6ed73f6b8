"""Benchmarks: speed is measured here and nowhere else."""
