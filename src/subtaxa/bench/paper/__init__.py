"""The tables and figures of the paper, rebuilt from run records."""
