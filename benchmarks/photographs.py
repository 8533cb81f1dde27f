"""Images for benchmarks: scikit-image's, and freely licensed photographs from Debian packages.

The packages are downloaded once into the user's cache directory, checked, and read without being installed; what the
licences are is written in their ``copyright`` files. Benchmarks also work without them, on scikit-image's images alone.
"""

from __future__ import annotations

import hashlib
import io
import lzma
import tarfile
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np
import skimage
from numpy.typing import NDArray
from PIL import Image
from platformdirs import user_cache_path
from scipy.ndimage import distance_transform_edt

POOL = "https://deb.debian.org/debian/pool/main/l/lomiri-wallpapers/"
PACKAGES = {
    "lomiri-wallpapers-16.04_20.04.0-2_all.deb": "a99ff6a3bfe451e4cc0682ecb3cc82e71740626d59e4845ae34a0a0e45421eab",
    "lomiri-wallpapers-20.04_20.04.0-2_all.deb": "d44e89b8473aafe64a5b678f014862dc31335aaaf18665c544d985d854f1a709",
}
# Reducing a photograph removes what its compression and its demosaicking left.
REDUCTION = 4


@dataclass(frozen=True)
class Source:
    """Where a crop comes from.

    Attributes
    ----------
    file : str
        A file of scikit-image, or, of a photograph, how its name in the package begins.
    corner : (float, float)
        Where the crop lies: 0 is at the top and left, 1 at the bottom and right.
    colour : bool
        Whether the crop is colour or gray.
    found_on : bool
        Whether rules were found on this image; the others only check them.
    missing : float
        Share of pixels that were not observed.
    debian : bool
        Whether it is one of the photographs.
    """

    file: str
    corner: tuple[float, float]
    colour: bool = False
    found_on: bool = False
    missing: float = 0.0
    debian: bool = False


SOURCES = {
    "camera": Source("camera.png", (0.3, 0.4), found_on=True),
    "gravel": Source("gravel.png", (0.25, 0.25), found_on=True),
    "motorcycle": Source("motorcycle_left.png", (0.5, 0.45), colour=True, found_on=True),
    "brick": Source("brick.png", (0.3, 0.3), found_on=True),
    "grass": Source("grass.png", (0.4, 0.6), found_on=True),
    "coins": Source("coins.png", (0.4, 0.3), missing=0.1, found_on=True),
    "page": Source("page.png", (0.1, 0.4), found_on=True),
    "moon": Source("moon.png", (0.5, 0.2)),
    "astronaut": Source("astronaut.png", (0.1, 0.4), colour=True),
    "coffee": Source("coffee.png", (0.4, 0.5), colour=True, missing=0.1, found_on=True),
    "chelsea": Source("chelsea.png", (0.4, 0.35), colour=True, found_on=True),
    "retina": Source("retina.jpg", (0.2, 0.2), colour=True),
    "nuthatch": Source("Kleiber", (0.5, 0.4), colour=True, debian=True, found_on=True),
    "bridge": Source("Bridge", (0.8, 0.7), debian=True, found_on=True),
    "rocket": Source("rocket.jpg", (0.4, 0.5), colour=True),
    "wine": Source("Wine", (0.4, 0.5), colour=True, debian=True),
    "seeding": Source("seeding", (0.5, 0.4), debian=True),
    "dragonfly": Source("Dragonfly", (0.5, 0.5), debian=True, missing=0.1, found_on=True),
}


def available(*, download: bool = True) -> tuple[str, ...]:
    """Return the names of the images that can be had here."""
    try:
        photographs = bool(photograph("Kleiber", download))
    except (OSError, urllib.error.URLError):
        photographs = False
    return tuple(name for name, source in SOURCES.items() if photographs or not source.debian)


def crop(name: str, size: int) -> NDArray[np.float64]:
    """Return a square of an image on [0, 1], gray or colour."""
    source = SOURCES[name]
    if source.debian:
        whole = Image.open(io.BytesIO(photograph(source.file, False))).reduce(REDUCTION)
    else:
        whole = Image.open(Path(skimage.__file__).parent / "data" / source.file)
    pixels = np.asarray(whole.convert("RGB" if source.colour else "L"), np.float64) / 255
    top, left = (round(at * (n - size)) for at, n in zip(source.corner, pixels.shape[:2], strict=True))
    if min(top, left) < 0:
        raise ValueError(f"{name} is only {pixels.shape[:2]} pixels large, but {size} are asked for")
    return pixels[top : top + size, left : left + size]


def mask(name: str, size: int) -> NDArray[np.bool_] | None:
    """Return where an image is observed, or None if that is everywhere: half of what is missing is scattered."""
    missing = SOURCES[name].missing
    if not missing:
        return None
    rng = np.random.default_rng(0)
    observed = rng.random((size, size)) >= missing / 2
    observed[:, rng.choice(size, round(size * missing / 2), replace=False)] = False  # dead columns
    return observed


def filled(image: NDArray[np.float64], observed: NDArray[np.bool_] | None) -> NDArray[np.float64]:
    """Return an image whose missing pixels have the value of the nearest observed one."""
    if observed is None:
        return image
    nearest = distance_transform_edt(~observed, return_distances=False, return_indices=True)
    return image[tuple(nearest)]


def photograph(beginning: str, download: bool) -> bytes:
    """Return the bytes of the photograph whose name begins so, from the cache or from its package."""
    folder = user_cache_path("plugplay") / "benchmarks" / "photographs"
    found = sorted(folder.rglob(f"{beginning}*.jpg"))
    if not found and download:
        for package, digest in PACKAGES.items():
            _unpack(folder, package, digest)
        found = sorted(folder.rglob(f"{beginning}*.jpg"))
    if not found:
        raise FileNotFoundError(f"{beginning}*.jpg is not in {folder}")
    return found[0].read_bytes()


def _unpack(folder: Path, package: str, digest: str) -> None:
    """Write the photographs and the terms of a package into a folder."""
    file = folder / package
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with urllib.request.urlopen(POOL + package, timeout=60) as reply:
            file.write_bytes(reply.read())
    content = file.read_bytes()
    if hashlib.sha256(content).hexdigest() != digest:
        raise OSError(f"{file} is damaged: delete it and rerun")
    with tarfile.open(fileobj=io.BytesIO(lzma.decompress(_data_of(content)))) as archive:
        for member in archive.getmembers():
            path = PurePosixPath(member.name)
            stream = archive.extractfile(member) if member.isfile() else None
            if stream is not None and (path.suffix == ".jpg" or path.name == "copyright"):
                target = folder / package.partition("_")[0] / path.name
                target.parent.mkdir(exist_ok=True)
                target.write_bytes(stream.read())


def _data_of(package: bytes) -> bytes:
    """Return the compressed files of a Debian package, which is an ar archive with headers of 60 bytes."""
    position = len(b"!<arch>\n")
    while position < len(package):
        header = package[position : position + 60]
        size = int(header[48:58])
        if header.startswith(b"data.tar.xz"):
            return package[position + 60 : position + 60 + size]
        position += 60 + size + size % 2
    raise OSError("this Debian package holds no data.tar.xz")
