"""Failures that are known and not mended yet: the titles that the fuzzers give them, and what is to be done."""

KNOWN: dict[str, str] = {}
