"""The local app: the report of a run, live. It needs the extra `subtaxa[app]`."""
