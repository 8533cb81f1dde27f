"""Image files of every depth: what is read, what is written, and what goes along with the pixels.

``read`` looks at the content of a file, not at its name; ``write`` goes by the name. Bit depth, alpha, colour
profile, orientation and resolution survive a restoration; whatever a format cannot hold is warned about first.
"""

from plugplay.io import photons
from plugplay.io.files import is_image_name, read, suffixes, write
from plugplay.io.record import ImageFile, ImageFileError, ImageLossWarning, Metadata, Resolution

__all__ = [
    "ImageFile",
    "ImageFileError",
    "ImageLossWarning",
    "Metadata",
    "Resolution",
    "is_image_name",
    "photons",
    "read",
    "suffixes",
    "write",
]
