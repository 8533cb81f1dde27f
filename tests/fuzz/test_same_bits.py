"""Same input, same bits: whatever the number of threads, in threads of the user's, forked or spawned."""

import hashlib
import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import plugplay as pp

FORKED = """
import os, sys
from fuzz.test_same_bits import bits_of
for workers in (1, 2):  # before there are any threads
    if os.fork() == 0:
        print(bits_of((workers, "tv")), flush=True)
        os._exit(0)
    assert os.wait()[1] == 0
"""


def bits_of(job):
    """Return a hash of what several functions make of one image."""
    workers, denoiser = job
    x = np.random.default_rng(0).random((70, 61, 3)).astype(np.float32)
    gray = x[..., 0]
    kernel = pp.kernels.gaussian(5, sigma=1.2)
    options = {"denoiser": denoiser, "max_iter": 3, "workers": workers}
    jots = (np.random.default_rng(1).random((4, 32, 32)) < 0.4).astype(np.uint8)
    results = (
        pp.denoise(x, channel_axis=-1, **options),
        pp.deblur(gray, kernel, **options),
        pp.inpaint(gray, gray < 0.6, **options),
        pp.super_resolve(gray, 2, **options),
        pp.single_photon(jots, oversampling=2, **options),
    )
    digest = hashlib.sha256()
    for result in results:
        digest.update(np.ascontiguousarray(result.image).tobytes())
    return digest.hexdigest()


@pytest.mark.parametrize("denoiser", ["bm3d", "tv"])
def test_any_number_of_threads(denoiser):
    assert len({bits_of((workers, denoiser)) for workers in (1, 2, 3, 5, 8)}) == 1


def test_threads_and_processes_of_the_user():
    jobs = [(1, "tv"), (2, "tv"), (3, "tv")]
    (alone,) = {bits_of(job) for job in jobs}
    with ThreadPoolExecutor(3) as threads:
        assert set(threads.map(bits_of, jobs)) == {alone}
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as processes:
        assert set(processes.map(bits_of, jobs)) == {alone}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_forked_processes(environment):
    path = os.pathsep.join([environment["PYTHONPATH"], str(Path(__file__).parents[1])])
    done = subprocess.run(
        [sys.executable, "-c", FORKED],
        env={**environment, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout.split() == [bits_of((1, "tv"))] * 2
