"""``plugplay demo``: degrade a photograph and restore it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from plugplay.pnp.results import Result

__all__ = ["demo"]

NOISE = 3 / 255


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the images.")] = Path("plugplay-demo"),
    denoiser: Annotated[str, typer.Option(help="Any name that `plugplay denoisers` lists.")] = "bm3d",
) -> None:
    """Blur and noise a photograph, restore it, and write before/after images and the convergence plot.

    Example: plugplay demo --out /tmp/demo
    """
    import plugplay as pp
    from plugplay.cli.checkpoints import Checkpoint
    from plugplay.cli.progress_display import Display
    from plugplay.cli.restoring import finish

    image = _photograph()
    camera = pp.models.Deblurring(pp.kernels.motion(17, 30), boundary="unknown")
    blurred = camera.simulate(image, noise=NOISE, rng=0)
    rows, columns = camera.kernel.shape
    truth = image[rows // 2 : rows // 2 + blurred.shape[0], columns // 2 : columns // 2 + blurred.shape[1]]

    typer.echo(f"A photograph of {truth.shape[0]} x {truth.shape[1]} pixels, blurred by motion, with noise 3/255.")
    plan = pp.prepare(blurred, camera, denoiser=denoiser, reference=truth)
    with Display(denoiser, plan.parameters, pixels=truth.size) as display:
        result = finish(plan, display, Checkpoint(None, "", 0))
    before, after = pp.psnr(blurred, truth), pp.psnr(result.image, truth)
    typer.echo(f"PSNR before {before:.2f} dB, after {after:.2f} dB, {len(result.history)} iterations.")
    typer.echo(str(result.status))
    for path in _write(out, blurred, result):
        typer.echo(f"wrote {path}")


def _photograph() -> NDArray[np.float32]:
    import numpy as np
    from skimage import data

    photograph: NDArray[np.uint8] = data.camera()
    return (photograph / 255).astype(np.float32)


def _write(folder: Path, blurred: NDArray[np.floating], result: Result) -> list[Path]:
    """Write the images and return their paths."""
    import numpy as np
    from matplotlib.figure import Figure
    from PIL import Image

    folder.mkdir(parents=True, exist_ok=True)
    comparison = Figure(figsize=(10, 5.3), layout="constrained")
    for axes, image, title in zip(comparison.subplots(1, 2), (blurred, result.image), ("before", "after"), strict=True):
        axes.imshow(np.clip(image, 0, 1), cmap="gray", vmin=0, vmax=1)
        axes.set_title(title)
        axes.set_axis_off()
    comparison.savefig(folder / "before-after.png", dpi=100)
    result.plot().savefig(folder / "convergence.png", dpi=100)
    for name, image in (("blurred.png", blurred), ("restored.png", result.image)):
        Image.fromarray(np.round(255 * np.clip(image, 0, 1)).astype(np.uint8)).save(folder / name)
    return [folder / name for name in ("before-after.png", "convergence.png", "blurred.png", "restored.png")]
