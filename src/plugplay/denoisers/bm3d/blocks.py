"""Reading and writing 8x8 blocks as eight rows."""

from __future__ import annotations

from plugplay.denoisers.bm3d.vectors import Float8, Floats, load, store
from plugplay.denoisers.compiling import inline

__all__ = ["load_block", "store_block"]


@inline
def load_block(array: Floats, at: int, pitch: int) -> tuple[Float8, ...]:
    """Return the rows of the 8x8 block that starts at `at`."""
    return (
        load(array, at),
        load(array, at + pitch),
        load(array, at + 2 * pitch),
        load(array, at + 3 * pitch),
        load(array, at + 4 * pitch),
        load(array, at + 5 * pitch),
        load(array, at + 6 * pitch),
        load(array, at + 7 * pitch),
    )


@inline
def store_block(
    array: Floats, at: int, pitch: int,
    r0: Float8, r1: Float8, r2: Float8, r3: Float8, r4: Float8, r5: Float8, r6: Float8, r7: Float8,
) -> None:  # fmt: skip
    """Write the rows of an 8x8 block from `at` on."""
    store(array, at, r0)
    store(array, at + pitch, r1)
    store(array, at + 2 * pitch, r2)
    store(array, at + 3 * pitch, r3)
    store(array, at + 4 * pitch, r4)
    store(array, at + 5 * pitch, r5)
    store(array, at + 6 * pitch, r6)
    store(array, at + 7 * pitch, r7)
