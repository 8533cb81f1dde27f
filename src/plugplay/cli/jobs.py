"""Which files are to be restored, and where the results go."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from plugplay.cli.options import UsageError

__all__ = ["Job", "collect", "companion"]


@dataclass(frozen=True)
class Job:
    """One file to restore.

    Attributes
    ----------
    source, target : Path
        What is read and what is written.
    relative : Path
        The name of the source within the folder that was given, by which masks and references are found.
    """

    source: Path
    target: Path
    relative: Path


def collect(
    inputs: Sequence[str],
    output: Path,
    *,
    accepts: Callable[[Path], bool],
    writable: Callable[[Path], bool],
    suffix: str | None,
) -> list[Job]:
    """Return the jobs, in the order of the inputs; folders are searched to any depth.

    Parameters
    ----------
    inputs : sequence of str
        Files, folders or globs.
    output : Path
        A file for a single input, else a folder, in which folders keep their inner structure.
    accepts, writable : callable
        Whether a file in a folder is an input, and whether a name is that of an output file.
    suffix : str, optional
        Ending of the results in a folder; by default that of the source.
    """
    found = [pair for text in inputs for pair in _expanded(text, output, accepts)]
    if not found:
        raise UsageError(f"there is nothing to restore in {', '.join(inputs)}")
    single = len(found) == 1 and not Path(inputs[0]).is_dir()
    if single and output.suffix and not writable(output) and not output.is_dir():
        raise UsageError(f"--output {output}: files that end in {output.suffix} cannot be written")
    if single and writable(output) and not output.is_dir():
        source, relative = found[0]
        jobs = [Job(source, output, relative)]
    else:
        if output.is_file() or (writable(output) and not output.is_dir()):
            raise UsageError(f"several inputs need a folder for their results, but --output is the file {output}")
        ending = None if suffix is None else "." + suffix.lstrip(".")
        jobs = [
            Job(source, output / (relative if ending is None else relative.with_suffix(ending)), relative)
            for source, relative in found
        ]
    _check_targets(jobs)
    return jobs


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


def _expanded(text: str, output: Path, accepts: Callable[[Path], bool]) -> Iterable[tuple[Path, Path]]:
    path = Path(text)
    if path.is_dir():
        results = output.resolve()
        for source in sorted(path.rglob("*")):
            hidden = any(part.startswith(".") for part in source.relative_to(path).parts)
            inside = results != path.resolve() and source.resolve().is_relative_to(results)
            if source.is_file() and accepts(source) and not hidden and not inside:
                yield source, source.relative_to(path)
    elif not path.exists() and glob.has_magic(text):
        matches = sorted(glob.glob(text, recursive=True))  # noqa: PTH207 - Path.glob wants a folder to start from
        if not matches:
            raise UsageError(f"no file matches {text}")
        for match in map(Path, matches):
            if match.is_file():
                yield match, Path(match.name)
    else:
        yield path, Path(path.name)  # a file that is missing fails when its turn comes


def _check_targets(jobs: list[Job]) -> None:
    sources = {job.source.resolve() for job in jobs}
    targets: dict[Path, Path] = {}
    for job in jobs:
        target = job.target.resolve()
        if target in sources:
            raise UsageError(f"{job.target} is an input and would be overwritten; choose another --output")
        if target in targets:
            raise UsageError(f"{targets[target]} and {job.source} would both be written to {job.target}")
        targets[target] = job.source
