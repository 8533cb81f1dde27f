"""What is read is what was written: depths, stacks, alpha, metadata."""

from io import BytesIO

import numpy as np
import pytest
import tifffile
from PIL import Image, ImageCms, PngImagePlugin

from plugplay import io
from plugplay.io import ImageFile, ImageFileError, ImageLossWarning, Metadata, Resolution

HOLDS = {
    "png": "u1 u2",
    "tif": "u1 u2 u4 i1 i2 i4 f2 f4 f8",
    "fits": "u1 u2 u4 i2 i4 f4 f8",
    "npy": "u1 u2 u4 i2 i4 i8 f2 f4 f8",
    "npz": "u1 u2 f4",
    "webp": "u1",
}
PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


def drawn(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return rng.random(shape).astype(dtype)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)


@pytest.mark.parametrize(
    ("ending", "dtype", "stack", "channels"),
    [
        (ending, dtype, stack, channels)
        for ending, held in HOLDS.items()
        for dtype in held.split()
        for stack in ((), (3,))
        for channels in (0, 3)
        if not (stack and ending in ("png", "webp")) and (channels or ending != "webp")
    ],
)
def test_depth_in_is_depth_out(tmp_path, ending, dtype, stack, channels):
    pixels = drawn((*stack, 9, 7, 3) if channels else (*stack, 9, 7), dtype)
    path = tmp_path / f"image.{ending}"
    io.write(path, ImageFile.of(pixels, colour=bool(channels)))
    again = io.read(path)
    if ending == "fits" and channels:  # FITS knows no colour: the channels are planes
        pixels = np.moveaxis(pixels, -1, 0)
    else:
        assert again.colour == bool(channels)
    assert again.pixels.dtype == pixels.dtype
    np.testing.assert_array_equal(again.pixels, pixels)


@pytest.mark.parametrize(
    ("ending", "dtype", "colour"),
    [
        *((ending, dtype, colour) for ending in ("png", "tif") for dtype in ("u1", "u2") for colour in (False, True)),
        ("webp", "u1", True),
    ],
)
def test_alpha_is_kept(tmp_path, ending, dtype, colour):
    pixels, alpha = drawn((8, 6, 3) if colour else (8, 6), dtype), drawn((8, 6), dtype, seed=1)
    path = tmp_path / f"image.{ending}"
    io.write(path, ImageFile.of(pixels, colour=colour, alpha=alpha))
    again = io.read(path)
    assert again.colour == colour
    np.testing.assert_array_equal(again.pixels, pixels)
    np.testing.assert_array_equal(again.alpha, alpha)


def test_16_bit_png_is_what_another_decoder_reads(tmp_path):
    import imagecodecs

    pixels = drawn((5, 4, 3), "u2")
    io.write(tmp_path / "deep.png", ImageFile.of(pixels, colour=True, metadata=Metadata(icc=PROFILE)))
    np.testing.assert_array_equal(imagecodecs.png_decode((tmp_path / "deep.png").read_bytes()), pixels)
    Image.open(tmp_path / "deep.png").verify()


def test_jpeg_is_close(tmp_path):
    pixels = np.add.outer(np.arange(64), np.arange(64)).astype(np.uint8)
    io.write(tmp_path / "a.jpg", ImageFile.of(pixels))
    assert np.abs(io.read(tmp_path / "a.jpg").pixels.astype(int) - pixels).max() < 4


@pytest.mark.parametrize("ending", ["png", "jpg", "webp", "tif"])
def test_profile_exif_and_resolution_survive(tmp_path, ending):
    exif = Image.Exif()
    exif[0x010F], exif[0x0112] = "Maker", 6
    exif.get_ifd(0x8769)[0x9003] = "2020:02:20 20:20:20"
    image = Image.fromarray(drawn((6, 10, 3), "u1"))
    options = {"icc_profile": PROFILE, "dpi": (300, 200)}
    if ending == "tif":
        image.save(tmp_path / "a.tif", **options, tiffinfo={271: "Maker", 274: 6})
    else:
        image.save(tmp_path / f"a.{ending}", **options, exif=exif, lossless=True)
    first = io.read(tmp_path / f"a.{ending}")
    io.write(tmp_path / f"b.{ending}", first)
    with Image.open(tmp_path / f"b.{ending}") as again:
        again.load()
        assert again.size == (6, 10)  # turned, and no tag says to turn it again
        assert again.getexif().get(0x0112, 1) == 1
        assert again.info.get("icc_profile") == PROFILE
        assert again.getexif()[0x010F] == "Maker"
        if ending in ("png", "jpg", "webp"):
            assert again.getexif().get_ifd(0x8769)[0x9003] == "2020:02:20 20:20:20"
        if ending != "webp":
            assert sorted(round(float(n)) for n in again.info["dpi"]) == [200, 300]
    if ending != "jpg":
        np.testing.assert_array_equal(io.read(tmp_path / f"b.{ending}").pixels, first.pixels)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_every_orientation_is_applied_as_pillow_does(tmp_path, orientation):
    from PIL import ImageOps

    exif = Image.Exif()
    exif[0x0112] = orientation
    image = Image.fromarray(drawn((5, 8, 3), "u1"))
    image.save(tmp_path / "a.png", exif=exif)
    image.save(tmp_path / "a.tif", tiffinfo={274: orientation})
    with Image.open(tmp_path / "a.png") as stored:
        upright = np.asarray(ImageOps.exif_transpose(stored))
    np.testing.assert_array_equal(io.read(tmp_path / "a.png").pixels, upright)
    np.testing.assert_array_equal(io.read(tmp_path / "a.tif").pixels, upright)


def test_png_texts_and_gamma_survive(tmp_path):
    texts = PngImagePlugin.PngInfo()
    texts.add_text("Title", "An image")
    texts.add_itxt("Author", "Ünal", "de", "Autor")
    texts.add(b"gAMA", (45455).to_bytes(4, "big"))
    Image.fromarray(drawn((4, 4), "u1")).save(tmp_path / "a.png", pnginfo=texts)
    io.write(tmp_path / "b.png", io.read(tmp_path / "a.png").converted("u2"))
    with Image.open(tmp_path / "b.png") as again:
        again.load()
        assert again.text == {"Title": "An image", "Author": "Ünal"}
        assert again.info["gamma"] == pytest.approx(0.45455)


@pytest.mark.parametrize("compression", [None, "zlib", "lzw", "zstd"])
@pytest.mark.parametrize("planar", [False, True])
def test_tiff_variants(tmp_path, compression, planar):
    pixels = drawn((3, 40, 32) if planar else (40, 32, 3), "u2")
    tifffile.imwrite(
        tmp_path / "a.tif",
        pixels,
        photometric="rgb",
        planarconfig="separate" if planar else "contig",
        compression=compression,
        tile=(16, 16),
        byteorder=">",
    )
    read = io.read(tmp_path / "a.tif")
    np.testing.assert_array_equal(read.pixels, np.moveaxis(pixels, 0, -1) if planar else pixels)
    io.write(tmp_path / "b.tif", read)
    with tifffile.TiffFile(tmp_path / "b.tif") as again:
        assert again.pages[0].compression.name == {"zlib": "ADOBE_DEFLATE"}.get(compression, str(compression).upper())
        np.testing.assert_array_equal(again.asarray(), read.pixels)


def test_ome_tiff_keeps_its_metadata_and_follows_the_pixels(tmp_path):
    pixels = drawn((3, 2, 16, 18), "u2")
    about = {"axes": "ZCYX", "PhysicalSizeX": 0.2, "PhysicalSizeXUnit": "µm", "Channel": {"Name": ["DAPI", "GFP"]}}
    tifffile.imwrite(tmp_path / "a.ome.tif", pixels, metadata=about)
    read = io.read(tmp_path / "a.ome.tif")
    assert read.stack_shape == (3, 2)
    enlarged = read.restored([np.kron(page / 65535, np.ones((2, 2))) for page in read.pages], factor=2)
    io.write(tmp_path / "b.ome.tif", enlarged)
    with tifffile.TiffFile(tmp_path / "b.ome.tif") as again:
        assert again.is_ome
        assert again.series[0].axes == "ZCYX"
        np.testing.assert_array_equal(again.asarray()[..., ::2, ::2], pixels)
        for text in ('Name="DAPI"', 'Name="GFP"', 'PhysicalSizeX="0.1"', 'PhysicalSizeXUnit="µm"', 'SizeX="36"'):
            assert text in again.ome_metadata


def test_imagej_hyperstacks_stay_hyperstacks(tmp_path):
    pixels = drawn((2, 3, 8, 9), "u2")
    options = {"resolution": (10, 10), "metadata": {"axes": "ZCYX", "unit": "um", "spacing": 2.0}}
    tifffile.imwrite(tmp_path / "a.tif", pixels, imagej=True, **options)
    io.write(tmp_path / "b.tif", io.read(tmp_path / "a.tif"))
    with tifffile.TiffFile(tmp_path / "b.tif") as again:
        assert (again.series[0].axes, again.imagej_metadata["spacing"]) == ("ZCYX", 2.0)
        np.testing.assert_array_equal(again.asarray(), pixels)


def test_imagej_labels_and_info_survive(tmp_path):
    pixels = drawn((3, 8, 9), "u2")
    about = {
        "axes": "ZYX",
        "Labels": ["one", "zwei ü", "three"],
        "Info": "Objective 40x\nGain 2",
        "Ranges": (0.0, 99.0),
    }
    tifffile.imwrite(tmp_path / "a.tif", pixels, imagej=True, metadata=about)
    read = io.read(tmp_path / "a.tif")
    io.write(
        tmp_path / "b.tif", read.restored([np.kron(page / 65535, np.ones((2, 2))) for page in read.pages], factor=2)
    )
    with tifffile.TiffFile(tmp_path / "b.tif") as again:
        assert again.is_imagej
        for key in ("Labels", "Info", "Ranges"):
            assert again.imagej_metadata[key] == about[key]
        np.testing.assert_array_equal(again.asarray()[:, ::2, ::2], pixels)


@pytest.mark.parametrize("text", ["plain", "µ-scope, größer\nsecond line", '{"exposure": 3}'])
def test_descriptions_survive(tmp_path, text):
    tifffile.imwrite(tmp_path / "a.tif", drawn((8, 9), "u2"), description=text.encode(), metadata=None)
    io.write(tmp_path / "b.tif", io.read(tmp_path / "a.tif"))
    with tifffile.TiffFile(tmp_path / "b.tif") as again:
        assert again.pages[0].description == text
    # Beside tifffile's own description of the axes as well.
    tifffile.imwrite(tmp_path / "c.tif", drawn((2, 8, 9), "u2"), description=text.encode(), metadata={"axes": "ZYX"})
    io.write(tmp_path / "d.tif", io.read(tmp_path / "c.tif"))
    with tifffile.TiffFile(tmp_path / "d.tif") as again:
        assert again.pages[0].description == text


@pytest.mark.parametrize(
    ("shape", "axes", "options"),
    [
        ((3, 2, 8, 9), "TZYX", {}),
        ((2, 8, 9, 3), "ZYXS", {"photometric": "rgb"}),
        ((2, 3, 8, 9), "ZSYX", {"photometric": "rgb", "planarconfig": "separate"}),
        ((8, 9), "YX", {}),
    ],
)
def test_tifffiles_own_description_follows_the_pixels(tmp_path, shape, axes, options):
    pixels = drawn(shape, "u2")
    tifffile.imwrite(tmp_path / "a.tif", pixels, metadata={"axes": axes, "exposure": 3}, **options)
    read = io.read(tmp_path / "a.tif")
    enlarged = [np.repeat(np.repeat(page / 65535, 2, axis=0), 2, axis=1) for page in read.pages]
    io.write(tmp_path / "b.tif", read.restored(enlarged, factor=2))
    with tifffile.TiffFile(tmp_path / "b.tif") as again:
        assert again.shaped_metadata[0]["exposure"] == 3
        kept = axes.replace("S", "") + ("S" if "S" in axes else "")
        assert again.series[0].axes == kept
    back = io.read(tmp_path / "b.tif")
    assert back.stack_shape == read.stack_shape
    np.testing.assert_array_equal(back.pages[:, ::2, ::2], read.pages)


def test_fits_headers_survive(tmp_path):
    from astropy.io import fits

    header = fits.Header({"OBJECT": "M 31", "EXPTIME": 30.5, "CTYPE1": "RA---TAN"})
    header["HIERARCH LONG KEYWORD"] = "kept"
    fits.PrimaryHDU(drawn((6, 7), "u2"), header=header).writeto(tmp_path / "a.fits")
    read = io.read(tmp_path / "a.fits")
    assert read.pixels.dtype == np.uint16
    io.write(tmp_path / "b.fits", read.restored([read.pixels / 65535]))
    with fits.open(tmp_path / "b.fits") as again:
        assert (again[0].header["OBJECT"], again[0].header["EXPTIME"]) == ("M 31", 30.5)
        assert again[0].header["LONG KEYWORD"] == "kept"
        np.testing.assert_array_equal(again[0].data, read.pixels)


def test_restored_images_take_the_depth_of_the_file():
    image = ImageFile.of(np.zeros((2, 2), np.uint8), metadata=Metadata(resolution=Resolution(10, 20)))
    stored = image.restored([np.array([[-0.2, 0.5], [0.999, 1.7]])])
    assert stored.pixels.tolist() == [[0, 128], [255, 255]]
    counts = ImageFile.of(np.array([[100, 1100]], np.int32))
    assert counts.restored([np.array([[0.0, 0.5]])]).pixels.tolist() == [[100, 600]]
    large = ImageFile.of(np.array([[0, 2**63 - 1]], np.int64))
    assert large.restored([np.array([[0.0, 1.5]])]).pixels[0, 1] > 2**62
    assert image.restored([np.zeros((4, 4))], factor=2).metadata.resolution == Resolution(20, 40)


def test_ranges():
    assert io.ImageFile.of(np.zeros((2, 2), np.uint16)).data_range == (0, 65535)
    assert io.ImageFile.of(np.array([[0.0, 1.2]])).data_range == (0, 1)
    assert io.ImageFile.of(np.array([[10.0, np.nan, 3000.0]])).data_range == (10, 3000)
    assert io.ImageFile.of(np.full((2, 2), 7, np.int32)).data_range == (7, 8)


@pytest.mark.parametrize(
    ("image", "ending", "text"),
    [
        (ImageFile.of(drawn((4, 4, 3), "u2"), colour=True), "jpg", "JPEG cannot hold uint16 pixels"),
        (ImageFile.of(drawn((4, 4), "f4")), "png", "PNG cannot hold float32 pixels, so they are stored as uint16"),
        (ImageFile.of(drawn((4, 4), "u1"), alpha=drawn((4, 4), "u1")), "jpg", "no transparency"),
        (ImageFile.of(drawn((4, 4), "u1"), alpha=drawn((4, 4), "u1")), "fits", "no transparency"),
    ],
)
def test_losses_are_announced(tmp_path, image, ending, text):
    with pytest.warns(ImageLossWarning, match=text):
        io.write(tmp_path / f"a.{ending}", image)


def test_parts_that_are_not_used_are_announced(tmp_path):
    from astropy.io import fits

    fits.HDUList([fits.PrimaryHDU(drawn((4, 4), "u1")), fits.ImageHDU(drawn((5, 5), "u1"))]).writeto(
        tmp_path / "a.fits"
    )
    with pytest.warns(ImageLossWarning, match="2 images: only one is used, the others are kept"):
        io.read(tmp_path / "a.fits")


@pytest.mark.parametrize(
    ("image", "name", "message"),
    [
        (ImageFile.of(drawn((3, 4, 4), "u1")), "a.png", "PNG holds one image, not 3"),
        (ImageFile.of(drawn((4, 4, 4), "u1"), colour=True), "a.png", "1 or 3 channels, not 4"),
        (ImageFile.of(drawn((4, 4), "u1")), "a.xyz", "names no format"),
        (ImageFile.of(drawn((4, 4), "u1")), "missing/a.png", "cannot be written"),
        (ImageFile.of(np.zeros((1, 70000), np.uint8)), "a.jpg", "a.jpg"),
    ],
)
def test_what_cannot_be_written_leaves_nothing_behind(tmp_path, image, name, message):
    with pytest.raises(ImageFileError, match=message) as caught:
        io.write(tmp_path / name, image)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_writing_is_all_or_nothing(tmp_path, monkeypatch):
    path = tmp_path / "a.png"
    path.write_bytes(b"precious")
    monkeypatch.setattr("imagecodecs.png_encode", lambda pixels, level: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        io.write(path, ImageFile.of(drawn((4, 4), "u1")))
    assert [p.name for p in tmp_path.iterdir()] == ["a.png"]
    assert path.read_bytes() == b"precious"


def test_written_files_have_usual_permissions(tmp_path):
    io.write(tmp_path / "a.png", ImageFile.of(drawn((4, 4), "u1")))
    (tmp_path / "other").write_text("")
    assert (tmp_path / "a.png").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_palettes_and_bits_become_what_they_show(tmp_path):
    image = Image.fromarray(drawn((6, 6, 3), "u1")).quantize(16)
    image.save(tmp_path / "a.png")
    np.testing.assert_array_equal(io.read(tmp_path / "a.png").pixels, np.asarray(image.convert("RGB")))
    Image.fromarray(np.eye(5) > 0).save(tmp_path / "b.png")
    np.testing.assert_array_equal(io.read(tmp_path / "b.png").pixels, np.eye(5) * 255)
    buffer = BytesIO()
    Image.new("CMYK", (4, 4)).save(buffer, "JPEG")
    (tmp_path / "c.jpg").write_bytes(buffer.getvalue())
    with pytest.raises(ImageFileError, match="CMYK; convert it to RGB"):
        io.read(tmp_path / "c.jpg")
