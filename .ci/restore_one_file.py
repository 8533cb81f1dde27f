"""Restore a small 16-bit TIFF with the ``plugplay`` command that stands beside this Python, and look at the result."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import tifffile


def main() -> None:
    """Fail unless the command writes a sharper image of the same kind."""
    rows, columns = np.indices((48, 64))
    sharp = 0.2 + 0.6 * ((rows // 8 + columns // 8) % 2)
    blurred = (sharp + np.roll(sharp, 1, 0) + np.roll(sharp, -1, 0)) / 3
    noisy = blurred + np.random.default_rng(0).normal(0, 0.01, sharp.shape)
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "blurred.tif", Path(folder) / "sharp.tif"
        tifffile.imwrite(source, np.round(65535 * noisy).astype(np.uint16))
        kernel = Path(folder) / "kernel.npy"
        np.save(kernel, np.full((3, 1), 1 / 3))
        command = Path(sys.executable).parent / "plugplay"
        subprocess.run([command, "deblur", source, "-o", target, "--kernel", kernel], check=True)
        restored = tifffile.imread(target)
    if restored.dtype != np.uint16 or restored.shape != sharp.shape:
        raise SystemExit(f"expected a 16-bit image of shape {sharp.shape}; got {restored.dtype} {restored.shape}")
    before, after = (float(np.sqrt(np.mean((image - sharp) ** 2))) for image in (noisy, restored / 65535))
    if after > before / 2:
        raise SystemExit(f"the error is {after:.3f}; before it was {before:.3f}")
    sys.stdout.write(f"error before {before:.4f}, after {after:.4f}\n")


if __name__ == "__main__":
    main()
