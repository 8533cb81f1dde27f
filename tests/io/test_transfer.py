"""Transfer curves: exact inverses, and which curve a file has."""

import struct

import numpy as np
import pytest
import tifffile
from PIL import Image, ImageCms, PngImagePlugin

from plugplay import io
from plugplay.io import ImageFile, Metadata, encode, linearise
from plugplay.io.icc import transfer_of_profile

SRGB = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


def profile(curve, names=(b"rTRC", b"gTRC", b"bTRC")):
    """Return a profile with nothing in it but these curves."""
    start = 132 + 12 * len(names)
    table = b"".join(struct.pack(">4sII", name, start, len(curve)) for name in names)
    return bytes(128) + struct.pack(">I", len(names)) + table + curve


def sampled(function, count=1024):
    values = np.rint(65535 * function(np.linspace(0, 1, count))).astype(">u2")
    return b"curv" + bytes(4) + struct.pack(">I", count) + values.tobytes()


def test_the_srgb_curve_against_its_definition():
    from decimal import Decimal, getcontext

    getcontext().prec = 40
    for code in range(256):
        c = Decimal(code) / 255
        exact = c / Decimal("12.92")
        if c > Decimal("0.04045"):
            exact = ((c + Decimal("0.055")) / Decimal("1.055")) ** Decimal("2.4")
        assert linearise(np.array(code / 255), "srgb") == pytest.approx(float(exact), rel=1e-14)


@pytest.mark.parametrize("transfer", ["srgb", "linear", "gamma:2.2", "gamma:0.45"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 5e-7), (np.float64, 1e-14)])
def test_encoding_undoes_linearising(transfer, dtype, tolerance):
    x = np.linspace(-0.5, 1.5, 65536).astype(dtype)
    back = encode(linearise(x, transfer), transfer)
    assert back.dtype == dtype
    np.testing.assert_allclose(back, x, rtol=0, atol=tolerance)
    forth = linearise(encode(x, transfer), transfer)
    # Where the line of sRGB meets its power, the two are 2.4e-9 apart.
    np.testing.assert_allclose(forth, x, rtol=0, atol=max(tolerance, 3e-9))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_light_far_above_white_stays_finite(dtype):
    x = np.array([-1, 0.5, 1]) * np.array(np.finfo(dtype).max, dtype)
    for transfer in ("srgb", "gamma:2.2", "linear", "gamma:0.5"):
        assert np.isfinite(linearise(x.astype(dtype), transfer)).all()
        assert np.isfinite(encode(x.astype(dtype), transfer)).all()


@pytest.mark.parametrize("bits", [8, 16])
def test_every_stored_value_survives(bits):
    codes = np.arange(2**bits)
    light = linearise((codes / (2**bits - 1)).astype(np.float32), "srgb")
    np.testing.assert_array_equal(np.rint(encode(light, "srgb") * (2**bits - 1)), codes)
    assert (np.diff(light) > 0).all()


def test_what_is_no_curve():
    for transfer in ("unknown", "gamma:", "gamma:nan", "gamma:0", "rec709", ""):
        with pytest.raises(ValueError, match="transfer must be"):
            linearise(np.zeros(2), transfer)
        with pytest.raises(ValueError, match="transfer must be"):
            encode(np.zeros(2), transfer)
    for transfer in (None, 2.2, b"srgb"):
        with pytest.raises(TypeError, match="transfer must be"):
            encode(np.zeros(2), transfer)
    with pytest.raises(TypeError, match="floats on the scale"):
        linearise(np.zeros(2, np.uint8), "srgb")


@pytest.mark.parametrize(
    ("name", "dtype", "colour", "expected"),
    [
        ("a.png", "u1", True, "srgb"),
        ("a.png", "u2", True, "srgb"),
        ("a.png", "u2", False, "srgb"),
        ("a.jpg", "u1", False, "srgb"),
        ("a.webp", "u1", True, "srgb"),
        ("a.tif", "u1", False, "srgb"),
        ("a.tif", "u2", True, "srgb"),
        ("a.tif", "u2", False, "linear"),
        ("a.tif", "f4", True, "linear"),
        ("a.tif", "i4", False, "linear"),
        ("a.fits", "u2", False, "linear"),
        ("a.npy", "u1", True, "linear"),
        ("a.npz", "f4", False, "linear"),
    ],
)
def test_files_without_a_word_about_it(tmp_path, name, dtype, colour, expected):
    io.write(tmp_path / name, ImageFile.of(np.ones((8, 8, 3) if colour else (8, 8), dtype), colour=colour))
    assert io.read(tmp_path / name).transfer == expected


@pytest.mark.parametrize("flag", ["ome", "imagej"])
def test_microscopes_record_light_in_8_bits_too(tmp_path, flag):
    tifffile.imwrite(tmp_path / "a.tif", np.zeros((2, 8, 8), np.uint8), **{flag: True})
    assert io.read(tmp_path / "a.tif").transfer == "linear"


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        ([(b"gAMA", struct.pack(">I", 45455))], "srgb"),
        ([(b"gAMA", struct.pack(">I", 100000))], "linear"),
        ([(b"gAMA", struct.pack(">I", 55556))], "gamma:1.79999"),
        ([(b"gAMA", struct.pack(">I", 0))], "unknown"),
        ([(b"gAMA", struct.pack(">I", 100000)), (b"sRGB", b"\0")], "srgb"),
        ([(b"cICP", bytes([9, 16, 0, 1])), (b"sRGB", b"\0")], "unknown"),
        ([(b"cICP", bytes([1, 8, 0, 1]))], "linear"),
        ([(b"cICP", bytes([1, 13, 0, 1]))], "srgb"),
    ],
)
def test_png_chunks(tmp_path, chunks, expected):
    extra = PngImagePlugin.PngInfo()
    for kind, data in chunks:
        extra.add(kind, data)
    Image.fromarray(np.zeros((4, 4), np.uint8)).save(tmp_path / "a.png", pnginfo=extra)
    assert io.read(tmp_path / "a.png").transfer == expected
    io.write(tmp_path / "b.png", io.read(tmp_path / "a.png"))
    assert io.read(tmp_path / "b.png").transfer == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (SRGB, "srgb"),
        (profile(sampled(lambda x: linearise(x, "srgb"))), "srgb"),
        (profile(sampled(lambda x: x**2.2)), "gamma:2.2"),
        (profile(sampled(lambda x: x**1.3)), "unknown"),
        (profile(b"curv" + bytes(8)), "linear"),
        (profile(b"curv" + bytes(4) + struct.pack(">IH", 1, 0x0233), (b"kTRC",)), "gamma:2.19922"),  # Adobe RGB
        (profile(b"para" + bytes(4) + struct.pack(">HHi", 0, 0, int(1.8 * 65536))), "gamma:1.79999"),
        (profile(b"para" + bytes(4) + struct.pack(">HHi", 9, 0, 65536)), "unknown"),
        (profile(b"curv" + bytes(4) + struct.pack(">I", 2**31)), "unknown"),
        (profile(b""), "unknown"),
        (SRGB[:200], "unknown"),
        (b"", "unknown"),
    ],
)
def test_colour_profiles(content, expected):
    assert transfer_of_profile(content) == expected


@pytest.mark.parametrize("name", ["a.png", "a.jpg", "a.webp", "a.tif"])
def test_a_profile_outweighs_the_format(tmp_path, name):
    linear = profile(b"curv" + bytes(8))
    pixels = np.zeros((8, 8, 3), np.uint8)
    io.write(tmp_path / name, ImageFile.of(pixels, colour=True, metadata=Metadata(icc=linear)))
    assert io.read(tmp_path / name).transfer == "linear"


@pytest.mark.parametrize("quality", [5, 10, 30, 50, 75, 92, 95, 100])
def test_quantisation_tables(tmp_path, quality):
    pixels = np.random.default_rng(0).integers(0, 255, (16, 16, 3), np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.jpg", quality=quality)
    metadata = io.read(tmp_path / "a.jpg").metadata
    assert [len(table) for table in metadata.quantisation] == [64, 64]
    # The standard's first steps are 16, 11, 10, 16 and, for colour, 17, 18, 24, 47.
    scale = 50 / quality if quality < 50 else 2 - quality / 50
    for table, standard in zip(metadata.quantisation, ((16, 11, 10, 16), (17, 18, 24, 47)), strict=True):
        assert table[:4] == tuple(int(np.clip(scale * step + 0.5, 1, 255)) for step in standard)
    assert abs(metadata.jpeg_quality - quality) <= 1
    restored = io.read(tmp_path / "a.jpg").restored([pixels / 255])
    assert restored.metadata.jpeg_quality is None  # its pixels have not been rounded
    io.write(tmp_path / "a.png", ImageFile.of(pixels, colour=True))
    assert io.read(tmp_path / "a.png").metadata.jpeg_quality is None
