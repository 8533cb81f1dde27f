"""What the napari widget does to a layer's array, without napari."""

import json

import numpy as np
import pytest

import plugplay as pp
from plugplay.napari import samples
from plugplay.napari.jobs import Job, kernel_of, restoring

IMAGE = (np.add.outer(np.arange(24), np.arange(32)) % 16 / 16).astype(np.float32)


def run(array, job, cancelled=lambda: False):
    told, steps = [], restoring(array, job, cancelled)
    try:
        while True:
            told.append(next(steps))
    except StopIteration as end:
        return end.value, told


def test_what_is_restored_is_what_python_restores():
    kernel = pp.kernels.box(3)
    y = pp.models.Deblurring(kernel).simulate(IMAGE, noise=0.01, rng=0)
    outcome, told = run(y, Job("deblur", kernel=kernel, denoiser="tv", noise=0.01))
    same = pp.deblur(y, kernel, denoiser="tv", noise=0.01)
    np.testing.assert_array_equal(outcome.image, same.image)
    assert outcome.metadata["lam"] == same.parameters.lam
    assert outcome.metadata["iterations"] == [len(same.history)]
    assert json.loads(json.dumps(outcome.metadata)) == outcome.metadata
    assert 0 < told[0][0] <= 1


def test_stacks_page_by_page_volumes_as_one_and_colours():
    stack = np.stack([IMAGE, IMAGE[::-1]])[:, None]
    outcome, told = run(stack, Job("denoise", denoiser="gaussian", noise=0.1))
    assert outcome.image.shape == stack.shape
    single, _ = run(IMAGE[::-1].copy(), Job("denoise", denoiser="gaussian", noise=0.1))
    np.testing.assert_array_equal(outcome.image[1, 0], single.image)
    assert told[-1][0] == 1
    volume = np.stack([IMAGE] * 6)
    outcome, _ = run(volume, Job("denoise", denoiser="tv", noise=0.1, volume=True))
    same = pp.denoise(volume, denoiser="tv", noise=0.1, spatial_ndim=3)
    np.testing.assert_array_equal(outcome.image, same.image)
    colour = np.rint(255 * np.stack([IMAGE] * 3, axis=-1)).astype(np.uint8)
    outcome, _ = run(colour, Job("denoise", denoiser="gaussian", noise=0.1, rgb=True))
    assert outcome.image.shape == colour.shape
    assert 0 <= outcome.image.min() <= outcome.image.max() <= 1


def test_integers_come_back_in_counts():
    counts = np.rint(1000 + 400 * IMAGE).astype(np.uint16)
    outcome, _ = run(counts, Job("denoise", denoiser="gaussian", noise=1e-4))
    assert 990 < outcome.image.mean() < 1410


def test_masks_and_upscaling():
    mask = np.ones(IMAGE.shape, bool)
    mask[5:7] = False
    outcome, _ = run(np.where(mask, IMAGE, 0), Job("inpaint", mask=mask, denoiser="tv", noise=0.01))
    assert pp.psnr(outcome.image[~mask], IMAGE[~mask]) > pp.psnr(np.zeros_like(IMAGE)[~mask], IMAGE[~mask]) + 3
    stack, masks = np.stack([IMAGE, IMAGE]), np.stack([mask, mask[::-1]])
    outcome, _ = run(stack, Job("inpaint", mask=masks, denoiser="tv", noise=0.01))
    assert outcome.image.shape == stack.shape
    outcome, _ = run(IMAGE, Job("upscale", factor=3, denoiser="tv", noise=0.01))
    assert outcome.image.shape == (72, 96)


def test_cancelling_ends_within_a_run():
    asked = []

    def after_three():
        asked.append(1)
        return len(asked) > 3

    with pytest.raises(pp.Cancelled):
        run(IMAGE, Job("deblur", kernel=pp.kernels.box(3), denoiser="tv", noise=0.01), after_three)


def test_kernels():
    np.testing.assert_array_equal(kernel_of("motion", 9, 30, None, volume=False), pp.kernels.parse("motion:9,30"))
    psf = kernel_of("layer", 1, 0, 7 * np.ones((3, 3)), volume=False)
    assert psf.sum() == pytest.approx(1)
    solid = kernel_of("gaussian", 1.0, 0, None, volume=True)
    assert solid.shape == (7, 7, 7)
    assert solid.sum() == pytest.approx(1)
    with pytest.raises(ValueError, match="choose the layer"):
        kernel_of("layer", 1, 0, None, volume=False)
    with pytest.raises(ValueError, match="needs 3 axes"):
        kernel_of("layer", 1, 0, np.ones((3, 3)), volume=True)
    with pytest.raises(ValueError, match="3-D PSF"):
        kernel_of("disk", 1, 0, None, volume=True)


def test_layers_with_too_few_axes_are_refused():
    with pytest.raises(ValueError, match="needs 3"):
        run(IMAGE, Job("denoise", volume=True))


@pytest.mark.parametrize("sample", [samples.photograph, samples.cells, samples.scratched])
def test_samples_are_layers(sample):
    for array, options, kind in sample():
        assert kind in ("image", "labels")
        assert isinstance(options["name"], str)
        assert np.asarray(array).ndim in (2, 3)
