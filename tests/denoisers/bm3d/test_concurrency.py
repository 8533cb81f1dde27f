"""Threads and processes."""

import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import plugplay
from plugplay.denoisers import BM3D

SIGMA = 0.2


def an_image(seed=0):
    return np.random.default_rng(seed).random((60, 70))


def denoise_into(queue, seed):
    queue.put(BM3D(workers=2)(an_image(seed), SIGMA))


def test_calls_from_several_threads_do_not_disturb_each_other():
    seeds = range(12)
    expected = [BM3D(workers=1)(an_image(seed), SIGMA) for seed in seeds]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda seed: BM3D(workers=2)(an_image(seed), SIGMA), seeds))
    np.testing.assert_array_equal(found, expected)


def test_one_session_may_be_called_from_several_threads():
    session = BM3D(workers=2).session()
    expected = BM3D(workers=1)(an_image(), SIGMA)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: session(an_image(), SIGMA), range(8)):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_works_in_a_process_forked_after_use():
    expected = BM3D(workers=2)(an_image(3), SIGMA)
    check_in_process("fork", expected)


def test_works_in_a_spawned_process():
    check_in_process("spawn", BM3D(workers=2)(an_image(3), SIGMA))


def check_in_process(method, expected):
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    process = context.Process(target=denoise_into, args=(queue, 3))
    process.start()
    found = queue.get(timeout=120)
    process.join(timeout=120)
    assert process.exitcode == 0
    np.testing.assert_array_equal(found, expected)


def test_works_without_the_vector_instructions_of_this_cpu(tmp_path):
    """The kernels are plain LLVM: here for a CPU that has no more than any of its kind."""
    code = (
        "import sys, numpy as np; from plugplay.denoisers import BM3D;"
        "image = np.random.default_rng(0).random((60, 70));"
        "np.save(sys.argv[1], BM3D(workers=2)(image, 0.2))"
    )
    package = str(Path(plugplay.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": package, "NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "found.npy")], env=environment, check=True)
    found = np.load(tmp_path / "found.npy")
    # Without fused multiply-add, rounding decides a few thresholds and equal distances differently.
    difference = found - BM3D()(an_image(), SIGMA)
    assert np.sqrt(np.mean(difference**2)) < 0.02 * SIGMA
