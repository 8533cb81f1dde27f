r"""Coupled dictionaries for sparse-coding super-resolution: how they are trained, and where they are kept.

A patch of the interpolated image is described by its derivatives, f, and lacks the details r that the true image has
beyond it. Both are to have one sparse code a:

.. math:: f \approx a^T D_l, \qquad r \approx a^T D_h.

Training alternates between coding the pairs :math:`(f, w\,r)` with the joint dictionary and improving its atoms, one
after the other, for these codes. The weight w gives both halves the same energy. When an image is restored, though,
codes come from f alone; so in the end the pairs are coded once more from f alone, and :math:`D_h` is fitted to these
codes by least squares.
"""

from __future__ import annotations

import functools
import hashlib
import io
import logging
import os
import zipfile
from dataclasses import KW_ONLY, dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from platformdirs import user_cache_path

import plugplay
from plugplay.models import SuperResolution
from plugplay_paper.arrays import FloatArray, check_integer, check_number, frozen
from plugplay_paper.baselines.back_projection import consistent_bicubic
from plugplay_paper.baselines.patches import derivatives, patches
from plugplay_paper.baselines.pursuit import sparse_codes, unit_rows
from plugplay_paper.baselines.training_images import AVAILABLE, NAMES, training_images
from plugplay_paper.files import write_atomically
from plugplay_paper.fingerprints import Fingerprinted
from plugplay_paper.source_code import computing_files, digest_of

__all__ = ["Dictionaries", "Training", "train_dictionaries", "trained_dictionaries"]

_log = logging.getLogger(__name__)

# The circular domain closes at the edges of the training images, where nature does not: samples stay away.
_MARGIN = 4
# An atom that fewer samples use is replaced by a sample.
_MIN_USE = 3
# Of the mean diagonal, added to it when the details are fitted: rarely used atoms must not learn noise.
_RIDGE = 1e-3


@dataclass(frozen=True)
class Training(Fingerprinted):
    """Everything that defines a training, apart from the factor.

    Parameters
    ----------
    atoms : int
        Size of the dictionaries.
    samples : int
        Pairs of patches to learn from, at most.
    sparsity : int
        Atoms in each code.
    rounds : int
        How often codes and atoms are improved in turn.
    features : int
        Principal components of the derivatives that are kept.
    contrast : float
        Mean square of the derivatives below which a patch is too flat to learn from.
    images : tuple of str
        The training images, functions of `skimage.data`; those named more often give more of the samples.
    shrink : int
        How much the training images are shrunk before, to make them sharp.
    seed : int
        Chooses the patches and the first atoms.

    Examples
    --------
    >>> Training(atoms=64).sparsity
    3
    """

    _: KW_ONLY
    atoms: int = 1024
    samples: int = 100_000
    sparsity: int = 3
    rounds: int = 15
    features: int = 30
    contrast: float = 1e-3
    images: tuple[str, ...] = NAMES
    shrink: int = 2
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("atoms", "samples", "sparsity", "rounds", "features", "shrink"):
            check_integer(getattr(self, name), name, minimum=1)
        check_integer(self.seed, "seed", minimum=0)
        check_number(self.contrast, "contrast", minimum=0)
        images: object = self.images  # whatever was given
        if not isinstance(images, tuple) or not images or set(images) - set(AVAILABLE):
            raise ValueError(f"images must be some of {', '.join(AVAILABLE)}; got {self.images!r}")
        if self.sparsity > self.atoms:
            raise ValueError(f"sparsity must not exceed the number of atoms, {self.atoms}; got {self.sparsity}")
        if self.samples < self.atoms:
            raise ValueError(f"samples must be at least as many as atoms, {self.atoms}; got {self.samples}")


@dataclass(frozen=True, eq=False)
class Dictionaries(Fingerprinted):
    """A trained pair of dictionaries.

    Attributes
    ----------
    components : array, ``(d, 36 K²)``
        The principal components onto which derivatives are projected.
    low : array, ``(k, d)``
        Atoms of features, of length 1.
    high : array, ``(k, 9 K²)``
        What details each atom stands for.
    """

    components: FloatArray
    low: FloatArray
    high: FloatArray

    def details(self, maps: FloatArray, factor: int, sparsity: int) -> FloatArray:
        """Return the details that all patches of an image lack, from its derivatives."""
        codes = sparse_codes(patches(maps, factor) @ self.components.T, self.low, sparsity)
        return np.asarray(codes @ self.high)


def trained_dictionaries(
    factor: int, *, training: Training | None = None, cache: str | os.PathLike[str] | None = None
) -> Dictionaries:
    """Return dictionaries from the cache; train and keep them if they are not there.

    Parameters
    ----------
    factor : int
        K, at least 2.
    training : Training, optional
        How to train.
    cache : path, optional
        The folder they are kept in; by default plugplay's in the user's cache directory. If it cannot be written,
        nothing is kept.
    """
    factor = check_integer(factor, "factor", minimum=2)
    training = Training() if training is None else training
    folder = user_cache_path("plugplay", appauthor=False) if cache is None else Path(cache)
    file = folder / f"sparse-coding-x{factor}-{_digest(factor, training)[:24]}.npz"
    found = _load(file, factor, training)
    if found is None:
        _log.warning("training the dictionaries of sparse coding for factor %d once, about half a minute", factor)
        found = train_dictionaries(factor, training)
        _keep(found, file)
    return found


def train_dictionaries(factor: int, training: Training) -> Dictionaries:
    """Learn dictionaries from the training images."""
    rng = np.random.default_rng(training.seed)
    features, details = _pairs(factor, training, rng)
    if len(features) < training.atoms:
        raise ValueError(
            f"the training images have only {len(features)} patches of contrast {training.contrast:g}, but "
            f"{training.atoms} atoms are to be learned: lower contrast or atoms"
        )
    _, axes = np.linalg.eigh((features.T @ features).astype(np.float64))
    components = np.ascontiguousarray(axes[:, ::-1][:, : training.features].T.astype(np.float32))
    features = features @ components.T
    weight = np.sqrt(np.square(features).sum() / np.square(details).sum())
    joint = learn_atoms(np.hstack([features, weight * details]), training, rng)
    low = unit_rows(joint[:, : components.shape[0]])
    codes = sparse_codes(features, low, training.sparsity)
    gram = (codes.T @ codes).toarray().astype(np.float64)
    gram[np.diag_indices_from(gram)] += _RIDGE * np.trace(gram) / len(gram)
    high = np.linalg.solve(gram, np.asarray(codes.T @ details, np.float64)).astype(np.float32)
    return Dictionaries(frozen(components), frozen(low), frozen(high))


def learn_atoms(samples: FloatArray, training: Training, rng: np.random.Generator) -> FloatArray:
    r"""Learn atoms whose sparse combinations approximate the samples.

    For fixed codes A the error :math:`\|X - A D\|^2` is lowered atom by atom: the best atom j, given the others, is
    in the direction of :math:`d_j + (A^T X - A^T A\, D)_j / (A^T A)_{jj}`.

    Parameters
    ----------
    samples : array, ``(n, d)``
        What to approximate.
    training : Training
        Number of atoms, sparsity and rounds.
    rng : numpy.random.Generator
        Chooses the samples that are the first atoms.

    Returns
    -------
    array, ``(k, d)``
        Rows of length 1.
    """
    atoms = unit_rows(samples[rng.choice(len(samples), training.atoms, replace=False)])
    for _ in range(training.rounds):
        codes = sparse_codes(samples, atoms, training.sparsity)
        gram = (codes.T @ codes).toarray()
        target = np.asarray(codes.T @ samples)
        errors = np.square(samples - codes @ atoms).sum(axis=1)
        for _ in range(2):  # an atom that moved changes what is best for those before it
            for j in np.flatnonzero(gram.diagonal() > 0):
                atoms[j] += (target[j] - gram[j] @ atoms) / gram[j, j]
                atoms[j] /= max(float(np.linalg.norm(atoms[j])), np.finfo(atoms.dtype).tiny)
        used = np.bincount(codes.indices[codes.data != 0], minlength=len(atoms))
        idle = np.flatnonzero(used < _MIN_USE)
        worst = np.argsort(-errors, kind="stable")[: len(idle)]
        atoms[idle] = unit_rows(samples[worst])
    return atoms


def _pairs(factor: int, training: Training, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return the derivatives of interpolated patches and the details they lack, a row each."""
    share = -(-training.samples // (8 * len(training.images)))
    features, details = [], []
    for image in training_images(training.images, shrink=training.shrink, multiple=factor):
        y = SuperResolution(factor).simulate(image)
        smooth = consistent_bicubic(y, factor)
        maps = derivatives(smooth, factor)
        contrast = patches(np.square(maps).mean(axis=0, keepdims=True), factor).mean(axis=1).reshape(y.shape)
        inner = np.zeros(y.shape, bool)
        inner[_MARGIN:-_MARGIN, _MARGIN:-_MARGIN] = True
        eligible = np.flatnonzero(inner & (contrast > training.contrast))
        where = rng.choice(eligible, min(share, eligible.size), replace=False)
        features.append(patches(maps, factor, where))
        details.append(patches((image - smooth)[None], factor, where))
    return np.concatenate(features), np.concatenate(details)


def _load(file: Path, factor: int, training: Training) -> Dictionaries | None:
    """Return what the file holds; None if there is none, or if it is damaged."""
    try:
        # Opened here, because NumPy leaves a damaged file open.
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            arrays = [stored[field.name] for field in fields(Dictionaries)]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        _log.info("dictionaries could not be read: %s", error)
        return None
    kept = min(training.features, 36 * factor**2)
    shapes = [(kept, 36 * factor**2), (training.atoms, kept), (training.atoms, 9 * factor**2)]
    if [array.shape for array in arrays] != shapes or not all(np.isfinite(array).all() for array in arrays):
        _log.info("dictionaries in %s are not what they should be", file)
        return None
    return Dictionaries(*(frozen(array.astype(np.float32)) for array in arrays))


def _keep(dictionaries: Dictionaries, file: Path) -> None:
    arrays: dict[str, Any] = {field.name: getattr(dictionaries, field.name) for field in fields(Dictionaries)}
    encoded = io.BytesIO()
    np.savez(encoded, **arrays)
    try:
        write_atomically(file, encoded.getvalue())
    except OSError as error:
        _log.info("dictionaries could not be kept: %s", error)


def _digest(factor: int, training: Training) -> str:
    """Return a hash of everything the dictionaries depend on."""
    text = f"{factor} {training.fingerprint()} {version('scikit-image')} {_sources()}"
    return hashlib.sha256(text.encode()).hexdigest()


@functools.cache
def _sources() -> str:
    """Return a digest of the code that takes part in the training."""
    core, here = Path(plugplay.__file__).parent, Path(__file__).parent
    own = ("back_projection", "patches", "dictionaries", "pursuit", "training_images")
    files = [("kernels", core / "kernels.py"), *computing_files(core / "models")]
    return digest_of([*files, *((name, here / f"{name}.py") for name in own)])
