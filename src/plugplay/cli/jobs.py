"""Jobs: which files are restored, where the results go, and which masks and references belong to them."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from plugplay.cli.options import UsageError

__all__ = ["REPORT_MARK", "STANDARD", "Job", "collect", "companion", "is_report"]

STANDARD = "-"

# Written into every PNG that reports, in the first text chunk: such a file is not an image to restore.
REPORT_MARK = b"plugplay report"


@dataclass(frozen=True)
class Job:
    """One file to restore.

    Attributes
    ----------
    source, target : Path or None
        The input and output files; None is standard input and standard output.
    relative : Path
        The path of the source within the given folder, by which masks and references are found.
    number, count : int
        Number of this job, and of all jobs.
    """

    source: Path | None
    target: Path | None
    relative: Path
    number: int = 1
    count: int = 1

    @property
    def label(self) -> str:
        """Name for progress displays."""
        return str(self.relative) if self.count == 1 else f"[{self.number}/{self.count}] {self.relative}"

    @property
    def source_name(self) -> str:
        """Name of the source."""
        return "standard input" if self.source is None else str(self.source)

    @property
    def target_name(self) -> str:
        """Name of the target."""
        return "standard output" if self.target is None else str(self.target)


def collect(
    inputs: Sequence[str],
    output: str,
    *,
    accepts: Callable[[Path], bool],
    writable: Callable[[Path], bool],
    suffix: str | None,
) -> list[Job]:
    """Return the jobs, in the order of the inputs; folders are searched to any depth.

    Parameters
    ----------
    inputs : sequence of str
        Files, folders or globs; ``-`` alone is standard input.
    output : str
        A file for a single input, else a folder, in which folders keep their inner structure; ``-`` is standard
        output.
    accepts, writable : callable
        Whether a file in a folder is an input, and whether a name is that of an output file.
    suffix : str, optional
        Ending of the results in a folder; by default that of the source.
    """
    if STANDARD in inputs:
        return [_from_standard_input(inputs, output, writable)]
    found = [pair for text in inputs for pair in _expanded(text, output, accepts)]
    if not found:
        raise UsageError(f"there is nothing to restore in {', '.join(inputs)}")
    single = len(found) == 1 and not _is_folder(Path(inputs[0]))
    if output == STANDARD:
        if not single:
            raise UsageError("--output - takes one result, but there are several inputs or a folder")
        return [Job(found[0][0], None, found[0][1])]
    target = Path(output)
    if single and target.suffix and not writable(target) and not _is_folder(target):
        raise UsageError(f"--output {output}: files that end in {target.suffix} cannot be written; choose .png or .tif")
    if single and writable(target) and not _is_folder(target):
        return [Job(found[0][0], target, found[0][1])]
    if target.is_file() or (writable(target) and not target.is_dir()):
        raise UsageError(f"--output: several inputs need a folder for their results, but {output} is a file")
    ending = None if suffix is None else "." + suffix.lstrip(".")
    return [
        Job(
            source,
            target / (relative if ending is None else relative.with_suffix(ending)),
            relative,
            number + 1,
            len(found),
        )
        for number, (source, relative) in enumerate(found)
    ]


def companion(path: Path, job: Job, what: str, accepts: Callable[[Path], bool]) -> Path:
    """Return the mask or reference that belongs to a job: the file given, or its namesake in the folder given."""
    if not path.is_dir():
        return path
    exact = path / job.relative
    if exact.is_file():
        return exact
    namesakes = sorted(
        other for other in exact.parent.glob(glob.escape(exact.stem) + ".*") if accepts(other) and other.is_file()
    )
    if len(namesakes) != 1:
        raise ValueError(f"{len(namesakes) or 'no'} {what} called {job.relative.with_suffix('')}.* in {path}")
    return namesakes[0]


def _from_standard_input(inputs: Sequence[str], output: str, writable: Callable[[Path], bool]) -> Job:
    if len(inputs) > 1:
        raise UsageError("- is standard input, which cannot be combined with other inputs")
    if output == STANDARD:
        return Job(None, None, Path("standard input"))
    target = Path(output)
    if target.is_dir() or not writable(target):
        raise UsageError(f"--output {output}: the result of standard input needs a file name, such as clean.png")
    return Job(None, target, Path("standard input"))


def _expanded(text: str, output: str, accepts: Callable[[Path], bool]) -> Iterable[tuple[Path, Path]]:
    path = Path(text)
    if _is_folder(path):
        yield from _inside(path, output, accepts)
    elif not os.path.lexists(path) and glob.has_magic(text):
        matches = sorted(glob.glob(text, recursive=True))  # noqa: PTH207 - Path.glob wants a folder to start from
        if not matches:
            raise UsageError(f"no file matches {text}")
        for match in map(Path, matches):
            if not _is_folder(match) and not is_report(match):
                yield match, Path(match.name)
    else:
        yield path, Path(path.name)  # a file that is missing fails when its turn comes


def _inside(folder: Path, output: str, accepts: Callable[[Path], bool]) -> Iterator[tuple[Path, Path]]:
    """Yield the inputs in a folder: neither hidden files, nor earlier results, nor reports about them."""
    results = Path(os.path.realpath(output))
    apart = results != Path(os.path.realpath(folder))
    for source in sorted(folder.rglob("*")):
        relative = source.relative_to(folder)
        if any(part.startswith(".") for part in relative.parts) or not accepts(source) or _is_folder(source):
            continue
        if any(parent.suffix == ".zarr" for parent in relative.parents):  # a part of a store
            continue
        if apart and Path(os.path.realpath(source)).is_relative_to(results):
            continue
        if not is_report(source):
            yield source, relative


def _is_folder(path: Path) -> bool:
    """Tell whether a path is a folder of files; a Zarr store is one image, although it is a folder."""
    if not path.is_dir():
        return False
    from plugplay.scale.stores import is_zarr

    return not is_zarr(path)


def is_report(path: Path) -> bool:
    """Tell whether a file is one of our plots or contact sheets."""
    try:
        if path.suffix.lower() != ".png" or not path.is_file():
            return False
        with path.open("rb") as stream:
            return REPORT_MARK in stream.read(512)
    except OSError:  # its turn comes, and then it fails
        return False
