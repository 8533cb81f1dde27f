"""Options that the restoring commands share, declared once."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

__all__ = [
    "Boundary",
    "Common",
    "Depth",
    "ImageCommon",
    "IterationName",
    "Linear",
    "MaskOption",
    "Tuning",
    "UsageError",
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


class IterationName(StrEnum):
    """How a pass combines the model's step and the denoiser's."""

    ADMM = "admm"
    HQS = "hqs"
    PGD = "pgd"
    FISTA = "fista"
    RED = "red"


class Linear(StrEnum):
    """Whether numbers are turned into light."""

    AUTO = "auto"
    ON = "on"
    OFF = "off"


class Tuning(StrEnum):
    """How the automatic lambda is refined."""

    SURE = "sure"


_FILES, _RUN, _REPORT = "Files", "Restoration", "Reports"


@dataclass(frozen=True)
class Common:
    """What every restoring command is told."""

    inputs: Annotated[
        list[str],
        typer.Argument(metavar="INPUT...", help="Files, folders or globs; - is standard input.", show_default=False),
    ]
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="PATH",
            help="A file, a folder for several results, or - for standard output. Required.",
            show_default=False,
        ),
    ] = None
    denoiser: Annotated[str, typer.Option(help="The prior, by name.", rich_help_panel=_RUN)] = "bm3d"
    weights: Annotated[Path | None, typer.Option(help="Weight file of a learned denoiser.", rich_help_panel=_RUN)] = (
        None
    )
    strength: Annotated[
        float, typer.Option(help="Above 1 for a smoother image, below for a sharper one.", rich_help_panel=_RUN)
    ] = 1.0
    iteration: Annotated[
        IterationName, typer.Option(help="The algorithm; admm is the paper's.", rich_help_panel=_RUN)
    ] = IterationName.ADMM
    max_iter: Annotated[
        int | None, typer.Option(min=1, help="Limit of iterations; chosen if not given.", rich_help_panel=_RUN)
    ] = None
    tol: Annotated[
        float | None,
        typer.Option(min=0, help="Change per iteration at which to stop; chosen if not given.", rich_help_panel=_RUN),
    ] = None
    workers: Annotated[
        int | None, typer.Option(min=1, help="Threads; all cores if not given.", rich_help_panel=_RUN)
    ] = None
    on: Annotated[
        str,
        typer.Option(
            metavar="WHERE",
            help="Where the work runs: auto, serial, processes:N, dask, or a Dask scheduler such as tcp://host:8786.",
            rich_help_panel=_RUN,
        ),
    ] = "auto"
    memory: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Memory that all parallel work may take, e.g. 4G.", rich_help_panel=_RUN),
    ] = None
    depth: Annotated[
        Depth,
        typer.Option(
            help="Depth of the written pixels. Floats of measurements are in the units of the file, those of "
            "photographs are light on [0, 1].",
            rich_help_panel=_FILES,
        ),
    ] = Depth.SAME
    suffix: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="Format of results in a folder or on standard output, e.g. png or tif.",
            rich_help_panel=_FILES,
        ),
    ] = None
    overwrite: Annotated[
        bool,
        typer.Option("--overwrite", help="Replace existing files, whoever made them.", rich_help_panel=_FILES),
    ] = False
    max_size: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Memory that a file may need, e.g. 12G.", rich_help_panel=_FILES),
    ] = None
    reference: Annotated[
        Path | None,
        typer.Option(help="The true image, or a folder of them: PSNR and SSIM are reported.", rich_help_panel=_REPORT),
    ] = None
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Plot of input, result and convergence; a folder if there are several inputs.",
            rich_help_panel=_REPORT,
        ),
    ] = None
    json: Annotated[bool, typer.Option("--json", help="One line of JSON for each file.", rich_help_panel=_REPORT)] = (
        False
    )
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Report all parameters.", rich_help_panel=_REPORT)
    ] = False
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Warnings and errors only.", rich_help_panel=_REPORT)] = (
        False
    )
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be done; write nothing.", rich_help_panel=_REPORT)
    ] = False
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit code 3 if a result is doubtful.", rich_help_panel=_REPORT)
    ] = False
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.", rich_help_panel=_REPORT)] = False


@dataclass(frozen=True)
class ImageCommon(Common):
    """What the commands that restore images are told as well."""

    noise: Annotated[
        str,
        typer.Option(
            metavar="LEVEL",
            help="Noise on the scale [0, 1]: auto, a standard deviation like 5/255 or 0.02, poisson or "
            "poisson:GAIN,READ.",
            rich_help_panel=_RUN,
        ),
    ] = "auto"
    exact_noise: Annotated[
        bool,
        typer.Option(
            "--exact-noise", help="Keep the level of --noise even if the data contradict it.", rich_help_panel=_RUN
        ),
    ] = False
    offset: Annotated[
        float | None,
        typer.Option(
            help="The camera's black level for photon noise, in the units of the file. Estimated by default.",
            rich_help_panel=_RUN,
        ),
    ] = None
    data_range: Annotated[
        str | None,
        typer.Option(
            metavar="LOW,HIGH",
            help="Values of black and white, e.g. 0,4095. By default the dtype's range for integers, 0,1 for floats.",
            rich_help_panel=_RUN,
        ),
    ] = None
    linear: Annotated[
        Linear,
        typer.Option(
            help="Restore linear light, not stored values: auto does so for blur, if the file's curve is known.",
            rich_help_panel=_RUN,
        ),
    ] = Linear.AUTO
    tune: Annotated[
        Tuning | None,
        typer.Option(help="Refine lambda by Stein's risk estimate: ten more restorations.", rich_help_panel=_RUN),
    ] = None
    shared_parameters: Annotated[
        bool,
        typer.Option(
            "--shared-parameters",
            help="Choose noise and parameters once for all pages of a stack, not for each.",
            rich_help_panel=_RUN,
        ),
    ] = False
    seed: Annotated[int, typer.Option(min=0, help="Random seed of --tune.", rich_help_panel=_RUN)] = 0
    crop: Annotated[
        str | None,
        typer.Option(metavar="X,Y,W,H", help="Restore this part only, for trials.", rich_help_panel=_FILES),
    ] = None


MaskOption = Annotated[
    Path | None,
    typer.Option(
        help="Mask file, white where observed, or a folder of them; dq for the flags of a FITS file. NaN pixels count "
        "as missing anyway.",
        rich_help_panel=_RUN,
    ),
]


def takes_common(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `Common` or `ImageCommon`, whichever its first argument, ``common``, is."""
    own_hints = get_type_hints(command, include_extras=True)
    kind = own_hints["common"]
    shared = {field.name: field for field in fields(kind)}

    @functools.wraps(command)
    def run(**values: Any) -> None:
        common = kind(**{name: values.pop(name) for name in shared})
        command(common, **values)

    hints = get_type_hints(kind, include_extras=True)
    common_parameters = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[name],
        )
        for name, field in shared.items()
    ]
    own = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=own_hints[name])
        for name, parameter in inspect.signature(command).parameters.items()
        if name != "common"
    ]
    # typer reads the signature; input and output come first, then what the command is about.
    parameters = [*common_parameters[:2], *own, *common_parameters[2:]]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run
