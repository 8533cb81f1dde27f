"""Automatic parameters: the rules that choose them, and Stein's risk estimate."""
