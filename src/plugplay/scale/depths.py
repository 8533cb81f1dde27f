"""The depth in which parts are stored: that of the source, or floats; and what integers lose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay.arrays.scale import nominal_range
from plugplay.arrays.transfer import linearise
from plugplay.io.depths import Integers, in_units, stored_as

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from plugplay.pnp.results import Parameters
    from plugplay.scale.stores import Layout

__all__ = ["Depth"]


@dataclass(frozen=True)
class Depth:
    """How restored values become values of the result.

    Attributes
    ----------
    source, made : str
        The types of the values that are read and written.
    data_range : (float, float)
        Black and white in the result.
    measured : bool
        Whether the source holds counts or fluxes, and not a photograph.
    fills_range : bool
        Whether they fill the range of their type.
    undone : str
        The transfer curve that is undone before values are stored: floats without a profile are light.
    """

    source: str
    made: str
    data_range: tuple[float, float]
    measured: bool
    fills_range: bool
    undone: str = "linear"

    @classmethod
    def of(
        cls,
        layout: Layout,
        made: np.dtype[Any],
        target: Path,
        parameters: Parameters,
        data_range: tuple[float, float] | None,
    ) -> Depth:
        """Choose the depth; `data_range` was given by the user, `parameters` are those of the whole image."""
        dtype = np.dtype(layout.dtype)
        fills_range = parameters.working_range == parameters.data_range
        measured = layout.transfer == "linear" or not (layout.colour or fills_range)
        becomes_float = made.kind == "f" and dtype.kind in "iu"
        kept = dtype == made or (becomes_float and measured)
        found = nominal_range(dtype, data_range) if kept else nominal_range(made)
        marked = layout.icc is not None and target.suffix.lower() in (".tif", ".tiff")
        undone = becomes_float and not measured and not marked and layout.transfer != "unknown"
        return cls(str(dtype), str(made), found, measured, fills_range, layout.transfer if undone else "linear")

    def stored(self, image: NDArray[Any]) -> NDArray[Any]:
        """Return restored values as they are stored."""
        dtype = np.dtype(self.made)
        if dtype.kind == "f" and np.dtype(self.source).kind in "iu" and self.measured:
            return in_units(image, self.data_range).astype(dtype)
        light = image if self.undone == "linear" else linearise(image, self.undone)
        return stored_as(light, self.data_range, dtype)

    def lost(self, image: NDArray[Any], pixels: NDArray[Any]) -> tuple[str, ...]:
        """Describe what integers lose of a restored part."""
        if self.source != self.made or pixels.dtype.kind not in "iu" or not self.measured:
            return ()
        integers = Integers.of(pixels.dtype, self.data_range, fills_range=self.fills_range).losing(image, pixels)
        return (integers.told(kept=False),) if integers.lose else ()
