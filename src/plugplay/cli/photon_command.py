"""``plugplay photon``: images from single-photon sensors."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from plugplay.cli.batch import run
from plugplay.cli.jobs import STANDARD, Job, companion
from plugplay.cli.options import Common, UsageError, takes_common
from plugplay.cli.values import numbers

if TYPE_CHECKING:
    from plugplay.cli.planning import Settings
    from plugplay.cli.sources import Page, Source
    from plugplay.models.base import Model

__all__ = ["photon"]


class Method(StrEnum):
    """How the image is made of the counts."""

    AUTO = "auto"
    ONE_SHOT = "one-shot"
    LOOP = "loop"


class BitOrder(StrEnum):
    """Which bit of a byte is the first of eight jots."""

    BIG = "big"
    LITTLE = "little"


@takes_common
def photon(
    common: Common,
    oversampling: Annotated[
        int,
        typer.Option("--oversampling", "-K", min=1, help="Jots (binary pixels) along each side of an image pixel."),
    ] = 1,
    packed_axis: Annotated[
        int | None, typer.Option(help="Axis along which eight jots share a byte, e.g. 2 for (T, H, W/8).")
    ] = None,
    bit_order: Annotated[
        BitOrder, typer.Option(help="Which bit of a byte comes first: big is the highest.")
    ] = BitOrder.BIG,
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
    threshold: Annotated[int, typer.Option(min=1, help="Photons that a jot needs to fire.")] = 1,
    dark: Annotated[float, typer.Option(min=0, help="Dark counts per jot and frame.")] = 0.0,
    efficiency: Annotated[float, typer.Option(help="Share of the photons that are detected.")] = 1.0,
    method: Annotated[
        Method,
        typer.Option(help="one-shot denoises the counts once, loop is the paper's; auto takes what suits the cube."),
    ] = Method.AUTO,
) -> None:
    """Make an image of binary frames (NPY, MAT or BIN) of any size.

    For example:

        plugplay photon bits.npy -o image.png -K 4

        plugplay photon spad.npy -o image.tif --packed-axis 2 --mask good.png

        plugplay photon qis.bin -o image.png --frame-shape 1024,1024 --gain 0.5
    """
    if STANDARD in common.inputs:
        raise UsageError("photon cubes are read from files, not from standard input")
    height, width = (None, None) if frame_shape is None else numbers(frame_shape, "--frame-shape", int, 2)
    layout = Layout(
        oversampling=oversampling,
        packed_axis=packed_axis,
        bit_order=bit_order.value,
        frame_shape=None if height is None else (height, width),
        time_axis=time_axis,
        frames=frames,
        variable=variable,
    )
    sensor = Sensor(gain=gain, threshold=threshold, dark=dark, efficiency=efficiency)
    asked = any(value is not None for value in (common.max_iter, common.tol)) or common.iteration != "admm"
    chosen = Method.LOOP if method is Method.AUTO and asked else method
    run(common, Photon(layout, sensor, mask, chosen.value), accepts=_is_cube, suffix="png")


@dataclass(frozen=True)
class Layout:
    """How a cube is stored: see `plugplay.io.photons.count_ones`."""

    oversampling: int
    packed_axis: int | None
    bit_order: str
    frame_shape: tuple[int, int] | None
    time_axis: int | None
    frames: int | None
    variable: str | None


@dataclass(frozen=True)
class Sensor:
    """What the sensor does: see `plugplay.models.SinglePhoton`."""

    gain: float | None
    threshold: int
    dark: float
    efficiency: float


@dataclass(frozen=True)
class Photon:
    """The image was counted, photon by photon.

    Attributes
    ----------
    layout : Layout
        How cubes are stored.
    sensor : Sensor
        What the sensor does.
    mask : Path, optional
        White where a jot works; a file or a folder.
    method : {"auto", "one-shot", "loop"}
        As in `plugplay.single_photon`.
    """

    layout: Layout
    sensor: Sensor
    mask: Path | None
    method: str
    name: str = "photon"

    def files(self) -> dict[str, Path]:
        """Return the files that are read beside the input."""
        return {} if self.mask is None else {"--mask": self.mask}

    def options(self) -> dict[str, Any]:
        """Return what decides about the result."""
        return {"layout": asdict(self.layout), "sensor": asdict(self.sensor), "method": self.method}

    def read(self, path: Path, job: Job, settings: Settings) -> Source:
        """Count the ones of a cube."""
        from plugplay import io
        from plugplay.cli.companions import mask_pages
        from plugplay.cli.sources import PhotonSource

        works, truth = None, None
        doubts: list[str] = []
        if self.mask is not None:
            found = companion(self.mask, job, "mask", io.is_image_name)
            masks, doubts = mask_pages(io.read(found, limit=settings.limit), found)
            works = masks[0]
        if settings.reference is not None:
            truth = io.read(companion(settings.reference, job, "reference", io.is_image_name), limit=settings.limit)
        counts = io.photons.count_ones(
            path,
            oversampling=self.layout.oversampling,
            packed_axis=self.layout.packed_axis,
            bit_order="little" if self.layout.bit_order == "little" else "big",
            frame_shape=self.layout.frame_shape,
            time_axis=self.layout.time_axis,
            frames=self.layout.frames,
            variable=self.layout.variable,
            mask=works,
            limit=settings.limit,
        )
        # An image file holds integers, and 16 bits are more than the photons tell.
        integers = job.target is None or job.target.suffix.lower() == ".png"
        return PhotonSource(counts, truth, integers, tuple(doubts))

    def size(self, path: Path, settings: Settings) -> str:  # noqa: ARG002
        """Say how large the cube is; counting its ones would be most of the work."""
        return f"{path.stat().st_size / 1e6:.1f} MB"

    def model(self, source: Source, page: Page) -> Model:  # noqa: ARG002
        """Return the sensor."""
        from plugplay.cli.sources import PhotonSource
        from plugplay.models.single_photon import CountedSinglePhoton
        from plugplay.models.stabilised_photons import StabilisedPhotons, are_stable

        assert isinstance(source, PhotonSource)  # `read` made it
        # One denoising, unless jots are missing or the loop is asked for.
        once = self.method == "one-shot" or (self.method == "auto" and are_stable(source.counts.trials))
        sensor = StabilisedPhotons if once else CountedSinglePhoton
        return sensor(
            source.counts.oversampling,
            frames=source.counts.frames,
            gain=self.sensor.gain,
            threshold=self.sensor.threshold,
            dark=self.sensor.dark,
            efficiency=self.sensor.efficiency,
        )


def _is_cube(path: Path) -> bool:
    return path.suffix.lower() in (".npy", ".mat", ".bin")
