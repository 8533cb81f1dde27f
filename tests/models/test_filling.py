"""Splines in tension, against a sparse direct solver with matrices made in another way."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import spsolve
from skimage import data
from skimage.restoration import inpaint_biharmonic

import plugplay as pp
from plugplay.models.filling import TENSION, fill_holes


def laplacian(shape):
    """The Laplacian of a grid, as a sum of Kronecker products of paths."""
    total = sparse.csr_array((int(np.prod(shape)), int(np.prod(shape))))
    for axis in range(len(shape)):
        factors = [sparse.eye_array(n) for n in shape]
        n = shape[axis]
        path = sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n)).tolil()
        path[0, 0] = path[n - 1, n - 1] = 1.0
        factors[axis] = path
        product = factors[0]
        for factor in factors[1:]:
            product = sparse.kron(product, factor)
        total = total + product
    return total.tocsr()


def exact(image, mask, tension=TENSION):
    matrix = laplacian(mask.shape)
    energy = (matrix @ matrix + tension * matrix).tocsc()
    hole = np.flatnonzero(~mask)
    seen = np.flatnonzero(mask)
    filled = image.ravel().copy()
    filled[hole] = spsolve(energy[hole][:, hole], -(energy[hole][:, seen] @ filled[seen]))
    return filled.reshape(image.shape)


def holes(shape, kind):
    rng = np.random.default_rng(3)
    if kind == "scattered":
        return rng.random(shape) < 0.2
    mask = np.ones(shape, bool)
    middle = tuple(slice(n // 3, n - n // 4) for n in shape)
    mask[middle] = False
    mask[(slice(None, 4), *[slice(2, 7)] * (len(shape) - 1))] = False  # at the border
    return mask


@pytest.mark.parametrize("kind", ["wide", "scattered"])
@pytest.mark.parametrize("shape", [(60, 47), (12, 17, 15)])
def test_it_is_the_spline_of_a_direct_solver(shape, kind):
    places = np.stack(np.meshgrid(*(np.arange(n) for n in shape), indexing="ij"))
    image = 0.5 + 0.3 * np.sin(places.sum(axis=0) / 9) + 0.02 * np.random.default_rng(0).normal(size=shape)
    mask = holes(shape, kind)
    found = fill_holes(np.where(mask, image, np.nan), mask, spatial_ndim=len(shape))
    np.testing.assert_array_equal(found[mask], image[mask])
    assert np.abs(found - exact(image, mask)).max() < 0.01
    assert np.sqrt(np.mean(np.square((found - exact(image, mask))[~mask]))) < 0.002


def test_a_hole_of_a_hundred_pixels_in_a_photograph():
    # Coarse levels bring the rim's brightness into the middle, which conjugate gradients alone would not reach.
    image = data.camera()[::3, ::3] / 255
    mask = np.ones(image.shape, bool)
    mask[40:140, 30:130] = False
    found = fill_holes(np.where(mask, image, 0), mask)
    assert np.sqrt(np.mean(np.square((found - exact(image, mask))[~mask]))) < 0.02


def test_channels_are_filled_on_their_own():
    rng = np.random.default_rng(1)
    image, mask = rng.random((20, 22, 3)).astype(np.float32), rng.random((20, 22, 3)) < 0.6
    mask[..., 2] = False
    found = fill_holes(image, mask)
    assert found.dtype == np.float32
    for c in range(2):
        np.testing.assert_allclose(found[..., c], fill_holes(image[..., c], mask[..., c]), atol=1e-6)
    assert (found[..., 2] == 0.5).all()
    shared = np.broadcast_to(mask[..., :1], mask.shape)
    joint = fill_holes(image, shared)
    for c in range(3):
        assert np.abs(joint[..., c] - exact(image[..., c].astype(float), mask[..., 0])).max() < 0.01


def test_inpainting_starts_from_it_and_beats_biharmonic_interpolation():
    image = data.brick()[100:196, 180:276] / 255
    mask = np.ones(image.shape, bool)
    mask[::12], mask[1::12], mask[2::12] = False, False, False
    y = np.where(mask, image, np.nan)
    start = pp.models.Inpainting(mask).data_term(y).start()
    np.testing.assert_array_equal(start, fill_holes(np.where(mask, image, 0), mask))
    error, peer = (
        np.square(found - image)[~mask].mean()
        for found in (pp.inpaint(y, mask, noise=0.0).image, inpaint_biharmonic(np.where(mask, image, 0), ~mask))
    )
    assert error < 0.8 * peer
