"""Benchmarks of jfed's speed and memory against common alternatives: `python -m benchmarks`. Not part of the tests."""
