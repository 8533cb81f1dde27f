"""``plugplay denoise``, ``deblur``, ``inpaint`` and ``upscale``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from plugplay.cli.batch import Product, Runner, run
from plugplay.cli.jobs import companion
from plugplay.cli.options import (
    Boundary,
    Common,
    KernelOption,
    MaskOption,
    NoiseOption,
    UsageError,
    noise_level,
    takes_common,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from plugplay.noise.growing import PoissonGaussian
    from plugplay.pnp.results import Result
    from plugplay.restoration import RestoreOptions

__all__ = ["deblur", "denoise", "inpaint", "upscale"]

# (pixels, mask or None, options) -> result
PageRestorer = Callable[["NDArray[Any]", "NDArray[Any] | None", "RestoreOptions"], "Result"]


@takes_common
def denoise(common: Common, noise: NoiseOption = "auto") -> None:
    """Remove noise.

    For example:

        plugplay denoise noisy.png -o clean.png

        plugplay denoise scans/ -o clean/ --noise 5/255 --json
    """
    import plugplay as pp

    def restore(pixels: NDArray[Any], mask: NDArray[Any] | None, options: RestoreOptions) -> Result:
        if mask is not None:
            raise ValueError("it has NaN or infinite pixels; plugplay inpaint treats them as missing")
        return pp.denoise(pixels, **options)

    _run(common, restore, noise=noise, usual_limit=1)  # the denoiser itself, once


@takes_common
def deblur(
    common: Common,
    kernel: KernelOption,
    noise: NoiseOption = "auto",
    boundary: Annotated[Boundary, typer.Option(help="What lies beyond the frame.")] = Boundary.UNKNOWN,
    mask: MaskOption = None,
) -> None:
    """Undo a known blur.

    For example:

        plugplay deblur photo.jpg -o sharp.jpg --kernel motion:15,30

        plugplay deblur galaxy.fits -o sharp.fits -k psf.fits --mask good.fits
    """
    import plugplay as pp

    blur = _kernel(kernel)

    def restore(pixels: NDArray[Any], mask: NDArray[Any] | None, options: RestoreOptions) -> Result:
        return pp.deblur(pixels, blur, boundary=boundary.value, mask=mask, **options)

    _run(common, restore, noise=noise, mask=mask)


@takes_common
def inpaint(common: Common, mask: MaskOption = None, noise: NoiseOption = "auto") -> None:
    """Fill in missing pixels.

    For example:

        plugplay inpaint scratched.png -o whole.png --mask observed.png

        plugplay inpaint frames/ -o filled/ --mask masks/
    """
    import plugplay as pp

    def restore(pixels: NDArray[Any], mask: NDArray[Any] | None, options: RestoreOptions) -> Result:
        if mask is None:
            raise ValueError("which pixels are missing? Give --mask, white where observed, or mark them by NaN")
        return pp.inpaint(pixels, mask, **options)

    _run(common, restore, noise=noise, mask=mask)


@takes_common
def upscale(
    common: Common,
    factor: Annotated[int, typer.Option("--factor", "-f", min=1, help="How many times larger.")] = 2,
    kernel: Annotated[
        str, typer.Option("--kernel", "-k", help="How the image was shrunk: bicubic, or a blur as for deblur.")
    ] = "bicubic",
    noise: NoiseOption = "auto",
    boundary: Annotated[Boundary, typer.Option(help="What lies beyond the frame.")] = Boundary.REFLECT,
    mask: MaskOption = None,
) -> None:
    """Enlarge an image, with detail.

    For example:

        plugplay upscale small.png -o large.png --factor 4

        plugplay upscale "thumbs/*.jpg" -o large/ --format png -k gaussian:1,9
    """
    import plugplay as pp

    blur: Any = "bicubic" if kernel == "bicubic" else _kernel(kernel)

    def restore(pixels: NDArray[Any], mask: NDArray[Any] | None, options: RestoreOptions) -> Result:
        return pp.super_resolve(pixels, factor, blur, boundary=boundary.value, mask=mask, **options)

    _run(common, restore, noise=noise, mask=mask, factor=factor)


def _run(
    common: Common,
    restore: PageRestorer,
    *,
    noise: str,
    mask: Path | None = None,
    factor: int = 1,
    usual_limit: int | None = None,
) -> None:
    level = noise_level(noise)

    def process(runner: Runner) -> Product:
        return _process(runner, restore, noise=level, mask=mask, factor=factor)

    run(common, process, usual_limit=usual_limit)


def _process(
    runner: Runner, restore: PageRestorer, *, noise: float | PoissonGaussian | None, mask: Path | None, factor: int
) -> Product:
    """Read a file and restore its pages, each on its own."""
    from plugplay import io
    from plugplay.cli.companions import mask_pages, reference_pages, usable

    image = io.read(runner.job.source)
    if runner.data_range is not None:
        image = replace(image, data_range=runner.data_range)
    masks = None
    if mask is not None:
        found = companion(mask, runner.job, "mask", io.is_image_name)
        masks = mask_pages(io.read(found), image)
    references = reference_pages(runner.reference, image)
    count = image.pages.shape[0]
    results = []
    for page, pixels in enumerate(image.pages):
        filled, observed = usable(pixels, None if masks is None else masks[page % len(masks)])

        def restore_page(
            options: RestoreOptions, pixels: NDArray[Any] = filled, observed: NDArray[Any] | None = observed
        ) -> Result:
            return restore(
                pixels,
                observed,
                {**options, "noise": noise, "channel_axis": image.channel_axis, "data_range": image.data_range},
            )

        reference = None if references is None else references[page % len(references)]
        results.append(runner.restore(restore_page, page=page, pages=count, reference=reference))
    restored = image.restored([result.image for result in results], factor=factor)
    return Product(restored, image.pages[0], tuple(results))


def _kernel(text: str) -> NDArray[np.float64]:
    from plugplay import kernels

    try:
        return kernels.parse(text)
    except ValueError as error:
        raise UsageError(f"--kernel: {error}") from None
