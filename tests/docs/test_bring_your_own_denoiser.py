"""The page "Bring your own denoiser" does what it says."""

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import plugplay as pp

PAGE = Path(__file__).parents[2] / "docs" / "bring-your-own-denoiser.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
RUNNABLE = [block for block in BLOCKS if not block.startswith("# needs")]


@pytest.fixture(scope="module")
def page():
    """Run the blocks one after the other, as a reader would, and return what they leave behind."""
    names = {}
    for block in RUNNABLE:
        exec(compile(block, str(PAGE), "exec"), names)
    return names


def test_a_function_becomes_a_restored_image(page):
    """In 20 lines, blank ones not counted, and by more than 3 decibels."""
    assert len([line for line in RUNNABLE[0].splitlines() if line.strip()]) <= 20
    assert pp.psnr(page["result"].image, page["image"]) > pp.psnr(page["blurred"], page["image"]) + 3
    assert page["result"].status is pp.Status.CONVERGED


def test_what_the_page_says_about_it_is_true(page):
    report = page["report"]
    assert report.passed, str(report)
    assert report.boundedness.bounded
    assert report.boundedness.constant <= 1.66
    t = np.linspace(0, 10, 100_001)
    assert np.max(t * np.exp(-((t / 3) ** 2))) <= 1.29
    assert pytest.approx(1.66, abs=0.01) == 1.29**2
    assert page["certificate"].behaved
    assert page["certificate"].covered
    assert "Theorem 1 applies" in report.theorem


def test_the_remedy_is_bounded(page):
    rng = np.random.default_rng(0)
    for sigma in (1e-3, 0.1, 1.0):
        image = rng.random((16, 16))
        moved = page["bounded"](image, sigma) - image
        assert np.sqrt(np.mean(moved**2)) <= 2 * sigma * (1 + 1e-12)


def test_sessions_keep_apart(page):
    careful = page["Careful"]()
    image = np.random.default_rng(0).random((12, 12))
    first, second = careful.session(), careful.session()
    first(1 - image, 0.1)
    np.testing.assert_array_equal(second(image, 0.1), careful(image, 0.1))
    result = pp.restore(
        page["blurred"], page["camera"], denoiser=careful, lam=2e-5, schedule=pp.Monotone(rho0=0.02, gamma=1.2)
    )
    assert pp.psnr(result.image, page["image"]) > pp.psnr(page["blurred"], page["image"])


def test_a_denoiser_is_fitted_to_the_problem(page):
    cautious = page["Cautious"]()
    for leaves, factor in (("white", 1.0), ("coloured", 1.2)):
        traits = SimpleNamespace(leaves=leaves, spatial_ndim=2)
        assert pp.denoisers.prepare_denoiser(cautious, traits, 1).factor == factor


def test_sessions_report(page):
    shares = []
    pp.denoisers.open_session(page["Careful"](), shares.append)(np.zeros((8, 8)), 0.1)
    assert shares == [0.9]


def test_the_blocks_for_pytorch_run():
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):
        def forward(self, x, sigma=None):
            return x

    (block,) = [block for block in BLOCKS if block.startswith("# needs torch")]
    names = {"pp": pp, "net": Net()}
    exec(compile(block, str(PAGE), "exec"), names)
    assert callable(names["denoise"])
