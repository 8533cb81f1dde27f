"""Linear operators: blur, sampling, frames, interpolation."""
