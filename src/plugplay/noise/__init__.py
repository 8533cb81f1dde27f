"""Noise: how much there is, and how it grows with the signal."""
