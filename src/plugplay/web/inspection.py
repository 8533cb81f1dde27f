"""Descriptions and views of uploaded files."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from plugplay import io, kernels
from plugplay.web.rendering import MAX_VIEW_SIDE, display_range, kernel_image, png, screen_image
from plugplay.web.restoring import Problem

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from plugplay.web.messages import View

__all__ = ["describe", "view"]


def describe(read: Callable[[Path], io.ImageFile], path: Path, role: str) -> dict[str, Any]:
    """Return the description of an uploaded file for the page, or raise if it cannot be used.

    Examples
    --------
    >>> import pathlib, tempfile, numpy as np
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "upload.npy"
    >>> np.save(path, np.zeros((5, 20, 30), np.uint16))
    >>> found = describe(io.read, path, "image")
    >>> found["kind"], found["pages"], found["width"], found["dtype"]
    ('image', 5, 30, 'uint16')
    """
    if role == "kernel":
        taps = kernels.from_file(path)
        if taps.ndim != 2:
            raise ValueError(f"{path}: a kernel is one image, but this file holds a volume")
        return {"kind": "kernel", "width": taps.shape[1], "height": taps.shape[0]}
    if role == "image" and path.suffix in (".mat", ".bin"):
        return {"kind": "photons", "packed": path.suffix == ".bin"}
    image = read(path)
    if image.data_range[0] >= image.data_range[1] or not all(map(math.isfinite, image.data_range)):
        raise ValueError(f"{path}: its values cannot be shown")
    height, width = image.pages.shape[1:3]
    finite = image.pixels.dtype.kind != "f" or bool(np.isfinite(image.pixels).all())
    return {
        "kind": "photons" if role == "image" and _is_cube(path, image) else "image",
        "packed": False,
        "width": int(width),
        "height": int(height),
        "pages": int(image.pages.shape[0]),
        "channels": int(image.pages.shape[3]) if image.colour else 1,
        "dtype": str(image.pixels.dtype),
        "alpha": image.alpha is not None,
        "missing": 0 if finite else int((~np.isfinite(image.pixels)).sum()),
        "data_range": [float(n) for n in image.data_range],
        "shown": list(display_range(image)),
    }


def view(read: Callable[[Path], io.ImageFile], request: View) -> tuple[bytes, tuple[float, float]]:
    """Return a page as a PNG file, and the values shown as black and white."""
    if request.kernel:
        return png(kernel_image(kernels.from_file(request.path))), (0.0, 1.0)
    if request.task is not None and request.sources is not None:
        image, shown = Problem(request.task, request.sources).image, (0.0, 1.0)
    else:
        image = read(request.path)
        shown = request.shown or display_range(image)
    if not 0 <= request.page < image.pages.shape[0]:
        raise ValueError(f"there is no page {request.page + 1}")
    return png(screen_image(image.pages[request.page], shown, max_side=MAX_VIEW_SIDE)), shown


def _is_cube(path: Path, image: io.ImageFile) -> bool:
    """Tell whether a file holds single photons: zeros and ones, as arrays store them."""
    if path.suffix != ".npy" or image.colour or image.pixels.dtype.kind not in "ui":
        return False
    # Booleans are read as 0 and 255.
    values = np.unique(image.pixels.reshape(-1)[:100_000])
    return values.tolist() in ([0, 1], [0, 255])
