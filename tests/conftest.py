"""Pictures and models that many tests use."""

import numpy as np
import pytest
from skimage import data


@pytest.fixture(scope="session")
def camera():
    """A photograph, 128 x 128, float64 on [0, 1]."""
    return data.camera()[100:356:2, 150:406:2].astype(np.float64) / 255


@pytest.fixture(scope="session")
def astronaut():
    """A colour photograph, 64 x 64 x 3, float64 on [0, 1]."""
    return data.astronaut()[:256:4, 100:356:4].astype(np.float64) / 255
