"""Options that the restoring commands share, declared once."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from plugplay.noise.growing import PoissonGaussian

__all__ = [
    "Boundary",
    "Common",
    "Depth",
    "KernelOption",
    "MaskOption",
    "NoiseOption",
    "UsageError",
    "noise_level",
    "numbers",
    "takes_common",
]


class UsageError(ValueError):
    """The command cannot be understood; nothing has been done."""


class Depth(StrEnum):
    """Depths of written pixels."""

    SAME = "same"
    INTEGER8 = "8"
    INTEGER16 = "16"
    FLOAT32 = "float"


class Boundary(StrEnum):
    """What lies beyond the frame."""

    UNKNOWN = "unknown"
    REFLECT = "reflect"
    CIRCULAR = "circular"


_FILES, _RUN, _REPORT = "Files", "Restoration", "Reports"


@dataclass(frozen=True)
class Common:
    """What every restoring command is told."""

    inputs: Annotated[
        list[str], typer.Argument(metavar="INPUT...", help="Files, folders or globs.", show_default=False)
    ]
    output: Annotated[
        Path, typer.Option("--output", "-o", help="A file, or a folder for several results.", show_default=False)
    ]
    denoiser: Annotated[str, typer.Option(help="The prior, by name.", rich_help_panel=_RUN)] = "bm3d"
    max_iter: Annotated[
        int | None, typer.Option(min=1, help="Limit of iterations; chosen if not given.", rich_help_panel=_RUN)
    ] = None
    data_range: Annotated[
        str | None,
        typer.Option(
            metavar="LOW,HIGH",
            help="Values that mean black and white, e.g. 0,4095. Found if not given.",
            rich_help_panel=_RUN,
        ),
    ] = None
    workers: Annotated[
        int | None, typer.Option(min=1, help="Threads; all cores if not given.", rich_help_panel=_RUN)
    ] = None
    depth: Annotated[Depth, typer.Option(help="Depth of the written pixels.", rich_help_panel=_FILES)] = Depth.SAME
    suffix: Annotated[
        str | None,
        typer.Option("--format", help="Format of results in a folder, e.g. png or tif.", rich_help_panel=_FILES),
    ] = None
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Do finished results again.", rich_help_panel=_FILES)
    ] = False
    reference: Annotated[
        Path | None,
        typer.Option(help="The true image, or a folder of them: PSNR and SSIM are reported.", rich_help_panel=_REPORT),
    ] = None
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Image of before, after and convergence; a folder if there are several inputs.",
            rich_help_panel=_REPORT,
        ),
    ] = None
    json: Annotated[bool, typer.Option("--json", help="One line of JSON for each file.", rich_help_panel=_REPORT)] = (
        False
    )
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Report everything that was used.", rich_help_panel=_REPORT)
    ] = False
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.", rich_help_panel=_REPORT)] = False


NoiseOption = Annotated[
    str,
    typer.Option(
        metavar="LEVEL",
        help="Noise on the scale [0, 1]: auto, a standard deviation like 5/255 or 0.02, poisson or poisson:GAIN,READ.",
        rich_help_panel=_RUN,
    ),
]
MaskOption = Annotated[
    Path | None,
    typer.Option(
        help="Mask file, white where observed, or a folder of them. NaN pixels count as missing anyway.",
        rich_help_panel=_RUN,
    ),
]
KernelOption = Annotated[
    str,
    typer.Option(
        "--kernel",
        "-k",
        help="The blur: gaussian:1.6, disk:5, motion:15,30, box:9, or an image, NPY or FITS file.",
        show_default=False,
    ),
]


def takes_common(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `Common`, which it receives as its first argument."""

    @functools.wraps(command)
    def run(**values: Any) -> None:
        common = Common(**{field.name: values.pop(field.name) for field in fields(Common)})
        command(common, **values)

    hints = get_type_hints(Common, include_extras=True)
    shared = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(Common)
    ]
    own_hints = get_type_hints(command, include_extras=True)
    own = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=own_hints[name])
        for name, parameter in inspect.signature(command).parameters.items()
        if name != "common"
    ]
    # typer reads the signature; input and output come first, then what the command is about.
    parameters = [*shared[:2], *own, *shared[2:]]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


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

        gain, read = numbers(rest if colon else None, "--noise poisson:", float) or (None, None)
        return PoissonGaussian(gain, read)
    try:
        above, slash, below = text.partition("/")
        level = float(above) / (float(below) if slash else 1.0)
    except (ValueError, ZeroDivisionError):
        level = -1.0
    if not 0 <= level < 1:
        raise UsageError(
            f"--noise takes auto, poisson, or a standard deviation on the scale [0, 1] like 5/255; got {text!r}"
        )
    return level


def numbers(text: str | None, option: str, kind: type[float] | type[int]) -> tuple[Any, Any] | None:
    """Return the two numbers of an option like ``0,4095``, or None if it was not given.

    Examples
    --------
    >>> numbers("512,256", "--frame-shape", int)
    (512, 256)
    """
    if text is None:
        return None
    try:
        first, second = (kind(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"{option} takes two numbers with a comma between them; got {text!r}") from None
    return first, second
