"""The only place that ever sees fine labels."""
