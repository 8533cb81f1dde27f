"""Files that ask for more than they are worth are refused before any of it is taken."""

import struct
import tracemalloc
import zlib

import numpy as np
import pytest
import scipy.io
import tifffile

from plugplay import io
from plugplay.io import ImageFileError, check_size, parse_size
from plugplay.io.photons import count_ones


@pytest.fixture
def frugal():
    """Return a function that calls another and checks that it is refused with little memory."""

    def refused(function, *arguments, match="needs .* of memory.*--max-size .*limit=", **options):
        tracemalloc.start()
        try:
            with pytest.raises(ImageFileError, match=match) as caught:
                function(*arguments, **options)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 2**26
        assert "\n" not in str(caught.value)

    return refused


def matrix_element(shape, data=b""):
    """Return a MATLAB 5 element: an array of doubles of this shape, with these data."""

    def element(kind, content):
        return struct.pack("<II", kind, len(content)) + content + bytes(-len(content) % 8)

    flags = element(6, struct.pack("<II", 6, 0))  # mxDOUBLE
    return element(
        14, flags + element(5, struct.pack(f"<{len(shape)}i", *shape)) + element(1, b"cube") + element(9, data)
    )


def test_a_small_matlab_file_that_claims_hundreds_of_gigabytes(tmp_path, frugal):
    content = zlib.compress(matrix_element((200000, 200, 1000)))
    (tmp_path / "a.mat").write_bytes(
        b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + struct.pack("<II", 15, len(content)) + content
    )
    frugal(count_ones, tmp_path / "a.mat", match="needs 298.0 GiB")


@pytest.fixture
def small(monkeypatch):
    """The same rule at a 32nd of the size, for files that have to be unpacked in the end."""
    monkeypatch.setattr("plugplay.io.limits.LARGE_BYTES", 2**23)


@pytest.mark.usefixtures("small")
def test_a_matlab_file_that_unpacks_to_a_thousand_times_its_size(tmp_path, frugal):
    scipy.io.savemat(tmp_path / "a.mat", {"bits": np.zeros((120, 600, 200), np.uint8)}, do_compression=True)
    assert (tmp_path / "a.mat").stat().st_size < 20_000
    frugal(count_ones, tmp_path / "a.mat", match="needs 13.7 MiB")
    assert count_ones(tmp_path / "a.mat", frames=2, limit=2**30).ones.shape == (120, 600)


def test_matlab_7_3_chunks(tmp_path, frugal):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.mat", "w", userblock_size=512) as file:
        file.create_dataset("bits", (2000, 1000, 1000), "u1", chunks=(500, 1000, 1000), compression="gzip")
    with (tmp_path / "a.mat").open("r+b") as stream:
        stream.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    frugal(count_ones, tmp_path / "a.mat", match="needs 476.8 MiB")


@pytest.mark.usefixtures("small")
def test_checkpoints(tmp_path, frugal):
    np.savez_compressed(tmp_path / "a.npz", x=np.zeros((600, 2400)), v=np.zeros(2))
    assert (tmp_path / "a.npz").stat().st_size < 20_000
    frugal(io.load_arrays, tmp_path / "a.npz", match="needs 11.0 MiB")
    assert io.load_arrays(tmp_path / "a.npz", limit=2**29)["x"].shape == (600, 2400)
    np.savez(tmp_path / "b.npz", x=np.array([print]))
    with pytest.raises(ImageFileError, match="never loaded"):
        io.load_arrays(tmp_path / "b.npz")
    (tmp_path / "c.npz").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(ImageFileError, match="damaged or no NPZ file"):
        io.load_arrays(tmp_path / "c.npz")


@pytest.mark.parametrize(("pages", "sizes", "match"), [(400, 1, "needs 25.0 MiB"), (80, 80, "more than 64 different")])
@pytest.mark.usefixtures("small")
def test_many_pages(tmp_path, frugal, pages, sizes, match):
    with tifffile.TiffWriter(tmp_path / "a.tif") as writer:
        for number in range(pages):
            page = np.zeros((2, 2 + number % sizes), np.uint8)
            writer.write(page, contiguous=False, metadata=None, software=False)
    frugal(io.read, tmp_path / "a.tif", match=match)
    if sizes == 1:
        assert io.read(tmp_path / "a.tif", limit=2**30).pages.shape == (400, 2, 2)


@pytest.mark.parametrize("kind", ["png", "jpg", "webp", "tif", "fits", "npy", "npz"])
def test_every_format_has_a_limit_that_can_be_raised(tmp_path, kind):
    path = tmp_path / f"a.{kind}"
    io.write(path, io.ImageFile.of(np.random.default_rng(0).integers(0, 255, (300, 300), np.uint8)))
    with pytest.raises(ImageFileError, match=r"needs \d+.\d KiB of memory.*but only 50.0 KiB are allowed"):
        io.read(path, limit=50 * 2**10)
    assert io.read(path, limit=2**20).pixels.shape[:2] == (300, 300)


def test_images_above_the_limit_of_a_library_can_be_read_when_asked_for(tmp_path, monkeypatch):
    # Pillow refuses images of more than twice this many pixels, for the whole process.
    monkeypatch.setattr("PIL.Image.MAX_IMAGE_PIXELS", 100)
    io.write(tmp_path / "a.png", io.ImageFile.of(np.zeros((30, 30), np.uint8)))
    assert io.read(tmp_path / "a.png").pixels.shape == (30, 30)


def test_cubes_whose_counts_do_not_fit(frugal):
    wide = np.broadcast_to(np.zeros((1, 1, 1), np.uint8), (2, 20000, 20000))
    frugal(count_ones, wide, match="needs 9.3 GiB")
    small = np.zeros((2, 8, 8), np.uint8)
    frugal(count_ones, small, limit=1000)
    assert count_ones(small).ones.shape == (8, 8)


def test_sizes_in_words():
    assert [parse_size(text) for text in ("1", "2k", "3 MB", "0.5GiB", " 4T ")] == [
        1,
        2 * 2**10,
        3 * 2**20,
        2**29,
        4 * 2**40,
    ]
    for text in ("", "G", "-1G", "1X", "1e9", "0", "nan", "9" * 40):
        with pytest.raises(ValueError, match="a size such as 500M or 12G"):
            parse_size(text)


def test_the_rule():
    check_size(2**28, stored=1)
    check_size(2**32, stored=2**25)
    check_size(2**40, stored=1, limit=2**40)
    for needed, stored in ((2**28 + 1, 1), (2**32 + 1, 2**32)):
        with pytest.raises(ImageFileError):
            check_size(needed, stored=stored)
