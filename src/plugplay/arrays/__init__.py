"""What every array passes through, once: axes, scale, masks, checks."""
