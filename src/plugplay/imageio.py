"""The name of `plugplay.io` in version 0.1."""

import warnings

from plugplay.io import *  # noqa: F403

warnings.warn(
    "plugplay.imageio is now plugplay.io; the old name goes with version 0.3", DeprecationWarning, stacklevel=2
)
