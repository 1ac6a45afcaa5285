"""Benchmarks. This is the only package that sees fine labels."""
