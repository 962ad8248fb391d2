"""Benchmarks: what a filter costs, each after its answer was checked."""
