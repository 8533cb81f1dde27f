"""Reading and writing image files of every bit depth, with their metadata.

``read`` recognises the format of a file by its content, ``write`` chooses it by the suffix. Bit depth, alpha, colour
profile, orientation and resolution are kept; a warning says what a format does not support.
"""

from plugplay.arrays.transfer import encode, linearise
from plugplay.io import photons
from plugplay.io.atomic import atomic, sweep
from plugplay.io.depths import is_measured
from plugplay.io.errors import ImageFileError, ImageLossWarning, printable
from plugplay.io.files import holds_floats, is_image_name, read, sniff, suffixes, write
from plugplay.io.light import light_transfer
from plugplay.io.limits import MAX_BYTES, check_size, parse_size
from plugplay.io.masks import mask_from, observed_where_white
from plugplay.io.numpy_files import load_arrays, save_arrays
from plugplay.io.paths import check_regular, check_targets, same_file
from plugplay.io.record import ImageFile, Metadata, Resolution

__all__ = [
    "MAX_BYTES",
    "ImageFile",
    "ImageFileError",
    "ImageLossWarning",
    "Metadata",
    "Resolution",
    "atomic",
    "check_regular",
    "check_size",
    "check_targets",
    "encode",
    "holds_floats",
    "is_image_name",
    "is_measured",
    "light_transfer",
    "linearise",
    "load_arrays",
    "mask_from",
    "observed_where_white",
    "parse_size",
    "photons",
    "printable",
    "read",
    "same_file",
    "save_arrays",
    "sniff",
    "suffixes",
    "sweep",
    "write",
]
