"""Where the photographs come from, under which terms, and which of them are never trained on."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import lzma
import tarfile
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from training.licences import Terms, parse_copyright, terms_of

__all__ = ["DRAWINGS", "HELD_OUT", "Photograph", "bundled", "from_debian", "unpacked"]

POOL = "https://deb.debian.org/debian/pool/main/"
BACKGROUNDS = "usr/share/backgrounds"

# Drawings among the backgrounds, which have the statistics of no photograph.
DRAWINGS = frozenset({"umang_by_Abhishek_Mudgal.jpg"})

# Whole scenes, chosen before the first training: an animal, a face with fabric, a table, a man with a tripod, fur.
HELD_OUT = frozenset({"friends_by_Aitzol_Berasategi.jpg", "astronaut.png", "coffee.png", "camera.png", "chelsea.png"})


@dataclass(frozen=True)
class Package:
    """A Debian package with photographs; its sources lie in the folder `source` of the source package."""

    path: str
    sha256: str
    source: str

    @property
    def name(self) -> str:
        """The name without the version."""
        return PurePosixPath(self.path).name.partition("_")[0]


PACKAGES = (
    Package(
        "l/lomiri-wallpapers/lomiri-wallpapers-16.04_20.04.0-2_all.deb",
        "a99ff6a3bfe451e4cc0682ecb3cc82e71740626d59e4845ae34a0a0e45421eab",
        "16.04",
    ),
    Package(
        "l/lomiri-wallpapers/lomiri-wallpapers-20.04_20.04.0-2_all.deb",
        "d44e89b8473aafe64a5b678f014862dc31335aaaf18665c544d985d854f1a709",
        "20.04",
    ),
)


@dataclass(frozen=True)
class Photograph:
    """One file, its bytes and its terms (None: its package does not name it)."""

    name: str
    origin: str
    terms: Terms | None
    content: bytes

    @property
    def usable(self) -> bool:
        """Whether it is a photograph with a licence that allows training."""
        return self.terms is not None and self.terms.free and self.name not in DRAWINGS

    @property
    def held_out(self) -> bool:
        """Whether it is kept for judging only."""
        return self.name in HELD_OUT


def from_debian(cache: Path) -> Iterator[Photograph]:
    """Download the packages, check them, and read photographs and terms without installing anything."""
    for package in PACKAGES:
        file = cache / PurePosixPath(package.path).name
        if not file.exists():
            with urllib.request.urlopen(POOL + package.path) as reply:
                _write(file, reply.read())
        content = file.read_bytes()
        found = hashlib.sha256(content).hexdigest()
        if found != package.sha256:
            raise ValueError(f"{file} has the SHA-256 {found}, not {package.sha256}: delete it and try again")
        files = unpacked(content)
        paragraphs = parse_copyright(files[f"usr/share/doc/{package.name}/copyright"].decode())
        for path, data in sorted(files.items()):
            name = PurePosixPath(path).name
            if path.startswith(BACKGROUNDS) and path.endswith(".jpg"):
                terms = terms_of(f"{package.source}/{name}", paragraphs)
                yield Photograph(name, f"Debian package {package.name}", terms, data)


# What the documentation of scikit-image (the functions of skimage.data) and the README of scikit-learn's images say.
# Images of "no known copyright restrictions" alone, such as coins, are left out.
BUNDLED: dict[str, tuple[tuple[str, str, str], ...]] = {
    "skimage/data": (
        ("astronaut.png", "NASA", "public-domain"),
        ("brick.png", "CC0Textures (Bricks25)", "CC0-1.0"),
        ("camera.png", "Lav Varshney", "CC0-1.0"),
        ("chelsea.png", "Stefan van der Walt", "CC0-1.0"),
        ("coffee.png", "Rachel Michetti", "CC0-1.0"),
        ("grass.png", "linolafett (DeviantArt)", "CC0-1.0"),
        ("gravel.png", "CC0Textures (Gravel04)", "CC0-1.0"),
        ("hubble_deep_field.jpg", "NASA", "public-domain"),
        ("retina.jpg", "Mikael Häggström", "CC0-1.0"),
        ("rocket.jpg", "SpaceX", "public-domain"),
    ),
    "sklearn/datasets/images": (
        ("china.jpg", "danielbuechele (Flickr)", "CC-BY-2.0"),
        ("flower.jpg", "vultilion (Flickr)", "CC-BY-2.0"),
    ),
}


def bundled() -> Iterator[Photograph]:
    """Read the photographs that come with scikit-image and scikit-learn."""
    for folder, rows in BUNDLED.items():
        package = folder.partition("/")[0]
        spec = importlib.util.find_spec(package)
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError(f"{package} is not installed: pip install -r training/requirements.txt")
        root = Path(spec.origin).parent.parent / folder
        for name, holder, licence in rows:
            yield Photograph(
                name, f"Python package {package}", Terms((name,), holder, licence), (root / name).read_bytes()
            )


def unpacked(deb: bytes) -> dict[str, bytes]:
    """Return the regular files of a Debian package: an ar archive with a compressed tar archive in it."""
    position = len(b"!<arch>\n")
    while position < len(deb):
        name, size = deb[position : position + 16].decode().strip(" /"), int(deb[position + 48 : position + 58])
        content = deb[position + 60 : position + 60 + size]
        if name == "data.tar.xz":
            with tarfile.open(fileobj=io.BytesIO(lzma.decompress(content))) as archive:
                members = [member for member in archive.getmembers() if member.isfile()]
                return {member.name.removeprefix("./"): _member(archive, member) for member in members}
        position += 60 + size + size % 2
    raise ValueError("this Debian package has no data.tar.xz")


def _member(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    if file is None:
        raise ValueError(f"{member.name} is not a regular file")
    return file.read()


def _write(path: Path, content: bytes) -> None:
    partial = path.with_suffix(".part")
    partial.write_bytes(content)
    partial.replace(path)
