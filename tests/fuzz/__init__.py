"""Seeded fuzzers for files and calls; ``python -m tests.fuzz --cases 20000`` is the long run."""
