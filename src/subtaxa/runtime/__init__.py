"""How the program uses a machine: files, locks, signals, progress, terminal, processes, threads, memory."""
