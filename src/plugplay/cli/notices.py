"""Warnings about a job: shown as single lines when they arise, and kept."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from plugplay.cli.jobs import Job
from plugplay.cli.terminal import err

__all__ = ["Notices", "kind_of", "one_line", "show_warning", "spanned", "spelt_as_options"]

# Errors and warnings of the library name its parameters; on the command line they are options.
_PARAMETER = re.compile(
    r"^(noise|strength|max_iter|tol|tune|iteration|data_range|linear|crop|weights|workers)(?= must|=)"
    r"|(?<![\w/.-])(packed_axis|bit_order|frame_shape|time_axis|max_count)(?![\w/.-])"
)
_NUMBER = re.compile(r"(?<![\w.])-?\d+(\.\d+)?(e[+-]?\d+)?|\d+(\.\d+)?(e[+-]?\d+)?")
_PHRASES = {
    "exact_kernel=True, or --exact-kernel, keeps": "--exact-kernel keeps",
    "exact_noise=True, or --exact-noise, keeps": "--exact-noise keeps",
    "noise=PoissonGaussian(), or --noise poisson, restores": "--noise poisson restores",
    "a larger noise, or clip=None": "a larger --noise",
    "clip=None, or data_range=(black, white)": "--data-range BLACK,WHITE",
    "data_range=(black, white)": "--data-range BLACK,WHITE",
    "frame_shape=(height, width)": "--frame-shape H,W",
    "the scale that data_range sets": "the scale that --data-range sets",
    "floats in a TIFF, FITS or NPY file would keep them": "--depth float with a TIFF, FITS or NPY file keeps them",
    "a larger noise": "a larger --noise",
    "a smaller noise": "a smaller --noise",
}


class Notices:
    """Shows warnings as single lines, before anything is written; those that differ in numbers only, once.

    Parameters
    ----------
    job : Job
        The job that they are about.
    silent : bool
        Whether they are only kept, as in a worker process.
    """

    def __init__(self, job: Job, *, silent: bool = False) -> None:
        self._job, self._silent = job, silent
        self._alike: dict[str, dict[int, str]] = {}  # texts by kind and page
        self.doubtful = False
        self._caught = warnings.catch_warnings()

    @property
    def texts(self) -> tuple[str, ...]:
        """The warnings so far, those that differ in numbers only as one."""
        return tuple(spanned(list(dict.fromkeys(pages.values()))) for pages in self._alike.values())

    def add(self, text: str, *, doubtful: bool = False, page: int = 0) -> None:
        """Show a notice; a doubtful result is not to be called good. What is said again about a page replaces it."""
        self.doubtful |= doubtful
        text = spelt_as_options(" ".join(text.split()))
        pages = self._alike.setdefault(kind_of(text), {})
        if not pages and not self._silent:
            show_warning(self._job, text)
        pages[page] = text

    def __enter__(self) -> Self:
        self._caught.__enter__()
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = self._show
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._caught.__exit__(kind, error, trace)

    def _show(self, message: Warning | str, *_: object, **__: object) -> None:
        self.add(str(message))


def kind_of(text: str) -> str:
    """Return a text without its numbers.

    Examples
    --------
    >>> kind_of("the denoiser sees -0.5 to 7e+03")
    'the denoiser sees # to #'
    """
    return _NUMBER.sub("#", text)


def spanned(texts: Sequence[str]) -> str:
    """Return texts that differ in numbers only as one, with the lowest and the highest numbers.

    Examples
    --------
    >>> spanned(["the denoiser sees 2 to 76.5", "the denoiser sees -3 to 76.5"])
    'the denoiser sees -3..2 to 76.5 (the lowest and highest of its pages)'
    """
    if len(texts) == 1:
        return texts[0]
    rows = [[found[0] for found in _NUMBER.finditer(text)] for text in texts]
    spans = (_span(column) for column in zip(*rows, strict=True))
    return _NUMBER.sub(lambda _: next(spans), texts[0]) + " (the lowest and highest of its pages)"


def _span(numbers: Sequence[str]) -> str:
    low, high = min(numbers, key=float), max(numbers, key=float)
    return low if low == high else f"{low}..{high}"


def show_warning(job: Job, text: str) -> None:
    """Show what was noticed about a job."""
    about = str(job.relative)
    err(f"warning: {text}" if about in text else f"warning: {about}: {text}")


def spelt_as_options(text: str) -> str:
    """Return a message of the library as it is meant on the command line.

    Examples
    --------
    >>> spelt_as_options("is it another packed_axis?")
    'is it another --packed-axis?'
    >>> spelt_as_options("5 % of the light was lost; give a larger noise, or clip=None")
    '5 % of the light was lost; give a larger --noise'
    """
    for phrase, words in _PHRASES.items():
        text = text.replace(phrase, words)
    return _PARAMETER.sub(lambda found: "--" + found[0].replace("_", "-"), text)


def one_line(error: Exception) -> str:
    """Return an error as one line, with options in their own spelling.

    Examples
    --------
    >>> one_line(ValueError("max_iter must be an integer"))
    '--max-iter must be an integer'
    """
    text = " ".join(str(error).split())
    if isinstance(error, OSError) and error.strerror and error.filename:
        text = f"{error.filename}: {error.strerror}"
    text = spelt_as_options(text)
    known = isinstance(error, ValueError | TypeError | OSError)
    return text if known and text else f"{type(error).__name__}: {text}".removesuffix(": ")
