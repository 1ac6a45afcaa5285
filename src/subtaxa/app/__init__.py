"""A run, live: in the browser (extra `subtaxa[app]`), and for agents (extra `subtaxa[mcp]`)."""
