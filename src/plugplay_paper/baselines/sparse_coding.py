"""Super-resolution by sparse coding with coupled dictionaries.

After Yang, Wright, Huang and Ma (CVPR 2008; IEEE Trans. Image Processing, 2010): the small image is interpolated;
every patch of the result is coded by few atoms that describe its derivatives; the coupled atoms of details, weighted
by the same code, are added to it; overlapping patches are averaged; and back-projection makes the result agree with
what was observed. See `plugplay_paper.baselines.dictionaries` for the training.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from plugplay_paper.arrays import FloatArray
from plugplay_paper.baselines.back_projection import back_project, check_gray, consistent_bicubic
from plugplay_paper.baselines.dictionaries import Training, trained_dictionaries
from plugplay_paper.baselines.patches import average_patches, derivatives

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["sparse_coding"]


def sparse_coding(
    y: ArrayLike,
    factor: int,
    *,
    training: Training | None = None,
    cache: str | os.PathLike[str] | None = None,
) -> FloatArray:
    """Enlarge a gray image, taken for the bicubic decimation of a larger one.

    Factors of 2 are taken one after the other, with the dictionaries of 2: they do as well as dictionaries for 4 and
    need training only once. The first call trains the dictionaries and keeps them; see `trained_dictionaries`.

    Parameters
    ----------
    y : array, ``(h, w)``
        The small image, floats on [0, 1]; sample i is centred at pixel ``K i + (K-1)/2`` of the large one. The domain
        is circular.
    factor : int
        K, at least 2.
    training : Training, optional
        How the dictionaries are to be trained.
    cache : path, optional
        Where they are kept.

    Returns
    -------
    array, ``(K h, K w)``
        The large image, in the dtype of y; not clipped.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> tiny = Training(atoms=8, samples=64, rounds=1, features=4, images=("text",))
    >>> sparse_coding(np.eye(8), 2, training=tiny, cache=tempfile.mkdtemp()).shape
    (16, 16)
    """
    image, factor = check_gray(y, factor)
    training = Training() if training is None else training
    observed = image
    for step in _steps(factor):
        image = _enlarged(image, step, training, cache)
    # What was observed is known only about the last image, and each step agrees only with the one before.
    return back_project(image, observed, factor) if len(_steps(factor)) > 1 else image


def _enlarged(y: FloatArray, factor: int, training: Training, cache: str | os.PathLike[str] | None) -> FloatArray:
    dictionaries = trained_dictionaries(factor, training=training, cache=cache)
    smooth = consistent_bicubic(y, factor)
    maps = derivatives(smooth.astype(np.float32), factor)
    details = dictionaries.details(maps, factor, training.sparsity)
    height, width = y.shape
    return back_project(smooth + average_patches(details, (height, width), factor), y, factor)


def _steps(factor: int) -> tuple[int, ...]:
    """Return the factors that are taken one after the other: twos, and what is left.

    Examples
    --------
    >>> _steps(4), _steps(6), _steps(5)
    ((2, 2), (2, 3), (5,))
    """
    twos = 0
    while factor % 2 == 0:
        factor //= 2
        twos += 1
    return (2,) * twos + ((factor,) if factor > 1 else ())
