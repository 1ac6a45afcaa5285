"""Everything that knows the run folder."""
