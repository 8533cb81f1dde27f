r"""Non-local means with a doubly stochastic weight matrix, as in Appendix A of the paper."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from plugplay.arrays.checks import FloatArray, check_integer, check_number, check_workers
from plugplay.arrays.strips import Pieces, Runner, strips, threads
from plugplay.compiling import kernel
from plugplay.denoisers._inputs import checked, is_negligible
from plugplay.denoisers._pairs import half_window, offset_weights, planes, radius_for
from plugplay.denoisers._prepared import Threaded

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["DoublyStochasticNonLocalMeans"]


def patch_and_width(sigma: float, channels: int = 1) -> tuple[int, float]:
    """Return the radius of the patches, and h as a multiple of sigma.

    The best mean PSNR over crops of scikit-image's camera, coins, astronaut and coffee: h = sigma with 3 x 3 patches,
    the paper's formula, up to 20/255, where larger patches with a smaller h take over, unless they have three channels.
    """
    if sigma < 20 / 255:
        return radius_for(9, channels), math.pow(channels, -0.1)
    return radius_for(25, channels), 0.85


@dataclass(frozen=True, kw_only=True)
class DoublyStochasticNonLocalMeans(Threaded):
    r"""Return :math:`\tilde W x` with :math:`\tilde W = D W D` and :math:`W_{ij} = \exp(-d_{ij} / 2h^2)`.

    :math:`d_{ij}` is the mean squared difference of the patches around pixels i and j, for pixels within a window of
    each other. The positive diagonal matrix D makes all rows and columns of :math:`\tilde W` sum to one; it is found
    by the Sinkhorn-Knopp iteration, in the form that keeps the matrix symmetric. Patches are 3 x 3 with
    :math:`h = \sigma\,C^{-0.1}` for C channels below :math:`\sigma = 20/255`, and 5 x 5 (3 x 3 in colour) with
    :math:`h = 0.85\,\sigma` above.

    For a fixed image :math:`\tilde W` is a symmetric averaging matrix, but it depends on the image, so that the
    denoiser is expansive all the same: Appendix A of the paper.

    Parameters
    ----------
    window : int, optional
        Pixels are compared within ``window`` rows and columns of each other. The memory needed is
        ``8 * window * (window + 1)`` bytes per pixel.
    tolerance : float, optional
        The iteration stops when no row sum differs from one by more.
    max_iterations : int, optional
        Limit of the number of iterations.
    workers : int, optional
        Number of threads, by default all cores. It does not change the result.

    References
    ----------
    R. Sinkhorn, P. Knopp, "Concerning nonnegative matrices and doubly stochastic matrices", Pacific Journal of
    Mathematics 21 (1967).

    Examples
    --------
    >>> import numpy as np
    >>> stripes = np.tile([0.2, 0.2, 0.8, 0.8], (16, 4))
    >>> noisy = stripes + 0.1 * np.random.default_rng(0).standard_normal(stripes.shape)
    >>> denoised = DoublyStochasticNonLocalMeans()(noisy, 0.1)
    >>> bool(np.std(denoised - stripes) < 0.05), bool(np.isclose(denoised.mean(), noisy.mean()))
    (True, True)
    """

    window: int = 5
    tolerance: float = 1e-6
    max_iterations: int = 100
    workers: int | None = None

    name: ClassVar[str] = "dsg-nlm"

    def __post_init__(self) -> None:
        check_integer(self.window, "window", minimum=1)
        check_number(self.tolerance, "tolerance", above=0)
        check_integer(self.max_iterations, "max_iterations", minimum=1)
        check_workers(self.workers)

    def __call__(self, image: FloatArray, sigma: float, /) -> FloatArray:
        """Denoise; colour channels share their weights."""
        noisy, sigma = checked(image, sigma)
        if is_negligible(sigma):
            return noisy.copy()
        offsets = half_window(self.window)
        pieces = strips(noisy.shape[0])
        product = np.empty(noisy.shape[:2])
        smooth = np.empty_like(noisy)
        run = threads(check_workers(self.workers))
        weights, scaling = self._balanced(noisy, sigma, run, pieces)
        for source, target in zip(_channels(noisy), _channels(smooth), strict=True):
            run(partial(_multiply, weights, offsets, scaling * source, product), pieces)
            target[:] = scaling * product
        return smooth

    def matrix(self, image: FloatArray, sigma: float, /) -> csr_matrix:
        r"""Return :math:`\tilde W` for this image, pixels numbered row by row: a sparse matrix to look at.

        Parameters
        ----------
        image : array
            ``(H, W)`` or ``(H, W, C)``.
        sigma : float
            Standard deviation of the noise, above 0.

        Returns
        -------
        scipy.sparse.csr_matrix
            With ``H * W`` rows and columns; about ``(2 window + 1)**2`` entries in each row.

        Examples
        --------
        >>> import numpy as np
        >>> w = DoublyStochasticNonLocalMeans().matrix(np.random.default_rng(0).random((6, 6)), 0.2)
        >>> bool(np.allclose(w.sum(axis=0), 1)), bool(np.allclose(w.sum(axis=1), 1))
        (True, True)
        """
        from scipy.sparse import coo_matrix

        noisy, sigma = checked(image, sigma)
        if is_negligible(sigma):
            raise ValueError(f"the weights need a sigma above 0; got {sigma!r}")
        pieces = strips(noisy.shape[0])
        run = threads(check_workers(self.workers))
        weights, scaling = self._balanced(noisy, sigma, run, pieces)
        size = scaling.size
        index = np.arange(size).reshape(scaling.shape)
        rows, columns, values = [np.arange(size)], [np.arange(size)], [np.ones(size)]
        for (dy, dx), weight in zip(half_window(self.window), weights, strict=True):
            y, x = np.nonzero(weight)
            here, there = index[y, x], index[y + dy, x + dx]
            rows += [here, there]
            columns += [there, here]
            values += [weight[y, x], weight[y, x]]
        i, j = np.concatenate(rows), np.concatenate(columns)
        d = scaling.ravel()
        return coo_matrix((np.concatenate(values) * (d[i] * d[j]), (i, j)), shape=(size, size)).tocsr()

    def _balanced(
        self, image: FloatArray, sigma: float, run: Runner, pieces: Pieces
    ) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Return W, one array for each offset of the half window, and the diagonal of D as an image."""
        patch, width = patch_and_width(sigma, image[0, 0].size)
        offsets = half_window(self.window)
        padded = planes(image, patch)
        padded /= np.float32(math.sqrt(2) * width * sigma)
        weights = np.empty((len(offsets), *image.shape[:2]), np.float32)
        run(partial(_fill, padded, offsets, patch, weights), pieces)
        scaling = np.ones(image.shape[:2])
        product = np.empty_like(scaling)
        for _ in range(self.max_iterations):
            run(partial(_multiply, weights, offsets, scaling, product), pieces)
            if np.abs(scaling * product - 1).max() <= self.tolerance:
                break
            # The geometric mean of the scaling and of the one that would make the rows sum to one: it keeps D W D
            # symmetric, and where Sinkhorn's own steps overshoot, it does not.
            scaling = np.sqrt(scaling / product)
        return weights, scaling


def _channels(image: FloatArray) -> list[FloatArray]:
    """Return views of the channels."""
    return [image] if image.ndim == 2 else [image[..., c] for c in range(image.shape[2])]


@kernel
def _fill(
    padded: FloatArray, offsets: NDArray[np.int64], patch: int, weights: FloatArray, first: int, stop: int
) -> None:
    """Fill in ``weights[k, y, x]``, the weight of (y, x) and (y, x) + offset k, for the rows `first` to `stop`."""
    padded_width = padded.shape[2]
    ring = np.empty((2 * patch + 1, padded_width), np.float32)
    column = np.empty(padded_width, np.float32)
    total = np.empty(padded_width, np.float32)
    zero = np.float32(0.0)
    for k in range(len(offsets)):
        dy, dx = offsets[k]
        offset_weights(padded, patch, zero, first, stop, dy, dx, ring, column, total, weights[k, first:stop])


@kernel
def _multiply(
    weights: FloatArray, offsets: NDArray[np.int64], vector: FloatArray, product: FloatArray, first: int, stop: int
) -> None:
    """Fill rows `first` to `stop` of W times `vector`; W has ones on its diagonal and is symmetric."""
    height, width = vector.shape
    for i in range(first, stop):
        out = product[i]
        for j in range(width):
            out[j] = vector[i, j]
        for k in range(len(offsets)):
            dy, dx = offsets[k]
            left, span = max(0, -dx), width - abs(dx)
            if span <= 0:
                continue
            if i + dy < height:
                row, w, other = out[left:], weights[k, i, left:], vector[i + dy, left + dx :]
                for j in range(span):
                    row[j] += w[j] * other[j]
            if i >= dy:
                row, w, other = out[left + dx :], weights[k, i - dy, left:], vector[i - dy, left:]
                for j in range(span):
                    row[j] += w[j] * other[j]
