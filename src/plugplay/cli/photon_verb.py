"""The verb behind ``photon``: images from single-photon sensors."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plugplay.cli.jobs import Job, companion

if TYPE_CHECKING:
    from plugplay.cli.planning import Settings
    from plugplay.cli.sources import Page, Source
    from plugplay.io.photons import PhotonCounts
    from plugplay.models.base import Model

__all__ = ["Cut", "Layout", "Photon", "Sensor"]


@dataclass(frozen=True)
class Layout:
    """How a cube is stored: see `plugplay.io.photons.count_ones`."""

    oversampling: int
    packed_axis: int | None
    bit_order: str
    frame_shape: tuple[int, int] | None
    time_axis: int | None
    variable: str | None
    max_count: int | None

    def count(self, path: Path, *, oversampling: int | None = None, **options: Any) -> PhotonCounts:
        """Count the ones of a cube."""
        from plugplay import io

        return io.photons.count_ones(
            path,
            oversampling=self.oversampling if oversampling is None else oversampling,
            packed_axis=self.packed_axis,
            bit_order="little" if self.bit_order == "little" else "big",
            frame_shape=self.frame_shape,
            time_axis=self.time_axis,
            variable=self.variable,
            max_count=self.max_count,
            **options,
        )


@dataclass(frozen=True)
class Cut:
    """Which frames are used.

    Attributes
    ----------
    start : int
        The first.
    frames : int, optional
        How many; all if it is not given.
    window, stride : int, optional
        Frames for each image of a video, and from one to the next.
    """

    start: int
    frames: int | None
    window: int | None
    stride: int | None

    def starts(self, frames: int) -> list[int]:
        """Return the first frame of each image, if so many frames are used.

        Examples
        --------
        >>> Cut(start=10, frames=None, window=40, stride=20).starts(100)
        [10, 30, 50, 70]
        """
        if self.window is None:
            return [self.start]
        if self.window > frames:
            raise ValueError(f"--window is {self.window}, but there are only {frames} frames")
        return list(range(self.start, self.start + frames - self.window + 1, self.stride or self.window))


@dataclass(frozen=True)
class Sensor:
    """Properties of the sensor: see `plugplay.models.SinglePhoton`.

    Attributes
    ----------
    gain : float, optional
        Photons per pixel and frame at white; None to estimate them.
    threshold, efficiency
        As there.
    dark : float or Path
        Dark counts per jot and frame, or a cube taken without light.
    """

    gain: float | None
    threshold: int
    dark: float | Path
    efficiency: float


@dataclass(frozen=True, eq=False)
class _Recount:
    """Counts the ones of some frames, in this process or in another."""

    layout: Layout
    path: Path
    works: Any
    limit: int | None

    def __call__(self, start: int, frames: int) -> PhotonCounts:
        return self.layout.count(self.path, start=start, frames=frames, mask=self.works, limit=self.limit)


@dataclass(frozen=True)
class Photon:
    """The image was recorded by a single-photon sensor.

    Attributes
    ----------
    layout : Layout
        How cubes are stored.
    cut : Cut
        Which frames are used.
    sensor : Sensor
        Properties of the sensor.
    mask : Path, optional
        White where a jot works; a file or a folder.
    defects : bool
        Whether hot and dead jots are looked for.
    method : {"auto", "one-shot", "loop"}
        As in `plugplay.single_photon`.
    """

    layout: Layout
    cut: Cut
    sensor: Sensor
    mask: Path | None
    defects: bool
    method: str
    name: str = "photon"

    @property
    def makes_video(self) -> bool:
        """Whether the result is a video of independent images."""
        return self.cut.window is not None

    def files(self) -> dict[str, Path]:
        """Return the files that are read beside the input."""
        dark = {"--dark": self.sensor.dark} if isinstance(self.sensor.dark, Path) else {}
        return dark if self.mask is None else {"--mask": self.mask, **dark}

    def options(self) -> dict[str, Any]:
        """Return what decides about the result."""
        sensor = {**asdict(self.sensor), "dark": str(self.sensor.dark)}
        return {
            "layout": asdict(self.layout),
            "cut": asdict(self.cut),
            "sensor": sensor,
            "defects": self.defects,
            "method": self.method,
        }

    def read(self, path: Path, job: Job, settings: Settings) -> Source:
        """Count the ones of a cube, and estimate its exposure."""
        from plugplay import io
        from plugplay.cli.companions import mask_pages
        from plugplay.cli.photon_source import PhotonSource
        from plugplay.models.exposure import overexposed

        works, truth = None, None
        doubts: list[str] = []
        notes: list[str] = []
        if self.mask is not None:
            found = companion(self.mask, job, "mask", io.is_image_name)
            masks, doubts = mask_pages(io.read(found, limit=settings.limit), found)
            works = masks[0]
        if settings.reference is not None:
            truth = io.read(companion(settings.reference, job, "reference", io.is_image_name), limit=settings.limit)
        dark = self.sensor.dark
        if isinstance(dark, Path):
            dark, works = self._dark(dark, works, notes, settings)
        counts = self.layout.count(
            path,
            start=self.cut.start,
            frames=self.cut.frames,
            mask=works,
            defects=self.defects,
            limit=settings.limit,
        )
        if counts.hot or counts.dead:
            notes.append(f"{counts.hot} hot and {counts.dead} dead jots were found and left out")
        starts = self.cut.starts(counts.frames)
        windows = None
        if self.cut.window is not None:
            windows = tuple((start, self.cut.window) for start in starts)
        # An image file holds integers, and 16 bits are more than the photons tell.
        integers = job.target is None or job.target.suffix.lower() == ".png"
        return PhotonSource(
            counts=counts,
            gain=self._gain(counts, dark, notes),
            dark=dark,
            reference=truth,
            integers=integers,
            doubts=(*doubts, *(counts.doubts or overexposed(counts.ones, counts.trials))),
            notes=tuple(notes),
            recount=_Recount(self.layout, path, counts.works, settings.limit),
            windows=windows,
        )

    def size(self, path: Path, settings: Settings) -> str:  # noqa: ARG002
        """Say how large the cube is; counting its ones would be most of the work."""
        return f"{path.stat().st_size / 1e6:.1f} MB"

    def model(self, source: Source, page: Page) -> Model:
        """Return the sensor."""
        from plugplay.cli.photon_source import PhotonSource
        from plugplay.models.single_photon import CountedSinglePhoton
        from plugplay.models.stabilised_photons import StabilisedPhotons, are_stable

        assert isinstance(source, PhotonSource)  # `read` made it
        # One denoising, unless many jots are missing or the loop is asked for.
        once = self.method == "one-shot" or (self.method == "auto" and are_stable(page.pixels[1]))
        sensor = StabilisedPhotons if once else CountedSinglePhoton
        counts = source.counts
        frames = counts.frames if self.cut.window is None else self.cut.window
        return sensor(
            counts.oversampling,
            frames=frames * counts.exposures,
            gain=source.gain / counts.exposures,
            threshold=self.sensor.threshold,
            dark=source.dark / counts.exposures,
            efficiency=self.sensor.efficiency,
        )

    def _dark(self, path: Path, works: Any, notes: list[str], settings: Settings) -> tuple[float, Any]:
        """Return the dark counts that a cube tells, and the mask without the jots that are hot in it."""
        from plugplay.models.exposure import dark_counts

        dark = self.layout.count(path, oversampling=1, mask=works, limit=settings.limit)
        rate, hot = dark_counts(dark.ones, dark.trials, threshold=self.sensor.threshold)
        rate *= dark.exposures
        notes.append(f"{rate:.3g} dark counts per jot and frame, and {int(hot.sum())} hot jots, in {path.name}")
        return rate, ~hot if works is None else works & ~hot

    def _gain(self, counts: PhotonCounts, dark: float, notes: list[str]) -> float:
        """Return the photons per pixel and frame at white, as given or estimated."""
        from plugplay.models.exposure import white_level

        if self.sensor.gain is not None:
            return self.sensor.gain
        level = white_level(counts.ones, counts.trials, threshold=self.sensor.threshold, dark=dark / counts.exposures)
        gain = level * counts.exposures * counts.oversampling**2 / self.sensor.efficiency
        notes.append(f"white is {gain:.4g} photons per pixel and frame, estimated; --gain sets it")
        return gain
