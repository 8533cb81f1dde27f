"""The kinds of cells that reports are computed from."""
