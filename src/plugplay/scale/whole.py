"""Restore a store in parts, from the choice of parameters to the complete result."""

from __future__ import annotations

import math
import os
import shutil
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from plugplay.models.description import factor_of, part_of, reach_of
from plugplay.scale.choices import choose_globally, patches_of
from plugplay.scale.creating import created, restored_layout, write_tiff
from plugplay.scale.depths import Depth
from plugplay.scale.executors import Adaptive, Executor, Serial
from plugplay.scale.large import Large, journal, restore_parts, work_folder
from plugplay.scale.observed import Observation
from plugplay.scale.processes import Processes
from plugplay.scale.tiles import ALIGNMENT, Grid

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from plugplay.models.base import Model
    from plugplay.scale.choices import Choices
    from plugplay.scale.large import TileReport
    from plugplay.scale.stores import Layout, Store

__all__ = ["Parts", "blend_of", "grid_for", "halo_for"]

# The range of a denoiser: BM3D compares blocks of 8 pixels within 19.
DENOISER_REACH = 32
# How much further a loop carries information, in reaches of the kernel: measured by python benchmarks/scale.py seams.
LOOP_REACHES = 4
CORE = 1024
# Side of the part by which the time is estimated.
TRIAL = 192
# Bytes of a process with all its libraries, and further bytes for each value of a tile.
WORKER_BYTES = 2**28
BYTES_PER_VALUE = 100
# This many tiles should fit into the memory.
AT_A_TIME = 2


@dataclass(frozen=True)
class PartModel:
    """Returns the model of a part of the image, or of whole pages."""

    model: Model
    whole: bool = False

    def __call__(self, observed: NDArray[np.bool_] | None, /) -> Model:
        """Return the model for a part in which these pixels were observed."""
        return part_of(self.model, observed, whole=self.whole)


@dataclass(frozen=True, eq=False)
class Parts:
    """An image that is restored in parts; made by `Parts.of`, done by `run`.

    Attributes
    ----------
    observation : Observation
        The image and its mask.
    target : Path
        Where the result goes: a Zarr folder, a TIFF or an NPY file.
    model : Model
        The model.
    grid : Grid
        How the image is cut into tiles.
    choices : Choices
        Parameters that all parts share.
    layout : Layout
        Layout of the result.
    depth : Depth
        How restored values become values of the result.
    own : dict, optional
        Arguments of `plugplay.prepare` if each page has its own parameters.
    """

    observation: Observation
    target: Path
    model: Model
    grid: Grid
    choices: Choices
    layout: Layout
    depth: Depth
    own: dict[str, Any] | None = None

    @classmethod
    def of(
        cls,
        source: Store,
        target: Path,
        model: Model,
        options: dict[str, Any],
        *,
        memory: int | None = None,
        mask: Store | None = None,
        dtype: str | None = None,
        core: int | None = None,
        always_masked: bool = False,
        pages: Literal["shared", "own"] = "shared",
    ) -> Parts:
        """Choose all parameters.

        Parameters
        ----------
        source, mask : Store
            What is restored, and, optionally, an image that is white where a pixel was observed.
        target, model
            As the attributes.
        options : dict
            What the user has chosen, as `plugplay.prepare` takes it.
        memory : int, optional
            Bytes that tiles side by side may take together.
        dtype : str, optional
            Of the result; by default that of the source.
        core : int, optional
            Side of a core; chosen if not given.
        always_masked : bool
            Whether the model asks for a mask even where everything was observed.
        pages : {"shared", "own"}
            Whether the pages of a stack share noise and parameters, or each has its own. Such pages are not cut if they
            fit into memory.
        """
        layout = source.layout
        observation = Observation.of(source, mask, always_masked=always_masked)
        told = {**options, "channel_axis": -1 if layout.colour else None}
        choices = choose_globally(observation.read, layout.size, PartModel(model), told, pages=layout.pages)
        apart = pages == "own" and layout.pages > 1
        core = max(layout.size) if apart and core is None else core
        factor = factor_of(model)
        wanted = np.dtype(dtype or layout.dtype)
        made = restored_layout(layout, factor=factor, dtype=str(wanted))
        grid = grid_for(made, layout, model, choices, memory=memory, core=core)
        depth = Depth.of(layout, wanted, target, choices.parameters, options.get("data_range"))
        own = told if apart else None
        return cls(observation, target, model, grid, choices, made, depth, own)

    @property
    def model_for(self) -> PartModel:
        """Gives the model of a tile."""
        return PartModel(self.model, whole=self.grid.counts == (1, 1))

    @property
    def bytes_per_tile(self) -> int:
        """The memory that a tile takes."""
        return _bytes(self.grid.core, self.grid.halo, self.layout.channels, self.grid.factor)

    def choices_of(self, page: int, own: dict[str, Any]) -> Choices:
        """Return the parameters of one page, if each page has its own."""

        def read(_: int, region: tuple[slice, slice]) -> Any:
            return self.observation.read(page, region)

        return choose_globally(read, self.grid.shape, self.model_for, own, workers=1)

    def trial(self) -> float:
        """Return about how many seconds a tile takes, from a small part of the image."""
        place = patches_of(self.grid.shape, side=TRIAL)[4]
        pixels, observed = self.observation.read(self.layout.pages // 2, place)
        self.choices.warm()
        began = time.perf_counter()
        self.choices.plan(pixels, PartModel(self.model), observed, workers=1).run()
        each = (time.perf_counter() - began) / math.prod(pixels.shape[:2])
        return each * math.prod(n + 2 * self.grid.halo for n in self.grid.core)

    def run(
        self,
        executor: Executor,
        recipe: str,
        *,
        ready: Callable[[Path], object] | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> list[TileReport]:
        """Restore the parts that are not restored yet, and give the result its name.

        Parameters
        ----------
        executor : Executor
            The executor.
        recipe : str
            A digest of everything that determines the result: only parts of the same recipe are resumed.
        ready : callable, optional
            Called with the complete result just before it gets its name.
        progress : callable, optional
            Called with the number of cores that are written, and of all.
        """
        work = work_folder(self.target, recipe)
        ending = ".npy" if self.target.suffix.lower() == ".npy" else ".zarr"
        output = created(work / f"output{ending}", self.layout)
        crew = crew_for(executor, len(self.grid))
        try:
            reports = restore_parts(Large(self, output, work), crew, progress=progress)
        finally:
            if next(journal(work), None) is None:  # nothing to take up again
                shutil.rmtree(work, ignore_errors=True)
        complete = output.path
        if self.target.suffix.lower() in (".tif", ".tiff"):
            complete = work / "output.tif"
            write_tiff(output, complete)
        if ready is not None:
            ready(complete)
        _named(complete, self.target)
        shutil.rmtree(work, ignore_errors=True)
        return reports


def crew_for(executor: Executor, tiles: int) -> Executor:
    """Return the default executor: workers with one thread each if there are enough tiles for all of them."""
    if not isinstance(executor, Adaptive):
        return executor
    if executor.slots > 1 and tiles >= 2 * executor.slots:
        return Processes(executor.slots, threads=1, memory=executor.memory)
    return Serial(executor.workers)


def halo_for(model: Model, choices: Choices) -> int:
    """Return the halo: the range of the denoiser, and that of a loop."""
    single = choices.parameters.max_iter == 1
    return DENOISER_REACH + (0 if single else DENOISER_REACH + LOOP_REACHES * reach_of(model))


def blend_of(halo: int) -> int:
    """Return half the width of the band in which neighbours are blended."""
    return halo // 4


def grid_for(
    made: Layout, layout: Layout, model: Model, choices: Choices, *, memory: int | None, core: int | None
) -> Grid:
    """Return the grid: cores are whole shards of the result, and `AT_A_TIME` of them fit into the memory.

    The grid does not depend on the number of workers, because pixels depend on it. If there is no memory for as many
    tiles as there are workers, some workers wait.

    Raises
    ------
    ValueError
        If not even one tile fits.
    """
    factor, halo = factor_of(model), halo_for(model, choices)
    # A core begins and ends where shards do, in pixels of the source.
    units = tuple(math.lcm(n, factor) // factor for n in made.unit)

    def rounded(side: int) -> tuple[int, int]:
        # No larger than the image, but whole shards.
        height, width = (
            max(min(side // unit, -(-n // unit)), 1) * unit for unit, n in zip(units, layout.size, strict=True)
        )
        return height, width

    side = CORE if core is None else -(-core // max(units)) * max(units)

    def needed() -> int:
        return _bytes(rounded(side), halo, layout.channels, factor)

    while memory is not None and side > min(units) and AT_A_TIME * needed() > memory:
        side //= 2
    cut = rounded(side)
    if memory is not None and needed() > memory:
        raise ValueError(
            f"a tile of {cut[0]} x {cut[1]} pixels with a halo of {halo} needs {needed() / 2**20:.0f} MiB, but "
            f"--memory allows {memory / 2**20:.0f}: allow more, or use smaller chunks or shards"
        )
    return Grid(layout.size, cut, halo, min(blend_of(halo), min(cut) // 2), layout.pages, factor)


def _bytes(core: tuple[int, int], halo: int, channels: int, factor: int) -> int:
    pixels = math.prod(n + 2 * halo + ALIGNMENT for n in core)
    return WORKER_BYTES + BYTES_PER_VALUE * pixels * channels * factor**2


def _named(complete: Path, target: Path) -> None:
    """Give a complete result its name; what had it before goes away afterwards."""
    if target.is_dir():
        old = complete.parent / "replaced"
        target.rename(old)
    os.replace(complete, target)  # noqa: PTH105 - folders, too
