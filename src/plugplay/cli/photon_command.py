"""``plugplay photon``: images from single-photon sensors."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from plugplay.cli.batch import run
from plugplay.cli.jobs import STANDARD
from plugplay.cli.options import Common, UsageError, takes_common
from plugplay.cli.photon_verb import Cut, Layout, Photon, Sensor
from plugplay.cli.values import numbers

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
        str | None, typer.Option(metavar="H,W", help="Size of a frame in jots; needed for BIN files.")
    ] = None,
    time_axis: Annotated[
        int | None, typer.Option(help="Axis of the frames: the first, in MATLAB files the last.")
    ] = None,
    start: Annotated[int, typer.Option(min=0, help="The first frame to use, counted from 0.")] = 0,
    frames: Annotated[int | None, typer.Option(min=1, help="How many frames to use; all if not given.")] = None,
    window: Annotated[
        int | None, typer.Option(min=1, help="Make a video, as TIFF or NPY, with this many frames for each image.")
    ] = None,
    stride: Annotated[
        int | None, typer.Option(min=1, help="Frames from one image of a video to the next; by default --window.")
    ] = None,
    max_count: Annotated[
        int | None, typer.Option(min=1, help="Largest count per frame, e.g. 255 for sums of 255 binary frames.")
    ] = None,
    variable: Annotated[str | None, typer.Option(help="Which variable of a MATLAB file.")] = None,
    mask: Annotated[
        Path | None, typer.Option(help="White where a jot works; the others are left out. A file or a folder.")
    ] = None,
    defects: Annotated[
        bool, typer.Option("--defects/--no-defects", help="Find hot and dead jots, and leave them out.")
    ] = True,
    gain: Annotated[
        str, typer.Option(metavar="PHOTONS", help="Photons per pixel and frame at white; auto fills the range.")
    ] = "auto",
    threshold: Annotated[int, typer.Option(min=1, help="Photons that a jot needs to fire.")] = 1,
    dark: Annotated[
        str, typer.Option(metavar="COUNTS", help="Dark counts per jot and frame, or a cube taken without light.")
    ] = "0",
    efficiency: Annotated[float, typer.Option(help="Share of the photons that are detected.")] = 1.0,
    method: Annotated[
        Method,
        typer.Option(help="one-shot denoises the counts once, loop is the paper's; auto chooses for the cube."),
    ] = Method.AUTO,
) -> None:
    """Reconstruct an image from binary frames (NPY, MAT or BIN) of any size.

    For example:

        plugplay photon bits.npy -o image.png -K 4

        plugplay photon spad.npy -o image.tif --packed-axis 2 --mask good.png

        plugplay photon qis.bin -o image.png --frame-shape 1024,1024 --gain 0.5 --dark dark.bin

        plugplay photon spad.npy -o video.tif --window 100 --stride 25
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
        variable=variable,
        max_count=max_count,
    )
    if stride is not None and window is None:
        raise UsageError("--stride: it is the step of a video; say with --window how many frames each image has")
    cut = Cut(start=start, frames=frames, window=window, stride=stride)
    sensor = Sensor(gain=_gain(gain), threshold=threshold, dark=_dark(dark), efficiency=efficiency)
    asked = any(value is not None for value in (common.max_iter, common.tol)) or common.iteration != "admm"
    chosen = Method.LOOP if method is Method.AUTO and asked else method
    verb = Photon(layout, cut, sensor, mask, defects, chosen.value)
    run(common, verb, accepts=_is_cube, suffix="png" if window is None else "tif")


def _gain(text: str) -> float | None:
    """Return the photons at white; None to estimate them."""
    if text == "auto":
        return None
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--gain: a number of photons or auto is needed; got {text!r}") from None


def _dark(text: str) -> float | Path:
    """Return the dark counts, or the cube that tells them."""
    try:
        number = float(text)
    except ValueError:
        if not _is_cube(Path(text)):
            raise UsageError(f"--dark: a number, or a cube taken without light, is needed; got {text!r}") from None
        return Path(text)
    if not 0 <= number < float("inf"):
        raise UsageError(f"--dark: dark counts are 0 or more; got {text!r}")
    return number


def _is_cube(path: Path) -> bool:
    return path.suffix.lower() in (".npy", ".mat", ".bin")
