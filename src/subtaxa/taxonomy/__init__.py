"""Categories as people see them: names, edits, corrections, updates."""
