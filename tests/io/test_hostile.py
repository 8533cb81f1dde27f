"""Files that try to read others, to nest without end, or to pass for complete."""

import io as streams
import struct

import numpy as np
import pytest
import tifffile
from PIL import Image

from plugplay import io
from plugplay.io import ImageFileError
from plugplay.io.photons import count_ones


def refusal(path, reader=io.read):
    with pytest.raises(ImageFileError) as caught:
        reader(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def described(path, xml, pixels=None):
    pixels = np.zeros((4, 4), np.uint8) if pixels is None else pixels
    tifffile.imwrite(path, pixels, description=xml.encode(), metadata=None, photometric="minisblack")


def ome(inside="", *, planes=1, before="", attributes=""):
    return (
        f'<?xml version="1.0"?>{before}<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06" {attributes}>'
        f'<Image ID="Image:0"><Pixels ID="Pixels:0" DimensionOrder="XYZCT" Type="uint8" SizeX="4" SizeY="4" '
        f'SizeZ="{planes}" SizeC="1" SizeT="1"><Channel ID="Channel:0:0" SamplesPerPixel="1"/>{inside}</Pixels>'
        "</Image></OME>"
    )


def elsewhere(name):
    return f'<TiffData IFD="0" PlaneCount="1"><UUID FileName="{name}">urn:uuid:1</UUID></TiffData>'


@pytest.fixture
def secret(tmp_path):
    """A file beside the folder of the images, and that folder."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "own").mkdir()
    tifffile.imwrite(tmp_path / "secret" / "secret.tif", np.full((4, 4), 42, np.uint8))
    return tmp_path / "secret" / "secret.tif", tmp_path / "own"


@pytest.mark.parametrize("way", ["relative", "absolute", "link", "dots"])
def test_ome_xml_cannot_read_other_folders(secret, way):
    file, own = secret
    (own / "inner").mkdir()
    (own / "link.tif").symlink_to(file)
    name = {
        "relative": "../secret/secret.tif",
        "absolute": str(file),
        "link": "link.tif",
        "dots": "inner/../../secret/secret.tif",
    }[way]
    described(own / "a.ome.tif", ome(elsewhere(name)))
    assert "outside of its own folder" in refusal(own / "a.ome.tif")


def test_ome_xml_may_name_files_beside_it(secret):
    file, own = secret
    (own / "b.ome.tif").write_bytes(file.read_bytes())
    inside = '<TiffData FirstZ="0" IFD="0" PlaneCount="1"><UUID FileName="a.ome.tif">urn:uuid:0</UUID></TiffData>'
    second = elsewhere("b.ome.tif").replace("<TiffData ", '<TiffData FirstZ="1" ')
    described(own / "a.ome.tif", ome(inside + second, planes=2, attributes='UUID="urn:uuid:0"'))
    assert io.read(own / "a.ome.tif").pages[:, 0, 0].tolist() == [0, 42]
    (own / "b.ome.tif").unlink()  # tifffile would put zeros in its place
    assert "page 2 of its OME-XML is in no file that is there" in refusal(own / "a.ome.tif")


@pytest.mark.parametrize(
    ("xml", "message"),
    [
        (ome("<A>" * 200_000 + "</A>" * 200_000), "nested more than 64 deep"),
        (ome(before='<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>'), "defines entities"),
        (ome('<TiffData IFD="0" PlaneCount="1000000000"/>'), "needs .* of memory"),
        (ome('<TiffData IFD="0" PlaneCount="1" FirstZ="99999999"/>'), "needs .* of memory"),
        (ome(planes=10**9), "needs .* of memory"),
        (ome(planes="9" * 400), "far too many planes"),
        (ome('<ModuloAlongZ Type="lifetime" Start="0" End="1e9" Step="1e-3"/>'), "needs .* of memory"),
    ],
)
def test_ome_xml_that_is_a_trap(tmp_path, xml, message):
    described(tmp_path / "a.ome.tif", xml)
    with pytest.raises(ImageFileError, match=message):
        io.read(tmp_path / "a.ome.tif")


@pytest.fixture
def matlab(tmp_path):
    """Return a function that makes a MATLAB 7.3 file, which `fill` fills."""
    h5py = pytest.importorskip("h5py")

    def make(fill):
        path = tmp_path / "a.mat"
        with h5py.File(path, "w", userblock_size=512) as file:
            fill(h5py, file)
        with path.open("r+b") as stream:
            stream.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
        return path

    np.ones((3, 4, 4), np.uint8).tofile(tmp_path / "secret.bin")
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["bits"] = np.ones((3, 4, 4), np.uint8)
    return make


def test_matlab_files_cannot_read_others(matlab, tmp_path):
    def external_storage(h5py, file):
        file.create_dataset("bits", (3, 4, 4), "u1", external=[(str(tmp_path / "secret.bin"), 0, 48)])

    def external_link(h5py, file):
        file["bits"] = h5py.ExternalLink(str(tmp_path / "secret.h5"), "bits")

    def virtual(h5py, file):
        layout = h5py.VirtualLayout((3, 4, 4), "u1")
        layout[:] = h5py.VirtualSource(str(tmp_path / "secret.h5"), "bits", (3, 4, 4))
        file.create_virtual_dataset("bits", layout)

    def soft_link(h5py, file):
        file["bits"] = h5py.SoftLink("/bits")  # to itself

    assert "in other files" in refusal(matlab(external_storage), count_ones)
    assert "in other files" in refusal(matlab(virtual), count_ones)
    for fill in (external_link, soft_link):
        path = matlab(fill)
        refusal(path, count_ones)
        assert "is a link" in refusal(path, lambda path: count_ones(path, variable="bits"))


@pytest.mark.parametrize("rows", [None, 64])
def test_jpeg_in_tiff_that_is_cut_off(tmp_path, rows):
    smooth = np.add.outer(np.arange(256), np.arange(256)) // 2
    noisy = smooth + np.random.default_rng(0).integers(0, 9, smooth.shape)
    tifffile.imwrite(tmp_path / "a.tif", noisy.clip(0, 255).astype(np.uint8), compression="jpeg", rowsperstrip=rows)
    sound = io.read(tmp_path / "a.tif").pixels
    assert np.abs(sound - noisy.clip(0, 255)).mean() < 3
    with tifffile.TiffFile(tmp_path / "a.tif") as file:
        page = file.pages[0]
        offset, count = page.dataoffsets[0], page.databytecounts[0]
        place = page.tags["StripByteCounts"].valueoffset
    content = bytearray((tmp_path / "a.tif").read_bytes())
    # The stream is cut in the middle: by zeros, or by a byte count that says so.
    zeroed = content.copy()
    zeroed[offset + count // 2 : offset + count] = bytes(count - count // 2)
    (tmp_path / "b.tif").write_bytes(zeroed)
    assert "has no end" in refusal(tmp_path / "b.tif")
    if rows is None:
        shorter = content.copy()
        shorter[place : place + 4] = struct.pack("<I", count // 2)
        (tmp_path / "c.tif").write_bytes(shorter)
        assert "has no end" in refusal(tmp_path / "c.tif")


@pytest.mark.parametrize("compression", ["tiff_deflate", "tiff_lzw", "jpeg", "raw"])
@pytest.mark.parametrize("kept", [0.5, 0.9, 0.999])
def test_tiff_files_with_the_directory_first_that_are_cut_off(tmp_path, compression, kept):
    # Pillow writes the directory before the pixels, so that a file cut off looks whole.
    pixels = np.random.default_rng(0).integers(0, 255, (200, 200), np.uint8)
    stream = streams.BytesIO()
    Image.fromarray(pixels).save(stream, "TIFF", compression=None if compression == "raw" else compression)
    content = stream.getvalue()
    (tmp_path / "a.tif").write_bytes(content)
    assert io.read(tmp_path / "a.tif").pixels.shape == (200, 200)
    (tmp_path / "b.tif").write_bytes(content[: int(kept * len(content))])
    refusal(tmp_path / "b.tif")


def test_libraries_do_not_write_to_the_terminal(tmp_path, run_quietly):
    described(tmp_path / "a.ome.tif", ome('<TiffData IFD="7" PlaneCount="1"/>'))
    assert run_quietly(
        f"from plugplay import io\ntry: io.read({str(tmp_path / 'a.ome.tif')!r})\nexcept ValueError: pass"
    )


@pytest.fixture
def run_quietly(environment):
    """Return a function that tells whether some code writes nothing to stdout and stderr."""
    import subprocess
    import sys

    def run(code):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=60)
        return done.returncode == 0 and done.stdout == "" and done.stderr == ""

    return run
