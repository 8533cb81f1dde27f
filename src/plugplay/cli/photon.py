"""``plugplay photon``: images from single-photon sensors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from plugplay.cli.batch import Product, Runner, run
from plugplay.cli.jobs import companion
from plugplay.cli.options import Common, UsageError, numbers, takes_common

if TYPE_CHECKING:
    from plugplay.pnp.results import Result
    from plugplay.restoration import RestoreOptions

__all__ = ["photon"]


@takes_common
def photon(
    common: Common,
    oversampling: Annotated[
        int, typer.Option("--oversampling", "-K", min=1, help="Jots along each side of a pixel.")
    ] = 1,
    packed_axis: Annotated[
        int | None, typer.Option(help="Axis along which eight jots share a byte, e.g. 2 for (T, H, W/8).")
    ] = None,
    bit_order: Annotated[str, typer.Option(help="Which bit of a byte comes first: big (highest) or little.")] = "big",
    frame_shape: Annotated[
        str | None, typer.Option(metavar="H,W", help="Jots of a frame; needed for BIN files.")
    ] = None,
    time_axis: Annotated[
        int | None, typer.Option(help="Axis of the frames: the first, in MATLAB files the last.")
    ] = None,
    frames: Annotated[int | None, typer.Option(min=1, help="How many frames to use; all if not given.")] = None,
    variable: Annotated[str | None, typer.Option(help="Which variable of a MATLAB file.")] = None,
    mask: Annotated[
        Path | None, typer.Option(help="White where a jot works; hot jots are left out. A file or a folder.")
    ] = None,
    gain: Annotated[
        float | None, typer.Option(help="Photons per pixel and frame at white; one per jot if not given.")
    ] = None,
    threshold: Annotated[int, typer.Option("--threshold", "-q", min=1, help="Photons that a jot needs to fire.")] = 1,
    dark: Annotated[float, typer.Option(min=0, help="Dark counts per jot and frame.")] = 0.0,
    efficiency: Annotated[float, typer.Option(help="Share of the photons that are detected.")] = 1.0,
) -> None:
    """Make an image of binary frames (NPY, MAT or BIN) of any size.

    For example:

        plugplay photon bits.npy -o image.png -K 4

        plugplay photon spad.npy -o image.tif --packed-axis 2 --mask good.png

        plugplay photon qis.bin -o image.png --frame-shape 1024,1024 --gain 0.5
    """
    import numpy as np

    import plugplay as pp
    from plugplay import io
    from plugplay.cli.companions import mask_of
    from plugplay.io import ImageFile

    shape = numbers(frame_shape, "--frame-shape", int)
    if bit_order not in ("big", "little"):
        raise UsageError(f"--bit-order is big or little; got {bit_order!r}")

    def process(runner: Runner) -> Product:
        works = None
        if mask is not None:
            white = io.read(companion(mask, runner.job, "mask", io.is_image_name))
            works = mask_of(white.pages[:1], colour=white.colour)[0]
        counts = pp.io.photons.count_ones(
            runner.job.source,
            oversampling=oversampling,
            packed_axis=packed_axis,
            bit_order="big" if bit_order == "big" else "little",
            frame_shape=shape,
            time_axis=time_axis,
            frames=frames,
            variable=variable,
            mask=works,
        )

        def restore(options: RestoreOptions) -> Result:
            return pp.single_photon(counts, gain=gain, threshold=threshold, dark=dark, efficiency=efficiency, **options)

        reference = None if runner.reference is None else runner.reference.unit_pages()[0]
        result = runner.restore(restore, reference=reference)
        image = ImageFile.of(result.image.astype(np.float32), data_range=(0.0, 1.0))
        # An image file holds integers, and 16 bits are more than the photons tell.
        stored = image.converted(np.uint16) if runner.job.target.suffix.lower() == ".png" else image
        fired = counts.ones / np.maximum(counts.trials, 1)
        return Product(stored, fired * stored.data_range[1], (result,))

    run(common, process, accepts=_is_cube, suffix="png")


def _is_cube(path: Path) -> bool:
    return path.suffix.lower() in (".npy", ".mat", ".bin")
