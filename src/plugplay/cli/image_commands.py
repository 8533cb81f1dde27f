"""``plugplay denoise``, ``deblur``, ``inpaint`` and ``upscale``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from plugplay.cli.batch import run
from plugplay.cli.image_verbs import Deblur, Denoise, Inpaint, Upscale
from plugplay.cli.options import Boundary, ImageCommon, MaskOption, UsageError, takes_common
from plugplay.cli.values import kernel_taps

__all__ = ["deblur", "denoise", "inpaint", "upscale"]


@takes_common
def denoise(common: ImageCommon) -> None:
    """Remove noise.

    For example:

        plugplay denoise noisy.png -o clean.png

        plugplay denoise scans/ -o clean/ --noise 5/255 --json
    """
    run(common, Denoise())


@takes_common
def deblur(
    common: ImageCommon,
    kernel: Annotated[
        str | None,
        typer.Option(
            "--kernel",
            "-k",
            help="The blur: gaussian:1.6, disk:5, motion:15,30, box:9, or an image, NPY or FITS file.",
            show_default=False,
        ),
    ] = None,
    boundary: Annotated[Boundary, typer.Option(help="What lies beyond the frame.")] = Boundary.UNKNOWN,
    mask: MaskOption = None,
    exact_kernel: Annotated[
        bool,
        typer.Option(
            "--exact-kernel", help="Keep the kernel even if the data clearly fit another width or angle better."
        ),
    ] = False,
    contact_sheet: Annotated[
        Path | None,
        typer.Option(
            help="Write a sheet of trials instead: kernels similar to --kernel, or of all kinds, and strengths.",
            rich_help_panel="Reports",
        ),
    ] = None,
) -> None:
    """Undo a known blur.

    For example:

        plugplay deblur photo.jpg -o sharp.jpg --kernel motion:15,30

        plugplay deblur galaxy.fits -o sharp.fits -k psf.fits --mask good.fits

        plugplay deblur photo.jpg --contact-sheet sheet.png --crop 400,300,256,256
    """
    if contact_sheet is not None:
        from plugplay.cli.contact_sheet import write_contact_sheet

        write_contact_sheet(common, contact_sheet, kernel, boundary=boundary.value, mask=mask)
        return
    if kernel is None:
        raise UsageError("--kernel is required: the blur to undo; --contact-sheet helps to find it")
    run(common, Deblur(kernel, kernel_taps(kernel), boundary.value, mask, exact_kernel))


@takes_common
def inpaint(common: ImageCommon, mask: MaskOption = None) -> None:
    """Fill in missing pixels.

    For example:

        plugplay inpaint scratched.png -o whole.png --mask observed.png

        plugplay inpaint frames/ -o filled/ --mask masks/
    """
    run(common, Inpaint(mask))


@takes_common
def upscale(
    common: ImageCommon,
    factor: Annotated[int, typer.Option("--factor", "-f", min=1, help="How many times larger.")] = 2,
    kernel: Annotated[
        str, typer.Option("--kernel", "-k", help="How the image was shrunk: bicubic, or a blur as for deblur.")
    ] = "bicubic",
    boundary: Annotated[Boundary, typer.Option(help="What lies beyond the frame.")] = Boundary.REFLECT,
    mask: MaskOption = None,
) -> None:
    """Enlarge an image, with detail.

    For example:

        plugplay upscale small.png -o large.png --factor 4

        plugplay upscale "thumbs/*.jpg" -o large/ --format png -k gaussian:1,9
    """
    taps = None if kernel == "bicubic" else kernel_taps(kernel)
    run(common, Upscale(factor, kernel, taps, boundary.value, mask))
