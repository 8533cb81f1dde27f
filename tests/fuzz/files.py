"""Mutations of small sound files of every kind: each is read well or refused in one line, and never anything else."""

from __future__ import annotations

import importlib.util
import io as streams
from pathlib import Path

import numpy as np
import scipy.io
import tifffile
from PIL import Image

from plugplay import io
from plugplay.io.photons import count_ones
from tests.fuzz.harness import DefectError

# Integers that sizes, counts and offsets become.
INTERESTING = (0, 1, 2, 7, 127, 128, 255, 256, 32767, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1)


def corpus() -> dict[str, bytes]:
    """Return sound files by name; endings say what to write them back as."""
    rng = np.random.default_rng(0)
    colour = rng.integers(0, 256, (20, 24, 3), dtype=np.uint8)
    gray = colour[..., 0]
    bits = (rng.random((16, 8, 24)) < 0.3).astype(np.uint8)
    found: dict[str, bytes] = {}

    def pillow(name: str, image: Image.Image, **options: object) -> None:
        stream = streams.BytesIO()
        image.save(stream, {"jpg": "JPEG", "tif": "TIFF"}.get(name[-3:], name.rpartition(".")[2].upper()), **options)
        found[name] = stream.getvalue()

    def tiff(name: str, pixels: np.ndarray, **options: object) -> None:
        stream = streams.BytesIO()
        tifffile.imwrite(stream, pixels, **options)  # type: ignore[arg-type]
        found[name] = stream.getvalue()

    exif = Image.Exif()
    exif[0x010F], exif[0x0112] = "Maker", 6
    picture = Image.fromarray(colour)
    for ending in ("png", "jpg", "webp"):
        pillow(f"exif.{ending}", picture, exif=exif, dpi=(72, 72))
    pillow("progressive.jpg", picture, progressive=True, quality=80)
    pillow("gray.jpg", Image.fromarray(gray))
    pillow("palette.png", picture.quantize(16), transparency=3)
    pillow("lossless.webp", Image.fromarray(np.dstack([colour, gray])), lossless=True)
    pillow("pillow.tif", picture, compression="tiff_lzw")
    pillow("pillow-jpeg.tif", picture, compression="jpeg")
    tiff("lzw.tif", colour, compression="lzw", photometric="rgb")
    tiff("tiles.tif", colour.astype(np.uint16), compression="zlib", photometric="rgb", tile=(16, 16), predictor=True)
    tiff("jpeg.tif", colour, compression="jpeg", photometric="ycbcr")
    tiff("big.tif", gray.astype(np.float32), bigtiff=True)
    tiff("shaped.tif", bits, metadata={"axes": "TYX"}, photometric="minisblack")
    tiff("stack.ome.tif", bits[:4], ome=True, metadata={"axes": "ZYX"}, photometric="minisblack")
    tiff("imagej.tif", bits[:3], imagej=True, metadata={"axes": "ZYX", "Labels": list("abc"), "Info": "text"})
    deep = io.ImageFile.of(colour.astype(np.uint16) * 257, colour=True, alpha=gray.astype(np.uint16))
    found["deep.png"] = _written("deep.png", deep)
    for ending in ("npy", "npz"):
        found[f"image.{ending}"] = _written(f"image.{ending}", io.ImageFile.of(gray.astype(np.float32)))
    if importlib.util.find_spec("astropy") is not None:
        found |= _fits(gray)
    for name, compressed in (("plain.mat", False), ("packed.mat", True)):
        stream = streams.BytesIO()
        scipy.io.savemat(stream, {"bits": bits.transpose(1, 2, 0), "rate": 3.0}, do_compression=compressed)
        found[name] = b"MATLAB 5.0 MAT-file".ljust(116) + stream.getvalue()[116:]  # without the date
    if importlib.util.find_spec("h5py") is not None:
        found["hdf5.mat"] = _hdf5(bits)
    stream = streams.BytesIO()
    np.save(stream, bits)
    found["cube.npy"] = stream.getvalue()
    return found


class Suite:
    """The file fuzzer."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.corpus = corpus()
        self.names = sorted(self.corpus)
        for name, content in self.corpus.items():  # imports the decoders, and shows that the corpus is sound
            self.check(name, content, must_be_read=True)

    def run(self, rng: np.random.Generator) -> None:
        """Read one mutated file."""
        name = str(rng.choice(self.names))
        content = bytearray(self.corpus[name])
        for _ in range(int(rng.integers(1, 4))):
            content = mutated(content, self.corpus[str(rng.choice(self.names))], rng)
        self.check(name, bytes(content))

    def check(self, name: str, content: bytes, *, must_be_read: bool = False) -> None:
        """Read a file, and write again what was read."""
        path = self.folder / name
        path.write_bytes(content)
        cube = name.endswith(".mat") or name.startswith("cube")
        try:
            if cube:
                counts = count_ones(path)
                _expect((counts.ones <= counts.trials).all() and (counts.ones >= 0).all(), name, "counts out of range")
                return
            image = io.read(path)
        except io.ImageFileError as error:
            _expect(str(error).isprintable() and str(path) in str(error), name, f"error in a bad form: {error!r}")
            _expect(not must_be_read, name, f"a sound file is refused: {error}")
            return
        except Exception as error:
            raise DefectError(
                f"files: {Path(name).suffix}: reading raises {type(error).__name__}\n{name}: {error}"
            ) from error
        _expect(image.pixels.size > 0 and not image.pixels.flags.writeable, name, "no pixels, or not read-only")
        try:
            io.write(self.folder / f"again{Path(name).suffix}", image)
        except Exception as error:
            raise DefectError(
                f"files: {Path(name).suffix}: what was read cannot be written: {type(error).__name__}\n{name}: {error}"
            ) from error
        left = [other.name for other in self.folder.iterdir() if other.name.startswith(".")]
        _expect(not left, name, f"files are left behind: {left}")
        path.unlink()


def mutated(content: bytearray, other: bytes, rng: np.random.Generator) -> bytearray:
    """Return content with one kind of damage."""
    size = len(content)
    if size < 16:
        return content
    place = int(rng.integers(size - 8))
    early = int(rng.integers(min(200, size - 8)))
    kind = int(rng.integers(9))
    if kind == 0:  # cut off
        return content[: max(8, place)]
    if kind == 1:  # one bit
        content[place] ^= 1 << int(rng.integers(8))
    elif kind == 2:  # noise in the header, where sizes and offsets are
        for _ in range(3):
            content[int(rng.integers(min(200, size)))] = int(rng.integers(256))
    elif kind == 3:  # noise anywhere
        for spot in rng.integers(0, size, 10):
            content[int(spot)] = int(rng.integers(256))
    elif kind == 4:  # a number that hurts
        width = int(rng.choice([1, 2, 4, 8]))
        value = int(rng.choice(len(INTERESTING)))
        order = "little" if rng.random() < 0.5 else "big"
        start = early if rng.random() < 0.7 else place
        content[start : start + width] = (INTERESTING[value] % 256**width).to_bytes(width, order)
    elif kind == 5:  # a block is missing
        del content[place : place + int(rng.integers(1, 60))]
    elif kind == 6:  # a block comes twice
        content[place:place] = content[place : place + int(rng.integers(1, 60))]
    elif kind == 7:  # a block of another file
        start = int(rng.integers(max(1, len(other) - 40)))
        content[place : place + 40] = other[start : start + 40]
    else:  # digits in texts: XML, JSON, FITS cards, NPY headers
        digits = [index for index, byte in enumerate(content) if 48 <= byte <= 57]
        for spot in rng.choice(digits or [place], 2):
            content[int(spot)] = int(rng.choice(list(b"0123456789-.e")))
    return content


def _expect(kept: object, name: str, what: str) -> None:
    if not kept:
        raise DefectError(f"files: {Path(name).suffix}: {what.partition(':')[0]}\n{name}: {what}")


def _written(name: str, image: io.ImageFile) -> bytes:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        io.write(Path(folder) / name, image)
        return (Path(folder) / name).read_bytes()


def _fits(gray: np.ndarray) -> dict[str, bytes]:
    from astropy.io import fits

    header = fits.Header({"CTYPE1": "RA---TAN", "CTYPE2": "DEC--TAN", "CRPIX1": 3.0, "CD1_1": 1e-3, "CD2_2": 1e-3})
    pixels = gray.astype(np.float32)
    table = fits.BinTableHDU.from_columns([fits.Column("x", "E", array=np.arange(3.0))])
    several = [fits.PrimaryHDU(), fits.ImageHDU(pixels, header, name="SCI"), fits.ImageHDU(gray, name="DQ"), table]
    packed = [fits.PrimaryHDU(), fits.CompImageHDU(gray.astype(np.int32))]
    found = {}
    for name, hdus in (
        ("one.fits", [fits.PrimaryHDU(gray, header)]),
        ("several.fits", several),
        ("packed.fits", packed),
    ):
        stream = streams.BytesIO()
        fits.HDUList(hdus).writeto(stream)
        found[name] = stream.getvalue()
    return found


def _hdf5(bits: np.ndarray) -> bytes:
    import h5py

    stream = streams.BytesIO()
    with h5py.File(stream, "w", userblock_size=512) as file:
        file.create_dataset("bits", data=bits.transpose(0, 2, 1), chunks=(4, 8, 8), compression="gzip")
    content = bytearray(stream.getvalue())
    content[:128] = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"
    return bytes(content)
