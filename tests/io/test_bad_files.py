"""Damaged, mislabelled and hostile files: one line, one type of error, never anything else."""

import logging
import pickle
import struct
import warnings
import zipfile
import zlib

import numpy as np
import pytest
from PIL import Image

from plugplay import io
from plugplay.io import ImageFile, ImageFileError

logging.getLogger("tifffile").addHandler(logging.NullHandler())

KINDS = ("png", "deep.png", "jpg", "webp", "tif", "lzw.tif", "ome.tif", "fits", "npy", "npz")


def error_of(path):
    with pytest.raises(ImageFileError) as caught:
        io.read(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A small sound file of every kind."""
    import tifffile

    folder = tmp_path_factory.mktemp("corpus")
    rng = np.random.default_rng(0)
    colour = rng.integers(0, 256, (24, 20, 3), dtype=np.uint8)
    exif = Image.Exif()
    exif[0x010F] = "Maker"
    exif[0x0112] = 3
    for kind in ("png", "jpg", "webp"):
        Image.fromarray(colour).save(folder / f"a.{kind}", exif=exif, dpi=(72, 72))
    io.write(folder / "a.deep.png", ImageFile.of(colour.astype(np.uint16) * 257, colour=True))
    for kind in ("fits", "npy", "npz", "tif"):
        io.write(folder / f"a.{kind}", ImageFile.of(colour[..., 0].astype(np.float32)))
    tifffile.imwrite(folder / "a.lzw.tif", colour, compression="lzw", photometric="rgb")
    tifffile.imwrite(
        folder / "a.ome.tif", np.moveaxis(colour, -1, 0), metadata={"axes": "ZYX"}, photometric="minisblack"
    )
    return {kind: (folder / f"a.{kind}").read_bytes() for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_fifty_damaged_files_of_every_kind(corpus, kind, tmp_path):
    sound = corpus[kind]
    rng = np.random.default_rng(len(sound))
    path = tmp_path / f"fuzzed.{kind}"
    messages = []
    for case in range(50):
        damaged = bytearray(sound)
        if case % 5 == 0:  # cut off
            damaged = damaged[: rng.integers(4, len(sound))]
        elif case % 5 == 1:  # noise in the header, where sizes and offsets are
            for place in rng.integers(4, min(160, len(sound)), 3):
                damaged[place] = rng.integers(256)
        elif case % 5 == 2:  # noise anywhere
            for place in rng.integers(4, len(sound), 20):
                damaged[place] = rng.integers(256)
        elif case % 5 == 3:  # a block of the highest values
            start = rng.integers(4, len(sound) - 8)
            damaged[start : start + 8] = b"\xff" * 8
        else:  # a block is missing
            start = rng.integers(4, len(sound) - 8)
            del damaged[start : start + rng.integers(1, 40)]
        path.write_bytes(damaged)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", io.ImageLossWarning)
            try:
                image = io.read(path)
            except ImageFileError as error:
                messages.append(str(error))
            else:
                assert image.pixels.size > 0
    assert len(messages) > 5  # the damage is real
    assert all("\n" not in message and str(path) in message for message in messages)


@pytest.mark.parametrize("kind", KINDS)
def test_cut_off_files(corpus, kind, tmp_path):
    path = tmp_path / f"cut.{kind}"
    path.write_bytes(corpus[kind][: len(corpus[kind]) // 2])
    assert str(path) in error_of(path)


@pytest.mark.parametrize("kind", KINDS)
def test_the_content_counts_not_the_name(corpus, kind, tmp_path):
    path = tmp_path / "image.jpg"
    path.write_bytes(corpus[kind])
    assert io.read(path).pages.shape[1:3] == (24, 20)


def test_what_is_no_image(tmp_path):
    (tmp_path / "empty.png").touch()
    (tmp_path / "text.png").write_text("not an image\n")
    assert "is empty" in error_of(tmp_path / "empty.png")
    assert "is not an image file that can be read" in error_of(tmp_path / "text.png")
    for name, head in {"BMP": b"BM6\0\0\0", "GIF": b"GIF89a", "AVIF": b"\0\0\0 ftypavif"}.items():
        (tmp_path / "other.png").write_bytes(head + bytes(40))
        told = error_of(tmp_path / "other.png")
        assert f"is a {name} file, which cannot be read: convert it to PNG or TIFF first; available: PNG, JPEG" in told
    assert "there is no such file" in error_of(tmp_path / "missing.png")
    assert "is a folder" in error_of(tmp_path)
    assert "cannot be read" in error_of("a\0b.png")


def test_pickles_are_never_loaded(tmp_path):
    class Trap:
        def __reduce__(self):
            return (exec, ("raise SystemExit('loaded')",))

    np.save(tmp_path / "a.npy", np.array([Trap()], object), allow_pickle=True)
    assert "never loaded" in error_of(tmp_path / "a.npy")
    np.savez(tmp_path / "a.npz", image=np.array([Trap()], object))
    assert "never loaded" in error_of(tmp_path / "a.npz")
    (tmp_path / "b.npy").write_bytes(pickle.dumps(Trap()))
    error_of(tmp_path / "b.npy")


def test_decompression_bombs_are_not_unpacked(tmp_path):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    for depth, side in ((8, 20000), (16, 12000), (8, 60000)):
        header = struct.pack(">IIBBBBB", side, side, depth, 2, 0, 0, 0)
        bomb = (
            b"\x89PNG\r\n\x1a\n"
            + chunk(b"IHDR", header)
            + chunk(b"IDAT", zlib.compress(bytes(10**6)))
            + chunk(b"IEND", b"")
        )
        (tmp_path / "bomb.png").write_bytes(bomb)
        assert "bomb" in error_of(tmp_path / "bomb.png") or "safely" in error_of(tmp_path / "bomb.png")
    with (
        zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("a.npy", "w") as member,
    ):
        np.lib.format.write_array_header_1_0(member, {"descr": "|u1", "fortran_order": False, "shape": (3 * 10**8, 1)})
        for _ in range(300):
            member.write(bytes(10**6))
    assert "bomb" in error_of(tmp_path / "bomb.npz")
    (tmp_path / "huge.npy").write_bytes(
        b"\x93NUMPY\x01\x00v\x00"
        + b"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999, 9999999), }".ljust(117)
        + b"\n"
    )
    assert "cut off" in error_of(tmp_path / "huge.npy")


def test_an_archive_of_several_arrays_is_ambiguous(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.eye(3), y=np.eye(4))
    assert "holds the arrays x, y" in error_of(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", image=np.eye(3), y=np.eye(4))
    assert io.read(tmp_path / "b.npz").pixels.shape == (3, 3)


def test_damaged_ome_metadata_do_not_hold_up_the_pixels(corpus, tmp_path):
    (tmp_path / "a.ome.tif").write_bytes(corpus["ome.tif"].replace(b"<Image ", b"<Imag< "))
    image = io.read(tmp_path / "a.ome.tif")
    with pytest.warns(io.ImageLossWarning, match="OME metadata is damaged"):
        io.write(tmp_path / "b.tif", image)
    assert io.read(tmp_path / "b.tif").pages.shape[1:3] == (24, 20)


def test_astropy_is_asked_for_by_name(tmp_path, corpus, monkeypatch):
    import sys

    (tmp_path / "a.fits").write_bytes(corpus["fits"])
    monkeypatch.setitem(sys.modules, "astropy.io", None)
    assert "plugplay[astro]" in error_of(tmp_path / "a.fits")
