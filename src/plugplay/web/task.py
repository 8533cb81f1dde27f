"""`Task`: the request of a client, all of whose values are checked here before use."""

from __future__ import annotations

import math
import re
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from pathlib import Path

    from plugplay.noise.growing import PoissonGaussian

__all__ = ["KINDS", "PhotonOptions", "Sources", "Task", "TaskError", "check_kernel_words"]

KINDS = ("denoise", "deblur", "upscale", "inpaint", "photon")
"""Noise, blur, low resolution, missing pixels, single photons: named after the commands."""

# Limits of the numbers in kernel descriptions, so that no request allocates a kernel of gigabytes.
_KERNEL_LIMITS: dict[str, tuple[tuple[float, float], ...]] = {
    "gaussian": ((0.05, 40.0), (1.0, 321.0)),
    "disk": ((0.1, 100.0),),
    "motion": ((1.0, 300.0), (-360.0, 360.0)),
    "box": ((1.0, 200.0), (1.0, 200.0)),
}
_IDENTIFIER = re.compile(r"[0-9a-f]{32}")
_NUMBER = r"-?[0-9]{1,6}(\.[0-9]{0,6})?"
_KERNEL_WORDS = re.compile(rf"(gaussian|disk|motion|box):({_NUMBER})(,{_NUMBER})?")
_DENOISER = re.compile(r"[A-Za-z0-9_-]{1,40}")
MAX_FACTOR, MAX_ITERATIONS, MAX_OVERSAMPLING, MAX_FRAME_SIDE = 8, 1000, 64, 20000


class TaskError(ValueError):
    """A task with an invalid value; `field` names it."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True)
class PhotonOptions:
    """How a photon cube is stored and was recorded; as `plugplay photon` takes it."""

    oversampling: int = 1
    packed_axis: int | None = None
    bit_order: str = "big"
    frame_shape: tuple[int, int] | None = None
    time_axis: int | None = None
    frames: int | None = None
    gain: float | None = None
    threshold: int = 1
    dark: float = 0.0
    efficiency: float = 1.0

    @classmethod
    def parse(cls, data: object) -> PhotonOptions:
        """Check what a client sent."""
        values = _object(data, "photon", {f.name for f in fields(cls)})
        read = _Reader(values, "photon.")
        order = values.get("bit_order", "big")
        if order not in ("big", "little"):
            raise TaskError("photon.bit_order", "The order of bits is big or little.")
        shape = values.get("frame_shape")
        if shape is not None and not (
            isinstance(shape, list | tuple)
            and len(shape) == 2
            and all(_is_integer(n) and 1 <= n <= MAX_FRAME_SIDE for n in shape)
        ):
            raise TaskError("photon.frame_shape", "The frame shape is two whole numbers: height and width in jots.")
        return cls(
            oversampling=read.integer("oversampling", 1, 1, MAX_OVERSAMPLING),
            packed_axis=read.optional_integer("packed_axis", -3, 2),
            bit_order=order,
            frame_shape=None if shape is None else (int(shape[0]), int(shape[1])),
            time_axis=read.optional_integer("time_axis", -3, 2),
            frames=read.optional_integer("frames", 1, 10**7),
            gain=read.optional_number("gain", 1e-6, 1e6),
            threshold=read.integer("threshold", 1, 1, 50),
            dark=read.number("dark", 0.0, 0.0, 100.0),
            efficiency=read.number("efficiency", 1.0, 1e-3, 1.0),
        )


@dataclass(frozen=True)
class Task:
    """What happened to an image, with the options of the command line, and the files that belong to it.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    noise : str
        ``"auto"``, ``"poisson"``, or a standard deviation on the scale [0, 1] such as ``"0.02"``.
    kernel : str, optional
        The blur in words, such as ``"motion:15,30"``; ``"bicubic"`` for `upscale`.
    kernel_file, mask_file, reference_file : str, optional
        Identifiers of uploaded files.
    factor : int
        How many times larger, for `upscale`.
    denoiser : str
        The prior, by name.
    max_iter : int, optional
        Limit of iterations.
    photon : PhotonOptions
        For `photon`.

    Examples
    --------
    >>> Task.parse({"kind": "deblur", "kernel": "motion:15,30"}).kernel
    'motion:15,30'
    """

    DEFAULT_DENOISER: ClassVar[str] = "bm3d"

    kind: str
    noise: str = "auto"
    kernel: str | None = None
    kernel_file: str | None = None
    mask_file: str | None = None
    reference_file: str | None = None
    factor: int = 2
    denoiser: str = DEFAULT_DENOISER
    max_iter: int | None = None
    photon: PhotonOptions = field(default_factory=PhotonOptions)

    @classmethod
    def parse(cls, data: object) -> Task:
        """Check the values that a client sent; none is trusted."""
        values = _object(data, "task", {f.name for f in fields(cls)})
        kind = values.get("kind")
        if kind not in KINDS:
            raise TaskError("kind", f"Say what happened to the image: one of {', '.join(KINDS)}.")
        read = _Reader(values, "")
        kernel = values.get("kernel")
        kernel_file = read.identifier("kernel_file")
        if kernel_file is not None and kind not in ("deblur", "upscale"):
            raise TaskError("kernel_file", f"{kind} does not take a kernel file.")
        if kind == "deblur" and (kernel is None) == (kernel_file is None):
            raise TaskError("kernel", "Choose a blur, or drop a file with the blur kernel.")
        if kind == "upscale" and kernel is None and kernel_file is None:
            kernel = "bicubic"
        if kernel is not None:
            if kind not in ("deblur", "upscale") or kernel_file is not None:
                raise TaskError(
                    "kernel", f"A kernel given by name cannot be combined with {kind}, or with a kernel file."
                )
            if not (kind == "upscale" and kernel == "bicubic"):
                kernel = check_kernel_words(kernel)
        denoiser = values.get("denoiser", cls.DEFAULT_DENOISER)
        if not isinstance(denoiser, str) or not _DENOISER.fullmatch(denoiser):
            raise TaskError("denoiser", "The denoiser is given by its name.")
        return cls(
            kind=kind,
            noise=_noise(values.get("noise", "auto")),
            kernel=kernel,
            kernel_file=kernel_file,
            mask_file=read.identifier("mask_file"),
            reference_file=read.identifier("reference_file"),
            factor=read.integer("factor", 2, 1, MAX_FACTOR),
            denoiser=denoiser,
            max_iter=read.optional_integer("max_iter", 1, MAX_ITERATIONS),
            photon=PhotonOptions.parse(values.get("photon") or {}),
        )

    @property
    def noise_level(self) -> float | PoissonGaussian | None:
        """The noise as `plugplay.prepare` takes it; None is automatic."""
        if self.noise == "auto":
            return None
        if self.noise == "poisson":
            from plugplay.noise.growing import PoissonGaussian

            return PoissonGaussian(None, None)
        above, slash, below = self.noise.partition("/")
        return float(above) / (float(below) if slash else 1.0)

    @property
    def scale(self) -> int:
        """How many times larger the result is than the image."""
        return self.factor if self.kind == "upscale" else 1

    def to_dict(self) -> dict[str, Any]:
        """Return the task in the form that `parse` takes, without options that this kind does not have."""
        named = asdict(self)
        if self.kind != "photon":
            named.pop("photon")
        if self.kind != "upscale":
            named.pop("factor")
        return {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True)
class Sources:
    """Where the files of a task lie."""

    image: Path
    kernel: Path | None = None
    mask: Path | None = None
    reference: Path | None = None


def check_kernel_words(text: object) -> str:
    """Return the description of a kernel, or raise; file names are refused.

    Examples
    --------
    >>> check_kernel_words("disk:4.5")
    'disk:4.5'
    """
    if not isinstance(text, str) or not _KERNEL_WORDS.fullmatch(text):
        raise TaskError("kernel", "A kernel is gaussian:SIGMA, disk:RADIUS, motion:LENGTH,ANGLE or box:SIZE.")
    word, _, rest = text.partition(":")
    numbers = [float(number) for number in rest.split(",")]
    limits = _KERNEL_LIMITS[word]
    if len(numbers) > len(limits):
        raise TaskError("kernel", f"{word} takes {len(limits)} number{'s' * (len(limits) > 1)}.")
    for number, (low, high) in zip(numbers, limits, strict=False):
        if not low <= number <= high:
            raise TaskError("kernel", f"{word}: {number:g} is not between {low:g} and {high:g}.")
    whole = numbers if word == "box" else numbers[1:] if word == "gaussian" else []
    if any(not number.is_integer() for number in whole):
        raise TaskError("kernel", f"{word}: its size is a whole number.")
    return text


class _Reader:
    """Reads values of a JSON object, and names the field in errors."""

    def __init__(self, values: dict[str, Any], prefix: str) -> None:
        self._values, self._prefix = values, prefix

    def integer(self, name: str, default: int, low: int, high: int) -> int:
        value = self.optional_integer(name, low, high)
        return default if value is None else value

    def optional_integer(self, name: str, low: int, high: int) -> int | None:
        value = self._values.get(name)
        if value is None:
            return None
        if not _is_integer(value) or not low <= value <= high:
            raise TaskError(self._prefix + name, f"This is a whole number between {low} and {high}.")
        return int(value)

    def number(self, name: str, default: float, low: float, high: float) -> float:
        value = self.optional_number(name, low, high)
        return default if value is None else value

    def optional_number(self, name: str, low: float, high: float) -> float | None:
        value = self._values.get(name)
        if value is None:
            return None
        number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if not number or not low <= value <= high:
            raise TaskError(self._prefix + name, f"This is a number between {low:g} and {high:g}.")
        return float(value)

    def identifier(self, name: str) -> str | None:
        value = self._values.get(name)
        if value is None:
            return None
        if not isinstance(value, str) or not _IDENTIFIER.fullmatch(value):
            raise TaskError(self._prefix + name, "This is the identifier of an uploaded file.")
        return value


def _object(data: object, what: str, known: set[str]) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise TaskError(what, f"The {what} is a JSON object.")
    unknown = sorted(str(name)[:40] for name in data if name not in known)
    if unknown:
        raise TaskError(what, f"Unknown: {', '.join(unknown[:5])}. Known are {', '.join(sorted(known))}.")
    return data


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _noise(value: object) -> str:
    if value in ("auto", "poisson"):
        return str(value)
    text = f"{value:.6g}" if isinstance(value, int | float) and not isinstance(value, bool) else value
    if isinstance(text, str) and len(text) <= 24:
        above, slash, below = text.partition("/")
        try:
            level = float(above) / (float(below) if slash else 1.0)
        except (ValueError, ZeroDivisionError, OverflowError):
            level = -1.0
        if 0 <= level < 1:
            return text.strip()
    raise TaskError(
        "noise", "The noise is auto, poisson, or a standard deviation between 0 and 1, such as 0.02 or 5/255."
    )
