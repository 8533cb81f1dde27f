"""The verbs behind ``denoise``, ``deblur``, ``inpaint`` and ``upscale``: models, inputs and options of each command."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plugplay.cli.values import kernel_file

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from plugplay.cli.jobs import Job
    from plugplay.cli.planning import Settings
    from plugplay.cli.sources import ImageSource, Page, Source
    from plugplay.models.base import Model

__all__ = ["Deblur", "Denoise", "Inpaint", "Upscale"]


@dataclass(frozen=True)
class Denoise:
    """Noise was added to the image."""

    name: str = "denoise"
    optical: bool = False

    def files(self) -> dict[str, Path]:
        """Return the files that are read beside the input: none."""
        return {}

    def options(self) -> dict[str, Any]:
        """Return what decides about the result: nothing."""
        return {}

    def read(self, path: Path, job: Job, settings: Settings) -> Source:
        """Read an image file."""
        return _read(path, job, settings, None)

    def size(self, path: Path, settings: Settings) -> str:
        """Say how large the result is."""
        return _size(path, settings)

    def model(self, source: Source, page: Page) -> Model:  # noqa: ARG002
        """Return the model of a page."""
        import plugplay as pp

        if page.observed is not None:
            raise ValueError("it has NaN or infinite pixels; plugplay inpaint treats them as missing")
        return pp.models.Denoising()


@dataclass(frozen=True)
class Deblur:
    """The image was blurred by a known kernel.

    Attributes
    ----------
    kernel : str
        The kernel as the user typed it.
    taps : array
        The kernel as an array.
    boundary : str
        What lies beyond the frame.
    mask : Path, optional
        A mask, or a folder of them.
    exact : bool
        Whether the kernel is kept, whatever the data say.
    """

    kernel: str
    taps: NDArray[np.float64]
    boundary: str
    mask: Path | None
    exact: bool = False
    name: str = "deblur"
    optical: bool = True

    def files(self) -> dict[str, Path]:
        """Return the files that are read beside the input."""
        return _named(mask=self.mask, kernel=kernel_file(self.kernel))

    def options(self) -> dict[str, Any]:
        """Return what decides about the result."""
        return {"kernel": self.kernel, "boundary": self.boundary, "exact_kernel": self.exact}

    def read(self, path: Path, job: Job, settings: Settings) -> Source:
        """Read an image file and its mask; with a kernel of three axes, its pages are slices of a volume."""
        source = _read(path, job, settings, self.mask, optical=self.optical)
        if self.taps.ndim == 2:
            return source
        from plugplay.cli.volumes import volumes_of

        return volumes_of(source)

    def size(self, path: Path, settings: Settings) -> str:
        """Say how large the result is."""
        return _size(path, settings)

    def model(self, source: Source, page: Page) -> Model:  # noqa: ARG002
        """Return the model of a page."""
        import plugplay as pp

        return pp.models.Deblurring(self.taps, boundary=self.boundary, mask=page.observed, exact=self.exact)


@dataclass(frozen=True)
class Inpaint:
    """Pixels of the image are missing.

    Attributes
    ----------
    mask : Path, optional
        A mask, or a folder of them.
    """

    mask: Path | None
    name: str = "inpaint"
    optical: bool = False

    def files(self) -> dict[str, Path]:
        """Return the files that are read beside the input."""
        return _named(mask=self.mask)

    def options(self) -> dict[str, Any]:
        """Return what decides about the result: nothing but the mask."""
        return {}

    def read(self, path: Path, job: Job, settings: Settings) -> Source:
        """Read an image file and its mask; a mask that marks nothing is questioned, as there is nothing to fill in."""
        import numpy as np

        from plugplay.arrays.masks import nothing_missing

        source = _read(path, job, settings, self.mask)
        if source.masks is None or not np.isfinite(source.image.pages).all():
            return source
        return replace(source, doubts=(*source.doubts, *nothing_missing(source.masks)))

    def size(self, path: Path, settings: Settings) -> str:
        """Say how large the result is."""
        return _size(path, settings)

    def model(self, source: Source, page: Page) -> Model:  # noqa: ARG002
        """Return the model of a page."""
        import plugplay as pp

        if page.observed is None:
            raise ValueError("no missing pixels are marked: give --mask, white where observed, or set them to NaN")
        return pp.models.Inpainting(page.observed)


@dataclass(frozen=True)
class Upscale:
    """The image was blurred and shrunk.

    Attributes
    ----------
    factor : int
        How many times larger the result is.
    kernel, taps, boundary, mask
        As in `Deblur`; taps are None for bicubic.
    """

    factor: int
    kernel: str
    taps: NDArray[np.float64] | None
    boundary: str
    mask: Path | None
    name: str = "upscale"

    @property
    def optical(self) -> bool:
        """Whether the degradation acted on light, as that of a lens, and not on stored values, as that of a library."""
        return self.taps is not None

    def files(self) -> dict[str, Path]:
        """Return the files that are read beside the input."""
        return _named(mask=self.mask, kernel=None if self.taps is None else kernel_file(self.kernel))

    def options(self) -> dict[str, Any]:
        """Return what decides about the result."""
        return {"factor": self.factor, "kernel": self.kernel, "boundary": self.boundary}

    def read(self, path: Path, job: Job, settings: Settings) -> Source:
        """Read an image file and its mask."""
        # A bicubic image is sampled in the middle of each cell, others at its first pixel.
        first = None if self.taps is None else 0.0
        return _read(path, job, settings, self.mask, self.factor, first, optical=self.optical)

    def size(self, path: Path, settings: Settings) -> str:
        """Say how large the result is."""
        return _size(path, settings, self.factor)

    def model(self, source: Source, page: Page) -> Model:  # noqa: ARG002
        """Return the model of a page."""
        import plugplay as pp

        taps: Any = "bicubic" if self.taps is None else self.taps
        return pp.models.SuperResolution(self.factor, taps, boundary=self.boundary, mask=page.observed)


def _read(
    path: Path,
    job: Job,
    settings: Settings,
    mask: Path | None,
    factor: int = 1,
    offset: float | None = None,
    *,
    optical: bool = False,
) -> ImageSource:
    from plugplay.cli.sources import read_image

    return read_image(
        path,
        job,
        mask=mask,
        reference=settings.reference,
        data_range=settings.data_range,
        crop=settings.crop,
        limit=settings.limit,
        factor=factor,
        offset=offset,
        linear=settings.linear,
        optical=optical,
    )


def _size(path: Path, settings: Settings, factor: int = 1) -> str:
    from plugplay import io

    image = io.read(path, limit=settings.limit)
    count, height, width = image.pages.shape[:3]
    if settings.crop is not None:
        width, height = settings.crop[2:]
    pages = f", {count} pages" if count > 1 else ""
    colour = f", {image.pixels.shape[-1]} channels" if image.colour else ""
    return f"{factor * width} x {factor * height}{colour}, {image.pixels.dtype}{pages}"


def _named(**files: Path | None) -> dict[str, Path]:
    return {f"--{name}": path for name, path in files.items() if path is not None}
