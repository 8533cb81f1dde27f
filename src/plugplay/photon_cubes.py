"""The name of `plugplay.io.photons` in version 0.1."""

import warnings

from plugplay.io.photons import *  # noqa: F403

warnings.warn(
    "plugplay.photon_cubes is now plugplay.io.photons; the old name goes with version 0.3",
    DeprecationWarning,
    stacklevel=2,
)
