"""From the text of an option to its value; errors begin with the option's own spelling."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plugplay.cli.options import UsageError
from plugplay.cli.terminal import err

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from plugplay.noise.growing import PoissonGaussian

__all__ = ["crop_box", "data_range", "kernel_file", "kernel_taps", "noise_level", "numbers", "size_limit"]


def noise_level(text: str) -> float | PoissonGaussian | None:
    """Return what ``auto``, ``5/255``, ``0.02``, ``poisson`` or ``poisson:0.01,0.02`` stands for; None is automatic.

    Examples
    --------
    >>> noise_level("auto"), noise_level("51/255"), noise_level("poisson:0.01,0.02")
    (None, 0.2, PoissonGaussian(gain=0.01, read=0.02, offset=0.0))
    """
    if text == "auto":
        return None
    word, colon, rest = text.partition(":")
    if word == "poisson":
        from plugplay.noise.growing import PoissonGaussian

        gain, read = numbers(rest, "--noise poisson:", float, 2) if colon else (None, None)
        try:
            return PoissonGaussian(gain, read)
        except ValueError as error:
            raise UsageError(f"--noise: {error}") from None
    try:
        above, slash, below = text.partition("/")
        level = float(above) / (float(below) if slash else 1.0)
    except (ValueError, ZeroDivisionError):
        level = -1.0
    if not 0 <= level < math.inf:
        raise UsageError(
            f"--noise: auto, poisson, or a standard deviation on the scale [0, 1] like 5/255 is needed; got {text!r}"
        )
    return level


def numbers(text: str, option: str, kind: type[float] | type[int], count: int) -> tuple[Any, ...]:
    """Return the numbers of an option like ``0,4095``.

    Examples
    --------
    >>> numbers("512,256", "--frame-shape", int, 2)
    (512, 256)
    """
    try:
        found = tuple(kind(part) for part in text.split(","))
    except ValueError:
        found = ()
    if len(found) != count:
        words = {2: "two", 4: "four"}[count]
        raise UsageError(f"{option}: {words} numbers with commas between them are needed; got {text!r}")
    return found


def data_range(text: str | None) -> tuple[float, float] | None:
    """Return the values that mean black and white, or None if they were not given."""
    if text is None:
        return None
    low, high = numbers(text, "--data-range", float, 2)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise UsageError(f"--data-range: black must be below white, as in 0,4095; got {text!r}")
    return low, high


def crop_box(text: str | None) -> tuple[int, int, int, int] | None:
    """Return x, y, width and height of the part that is wanted, or None for the whole image."""
    if text is None:
        return None
    x, y, width, height = numbers(text, "--crop", int, 4)
    if x < 0 or y < 0 or width < 1 or height < 1:
        raise UsageError(f"--crop: x and y from the upper left corner, width and height are needed; got {text!r}")
    return x, y, width, height


def size_limit(text: str | None, option: str = "--max-size") -> int | None:
    """Return the bytes of an option such as ``--max-size``, or None if it is not given."""
    from plugplay.io import parse_size

    try:
        return None if text is None else parse_size(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None


def kernel_taps(text: str) -> NDArray[np.float64]:
    """Return the kernel that ``--kernel`` describes."""
    from plugplay import kernels

    with warnings.catch_warnings(record=True) as noticed:
        warnings.simplefilter("always", UserWarning)
        try:
            taps = kernels.parse(text)
        except (ValueError, OSError) as error:
            raise UsageError(f"--kernel: {error}") from None
    for each in noticed:
        err(f"warning: {each.message}")
    return taps


def kernel_file(text: str) -> Path | None:
    """Return the file that ``--kernel`` names, if it names one.

    Examples
    --------
    >>> kernel_file("motion:15,30") is None
    True
    """
    path = Path(text)
    return path if path.is_file() else None
