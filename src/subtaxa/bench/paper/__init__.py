"""The tables and figures of the DNA paper, made from run records."""
