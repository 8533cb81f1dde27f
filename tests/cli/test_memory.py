"""Memory does not grow with the number of files or pages."""

import os
import subprocess

import numpy as np
import pytest
from skimage import data

from plugplay import io
from plugplay.io import ImageFile


def peak(words, environment):
    """Return the peak memory of a command, in megabytes."""
    with subprocess.Popen([*map(str, words)], env=environment, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_maxrss / 1024


@pytest.mark.skipif(not hasattr(os, "wait4"), reason="needs the memory of a child")
def test_sixty_files(command, environment, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    image = ImageFile.of(data.camera())
    for number in range(60):
        io.write(folder / f"{number:02}.tif", image)
    words = [*command, "denoise", "-q", "--denoiser", "gaussian", "--noise", "0.02"]
    ten = peak([*words, folder / "0*.tif", "-o", tmp_path / "ten"], environment)
    sixty = peak([*words, folder, "-o", tmp_path / "sixty"], environment)
    assert len(list((tmp_path / "sixty").glob("*.tif"))) == 60
    assert (sixty - ten) / 50 < 0.2


@pytest.mark.skipif(not hasattr(os, "wait4"), reason="needs the memory of a child")
def test_forty_pages(command, environment, tmp_path):
    """Each page is 0.25 MB in the file, and some 5 MB while it is restored."""
    words = [*command, "denoise", "-q", "--denoiser", "gaussian", "--noise", "0.02"]
    peaks = []
    for count in (4, 40):
        io.write(tmp_path / f"{count}.tif", ImageFile.of(np.stack([data.camera()] * count)))
        peaks.append(peak([*words, tmp_path / f"{count}.tif", "-o", tmp_path / f"out{count}.tif"], environment))
    assert (peaks[1] - peaks[0]) / 36 < 1.3
