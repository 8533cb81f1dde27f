"""Checks that anyone can run on models and denoisers of their own."""
