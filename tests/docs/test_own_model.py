"""The page "A model of your own" does what it says."""

import re
from pathlib import Path

import numpy as np
import pytest

import plugplay as pp

PAGE = Path(__file__).parents[2] / "docs" / "own-model.md"
TEXT = PAGE.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page():
    """Run the blocks one after the other, as a reader would, and return what they leave behind."""
    names = {"__name__": "page"}
    for block in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL):
        exec(compile(block, str(PAGE), "exec"), names)
    return names


def decibels(page, image):
    return round(pp.psnr(image, page["image"]), 1)


def claimed(sentence):
    """Return the two numbers of a sentence such as "from 8.1 dB to 25.3 dB"."""
    found = re.search(sentence + r"[^.]*?(\d+\.\d) dB\s+to\s+(\d+\.\d) dB", TEXT)
    return float(found[1]), float(found[2])


def test_compressive_sensing(page):
    assert page["y"].shape == (2764,)
    before = page["camera"].data_term(page["y"]).start()
    first, last = claimed("Back-projection")
    assert decibels(page, before) == pytest.approx(first, abs=0.15)
    assert decibels(page, page["compressive"].image) == pytest.approx(last, abs=0.9)
    assert page["compressive"].warnings == ()


def test_a_blur_that_varies_in_space(page):
    first, last = claimed("The restoration goes from")
    assert decibels(page, page["blurred"]) == pytest.approx(first, abs=0.15)
    assert decibels(page, page["sharp"].image) == pytest.approx(last, abs=0.9)
    right = np.s_[:, 64:]
    assert pp.psnr(page["sharp"].image[right], page["image"][right]) > pp.psnr(
        page["blurred"][right], page["image"][right]
    )
    assert page["report"].passed


def test_the_template(page):
    assert page["bright"].status is pp.Status.CONVERGED
    assert decibels(page, page["bright"].image) > decibels(page, page["dim"] / page["transmission"]) + 2


@pytest.mark.parametrize("iteration", ["hqs", "pgd", "fista", "red"])
def test_the_template_in_other_iterations(page, iteration):
    result = pp.restore(
        page["dim"], page["window"], noise=0.02, denoiser="tv", iteration=iteration, max_iter=5, lam=1e-4
    )
    assert np.isfinite(result.image).all()


def test_every_trait_is_explained():
    table = TEXT[TEXT.index("| trait |") :]
    explained = set(re.findall(r"`(\w+)`", "".join(line.split("|")[1] for line in table.splitlines() if "|" in line)))
    assert explained | {"spatial_ndim"} == set(pp.models.Traits.__dataclass_fields__)
