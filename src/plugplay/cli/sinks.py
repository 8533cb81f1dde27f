"""Sinks: where results are written, in which depth, and their entries in the manifest."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from plugplay.cli.jobs import Job
from plugplay.cli.options import Depth
from plugplay.cli.terminal import silence

if TYPE_CHECKING:
    from plugplay.io import ImageFile
    from plugplay.io.manifest import Finding, Manifest

__all__ = ["Sink"]

_DTYPES = {Depth.INTEGER8: "u1", Depth.INTEGER16: "u2", Depth.FLOAT32: "f4"}


@dataclass(frozen=True)
class Sink:
    """Writes results.

    Attributes
    ----------
    depth : Depth
        Depth of the written pixels.
    suffix : str, optional
        Format of standard output.
    manifests : dict
        The manifests of the folders that have been written to.
    """

    depth: Depth = Depth.SAME
    suffix: str | None = None
    manifests: dict[Path, Manifest] = field(default_factory=dict, compare=False, repr=False)

    @property
    def dtype(self) -> str | None:
        """Type of the written pixels; None if it is that of the source."""
        return _DTYPES.get(self.depth)

    def find(self, job: Job, recipe: str) -> Finding:
        """Return what the manifest knows about the file that a job would write."""
        from plugplay.io.manifest import Finding

        return Finding.ABSENT if job.target is None else self._manifest(job.target).find(job.target.name, recipe)

    def write(
        self,
        job: Job,
        image: ImageFile,
        recipe: str,
        *,
        working_range: tuple[float, float] | None,
        sniffed: str | None = None,
    ) -> ImageFile:
        """Write the result of a job, and return it as it was written.

        Parameters
        ----------
        job : Job
            What is done.
        image : ImageFile
            The result.
        recipe : str
            The digest that the manifest remembers.
        working_range : (float, float), optional
            The values that the denoiser saw as black and white, of floats, which have none of their own.
        sniffed : str, optional
            The ending of the format in which a nameless source came.
        """
        from plugplay import io

        if image.pixels.dtype.kind == "f" and working_range not in (None, image.data_range):
            # Only depths that hold no floats need black and white, and (0, 1) would be wrong for these values.
            image = replace(image, data_range=working_range)
        if self.dtype is not None:
            image = image.converted(self.dtype)
        if job.target is None:
            self._to_standard_output(job, image, sniffed)
        else:
            job.target.parent.mkdir(parents=True, exist_ok=True)
            manifest = self._manifest(job.target)
            io.write(job.target, image, ready=partial(manifest.record, job.target.name, recipe))
        return image

    def holds_floats(self, job: Job, sniffed: str | None) -> bool:
        """Tell whether the format that a job writes holds floats; `sniffed` as `write` takes it."""
        from plugplay import io

        return io.holds_floats(job.target or f"standard-output.{self._ending(job, sniffed)}")

    def record(self, job: Job, recipe: str, complete: Path) -> None:
        """Remember what is about to get the name of a job's target."""
        assert job.target is not None  # standard output has no manifest
        self._manifest(job.target).record(job.target.name, recipe, complete)

    def _to_standard_output(self, job: Job, image: ImageFile, sniffed: str | None) -> None:
        from plugplay import io

        with tempfile.TemporaryDirectory(prefix="plugplay-") as folder:
            path = Path(folder) / f"standard-output.{self._ending(job, sniffed)}"
            io.write(path, image)
            try:
                sys.stdout.buffer.write(path.read_bytes())
                sys.stdout.buffer.flush()
            except OSError:  # nobody reads it: a failure, but one that is told only once
                silence(sys.stdout)
                raise

    def _ending(self, job: Job, sniffed: str | None) -> str:
        """Return the ending of the format that goes to standard output."""
        ending = self.suffix or sniffed or ("png" if job.source is None else job.source.suffix)
        return ending.lstrip(".")

    def _manifest(self, target: Path) -> Manifest:
        from plugplay.io.manifest import Manifest

        if target.parent not in self.manifests:
            self.manifests[target.parent] = Manifest(target.parent)
        return self.manifests[target.parent]

    def __getstate__(self) -> dict[str, object]:
        return {"depth": self.depth, "suffix": self.suffix, "manifests": {}}
