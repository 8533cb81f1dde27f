"""Likelihoods bound to operators: data terms and their proximal steps."""
