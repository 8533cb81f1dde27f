"""Restore a file by a task, with the same result as the command line."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

import plugplay as pp
from plugplay import io, kernels
from plugplay.arrays.scale import nominal_range
from plugplay.models.exposure import white_level
from plugplay.models.single_photon import CountedSinglePhoton
from plugplay.web.task import Sources, Task, TaskError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from plugplay.io.photons import PhotonCounts
    from plugplay.models.base import Model
    from plugplay.plan import Plan

__all__ = ["Problem", "blamed", "read_image"]


_FIELDS = {
    "kernel": "kernel",
    "noise": "noise",
    "mask": "mask_file",
    "reference": "reference_file",
    "denoiser": "denoiser",
}


@contextmanager
def blamed(where: str) -> Iterator[None]:
    """Add the field of the task that caused an error."""
    try:
        yield
    except TaskError:
        raise
    except (ValueError, TypeError) as error:
        # Messages of the library begin with the name of the parameter.
        first, _, _ = str(error).removeprefix("the ").partition(" ")
        raise TaskError(_FIELDS.get(first.rstrip(",:"), where), str(error)) from error


def read_image(path: Path) -> io.ImageFile:
    """Read an image under the limits of the command line, with the same range as an array."""
    image = io.read(path)
    return replace(image, data_range=nominal_range(image.pixels.dtype, None))


@dataclass
class Problem:
    """A file and its task; everything is read once, when it is needed.

    Examples
    --------
    >>> import pathlib, tempfile, numpy as np
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "noisy.npy"
    >>> np.save(path, np.eye(16))
    >>> problem = Problem(Task.parse({"kind": "denoise", "denoiser": "tv", "noise": 0.1}), Sources(path))
    >>> problem.plan(0).run().image.shape
    (16, 16)
    """

    task: Task
    sources: Sources
    given: io.ImageFile | None = None
    warned: list[str] = field(default_factory=list)

    @cached_property
    def image(self) -> io.ImageFile:
        """The file; for a photon cube, the maximum-likelihood image."""
        if self.given is not None:
            return self.given
        with self.kept_warnings(), blamed("image"):
            if self.task.kind == "photon":
                first = self.photon_model.data_term(self.photon_counts).start()
                return io.ImageFile.of(np.clip(first, 0, 1).astype(np.float32), data_range=(0.0, 1.0))
            return read_image(self.sources.image)

    @property
    def pages(self) -> int:
        """How many images there are."""
        return 1 if self.task.kind == "photon" else int(self.image.pages.shape[0])

    @cached_property
    def reference(self) -> NDArray[Any] | None:
        """The true images, one for all pages or one for each, in the depth of their file."""
        if self.sources.reference is None:
            return None
        with self.kept_warnings(), blamed("reference_file"):
            truth = read_image(self.sources.reference)
            check_pages("reference", truth.pages.shape[0], self.pages)
            height, width = (n * self.task.scale for n in self.image.pages.shape[1:3])
            if truth.pages.shape[1:3] != (height, width) or truth.colour != self.image.colour:
                found = f"{truth.pages.shape[2]} x {truth.pages.shape[1]} pixels{' in colour' * truth.colour}"
                needed = f"{width} x {height}{' in colour' * self.image.colour}"
                raise ValueError(f"the reference has {found}, but the restored image will have {needed}")
            return truth.pages

    def observation(
        self, page: int, window: tuple[slice, slice] = (slice(None), slice(None))
    ) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Return the pixels of a page or of a window in it, and the mask of observed ones if any is missing."""
        pixels = self.image.pages[page][window]
        observed = None if self.masks is None else self.masks[page % len(self.masks)][window]
        finite = np.isfinite(pixels)
        if not finite.all():
            mask = observed if observed is None or observed.ndim == pixels.ndim else observed[..., None]
            observed = finite if mask is None else finite & mask
        return pixels, observed

    def plan(self, page: int) -> Plan:
        """Return the plan for a page."""
        task = self.task
        reference = None if self.reference is None else self.reference[page % len(self.reference)]
        if task.kind == "photon":
            return pp.prepare(
                self.photon_counts,
                self.photon_model,
                denoiser=task.denoiser,
                max_iter=task.max_iter,
                reference=reference,
            )
        pixels, mask = self.observation(page)
        return pp.prepare(
            pixels,
            self.model(mask),
            denoiser=task.denoiser,
            noise=task.noise_level,
            max_iter=task.max_iter,
            reference=reference,
            channel_axis=self.image.channel_axis,
            transfer=self.transfer,
            noise_floor=self.image.metadata.noise_floor,
        )

    @cached_property
    def transfer(self) -> str:
        """The curve that is undone, as the command line does by default."""
        optical = self.task.kind == "deblur" or (self.task.kind == "upscale" and not isinstance(self.kernel, str))
        return io.light_transfer(self.image, "auto", optical=optical)[0]

    def model(self, mask: NDArray[np.bool_] | None) -> Model:
        """Return the model of a page, with the defaults of the command line."""
        match self.task.kind:
            case "denoise":
                if mask is not None:
                    raise TaskError("kind", "It has NaN or infinite pixels: choose “missing pixels”, which fills them.")
                return pp.models.Denoising()
            case "inpaint":
                if mask is None:
                    raise TaskError("mask_file", "Which pixels are missing? Paint over them, or drop a mask.")
                return pp.models.Inpainting(mask)
            case "deblur":
                with blamed("kernel"):
                    return pp.models.Deblurring(self.kernel, boundary="unknown", mask=mask)
            case _:
                with blamed("kernel"):
                    return pp.models.SuperResolution(self.task.factor, self.kernel, boundary="reflect", mask=mask)

    def restored(self, images: list[NDArray[Any]], output: Path) -> io.ImageFile:
        """Return the file to be written, as its format holds it."""
        if self.task.kind == "photon":
            image = io.ImageFile.of(images[0].astype(np.float32), data_range=(0.0, 1.0))
            return image.converted(np.uint16)  # an image file holds integers, and 16 bits are more than photons tell
        floats: Literal["needed", "never"] = "needed" if io.holds_floats(output) else "never"
        with self.kept_warnings():
            return self.image.restored(images, factor=self.task.scale, floats=floats)

    @cached_property
    def kernel(self) -> Any:
        """The blur."""
        if self.sources.kernel is not None:
            with self.kept_warnings(), blamed("kernel_file"):
                return kernels.from_file(self.sources.kernel)
        if self.task.kernel in (None, "bicubic"):
            return "bicubic"
        with blamed("kernel"):
            return kernels.parse(str(self.task.kernel))

    @cached_property
    def masks(self) -> NDArray[np.bool_] | None:
        """Where pixels were observed, if there is a mask: one for all pages, or one for each."""
        if self.sources.mask is None or self.task.kind in ("denoise", "photon"):
            return None
        with self.kept_warnings(), blamed("mask_file"):
            drawn = read_image(self.sources.mask)
            check_pages("mask", drawn.pages.shape[0], self.pages)
            height, width = self.image.pages.shape[1:3]
            if drawn.pages.shape[1:3] != (height, width):
                rows, columns = drawn.pages.shape[1:3]
                raise ValueError(f"the mask has {columns} x {rows} pixels, but the image has {width} x {height}")
            return io.mask_from(drawn, "the mask", photograph=self.image)[0]

    @cached_property
    def _photons(self) -> PhotonCounts:
        options, works = self.task.photon, None
        if self.sources.mask is not None:
            with self.kept_warnings(), blamed("mask_file"):
                works = io.mask_from(read_image(self.sources.mask), "the mask")[0][0]
        with blamed("photon"):
            return io.photons.count_ones(
                self.sources.image,
                oversampling=options.oversampling,
                packed_axis=options.packed_axis,
                bit_order="big" if options.bit_order == "big" else "little",
                frame_shape=options.frame_shape,
                time_axis=options.time_axis,
                frames=options.frames,
                mask=works,
                defects=True,
            )

    @property
    def photon_counts(self) -> NDArray[np.int64]:
        """Ones and trials of every pixel of a photon cube, ``(2, H, W)``."""
        return np.stack([self._photons.ones, self._photons.trials])

    @property
    def photon_model(self) -> CountedSinglePhoton:
        """The sensor of a photon cube."""
        options, counts = self.task.photon, self._photons
        with blamed("photon"):
            dark = options.dark / counts.exposures
            if options.gain is None:  # as on the command line, white is what fills the range
                level = white_level(counts.ones, counts.trials, threshold=options.threshold, dark=dark)
                gain = level * counts.oversampling**2 / options.efficiency
            else:
                gain = options.gain / counts.exposures
            return CountedSinglePhoton(
                counts.oversampling,
                frames=counts.frames * counts.exposures,
                gain=gain,
                threshold=options.threshold,
                dark=dark,
                efficiency=options.efficiency,
            )

    @contextmanager
    def kept_warnings(self) -> Iterator[None]:
        """Collect warnings."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            yield
        for warning in caught:
            text = " ".join(str(warning.message).split())
            if issubclass(warning.category, UserWarning) and text not in self.warned:
                self.warned.append(text)


def check_pages(what: str, found: int, pages: int) -> None:
    """Accept one companion for all pages, or one for each."""
    if found not in (1, pages):
        raise ValueError(f"the {what} has {found} pages, but the image has {pages}: one is needed, or one for each")
