"""How the program lives on a machine: files, locks, signals, progress, processes, threads, memory."""
