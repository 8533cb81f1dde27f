"""Plug-and-Play: one driver, several iterations, schedules, and the records of a run."""
