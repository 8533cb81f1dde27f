"""Photon cubes: every way to store the same bits gives the same counts, in bounded memory."""

import tracemalloc

import numpy as np
import pytest
import scipy.io

import plugplay as pp
from plugplay.io.photon_defects import find_defects
from plugplay.io.photon_layout import questions
from plugplay.io.photons import BLOCK_BYTES, PhotonCounts, count_ones


@pytest.fixture(scope="module")
def cube():
    return (np.random.default_rng(0).random((300, 16, 24)) < 0.3).astype(np.uint8)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("order", ["big", "little"])
@pytest.mark.parametrize("stored", ["array", "npy"])
def test_packing_along_any_axis(cube, axis, order, stored, tmp_path):
    packed = np.packbits(cube, axis=axis, bitorder=order)
    if stored == "npy":
        np.save(tmp_path / "cube.npy", packed)
        packed = tmp_path / "cube.npy"
    counts = count_ones(packed, packed_axis=axis, bit_order=order, frames=300)
    np.testing.assert_array_equal(counts.ones, cube.sum(axis=0))
    assert counts.frames == 300
    assert (counts.trials == 300).all()


@pytest.mark.parametrize("dtype", [np.uint8, np.bool_, np.float32, np.int64])
def test_unpacked_bits_of_any_type(cube, dtype, tmp_path):
    np.save(tmp_path / "cube.npy", cube.astype(dtype))
    np.testing.assert_array_equal(count_ones(tmp_path / "cube.npy").ones, cube.sum(axis=0))
    np.testing.assert_array_equal(count_ones(cube[0].astype(dtype)).ones, cube[0])


@pytest.mark.parametrize("time_axis", [0, 1, 2])
def test_time_along_any_axis(cube, time_axis):
    moved = np.moveaxis(cube, 0, time_axis)
    np.testing.assert_array_equal(count_ones(moved, time_axis=time_axis).ones, cube.sum(axis=0))
    np.testing.assert_array_equal(count_ones(moved, time_axis=time_axis, frames=99).ones, cube[:99].sum(axis=0))


@pytest.mark.parametrize("width", [24, 21])
def test_raw_files(cube, width, tmp_path):
    cube = cube[..., :width]
    (tmp_path / "cube.bin").write_bytes(np.packbits(cube, axis=2).tobytes())
    counts = count_ones(tmp_path / "cube.bin", frame_shape=(16, width))
    np.testing.assert_array_equal(counts.ones, cube.sum(axis=0))
    np.testing.assert_array_equal(
        count_ones(np.packbits(cube, axis=2), packed_axis=2, frame_shape=(16, width)).ones, cube.sum(axis=0)
    )


@pytest.mark.parametrize("compress", [False, True])
def test_matlab_files(cube, compress, tmp_path):
    frames_last = np.moveaxis(cube, 0, -1)
    scipy.io.savemat(tmp_path / "a.mat", {"bits": frames_last, "rate": 3.0}, do_compression=compress)
    np.testing.assert_array_equal(count_ones(tmp_path / "a.mat").ones, cube.sum(axis=0))
    scipy.io.savemat(tmp_path / "b.mat", {"one": frames_last, "two": frames_last[..., :5] > 0})
    with pytest.raises(ValueError, match="several variables could be the cube; name one of one .*two"):
        count_ones(tmp_path / "b.mat")
    np.testing.assert_array_equal(count_ones(tmp_path / "b.mat", variable="two").ones, cube[:5].sum(axis=0))


def test_matlab_files_of_version_7_3(cube, tmp_path, monkeypatch):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.mat", "w", userblock_size=512) as file:
        file["bits"] = cube.transpose(0, 2, 1)  # MATLAB's (H, W, T), in the order in which HDF5 has it
    # The first 128 bytes are MATLAB's: a text, then version 2.0 and the byte order.
    with (tmp_path / "a.mat").open("r+b") as stream:
        stream.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    np.testing.assert_array_equal(count_ones(tmp_path / "a.mat").ones, cube.sum(axis=0))
    monkeypatch.setitem(__import__("sys").modules, "h5py", None)
    with pytest.raises(ValueError, match=r"needs h5py: pip install 'plugplay\[matlab\]'"):
        count_ones(tmp_path / "a.mat")


def test_jots_of_a_pixel_are_added_and_hot_ones_left_out(cube):
    works = np.random.default_rng(1).random((16, 24)) < 0.7
    works[:4, :4] = False
    counts = count_ones(cube, oversampling=4, mask=works)
    kept = (cube * works).reshape(300, 4, 4, 6, 4)
    np.testing.assert_array_equal(counts.ones, kept.sum(axis=(0, 2, 4)))
    np.testing.assert_array_equal(counts.trials, 300 * works.reshape(4, 4, 6, 4).sum(axis=(1, 3)))
    assert counts.trials[0, 0] == 0
    assert not counts.ones.flags.writeable


def test_a_cube_larger_than_the_memory_allowed(tmp_path):
    # A sparse file: 512 MiB of jots packed into zeros, with a few ones written into it.
    shape, path = (2048, 512, 512), tmp_path / "cube.npy"
    with path.open("wb") as stream:
        np.lib.format.write_array_header_1_0(stream, {"descr": "|u1", "fortran_order": False, "shape": shape})
        start = stream.tell()
        stream.truncate(start + int(np.prod(shape)))
        stream.seek(start + 7 * 512 * 512)
        stream.write(b"\xff\x80")
    limit = 6 * BLOCK_BYTES
    assert path.stat().st_size > 5 * limit
    tracemalloc.start()
    try:
        counts = count_ones(path, packed_axis=0)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < limit
    assert (counts.ones[0, 0], counts.ones[0, 1], counts.ones.sum(), counts.frames) == (8, 1, 9, 8 * 2048)


def test_single_photon_takes_bits_counts_and_files(cube, tmp_path):
    np.save(tmp_path / "cube.npy", cube)
    options = {"denoiser": "tv", "max_iter": 3, "dark": 0.01, "efficiency": 0.5, "threshold": 2}
    of_bits = pp.single_photon(cube, oversampling=2, **options)
    of_counts = pp.single_photon(count_ones(cube, oversampling=2), **options)
    of_file = pp.single_photon(tmp_path / "cube.npy", oversampling=2, **options)
    np.testing.assert_array_equal(of_counts.image, of_bits.image)
    np.testing.assert_array_equal(of_file.image, of_bits.image)
    assert of_bits.image.shape == (8, 12)
    assert of_counts.parameters.model.frames == 300


def test_hot_jots_do_not_shine(camera):
    sensor = pp.models.SinglePhoton(2, frames=4)
    bits = sensor.simulate(camera[:64, :64], rng=0)
    hot = np.random.default_rng(2).random(bits.shape[1:]) < 0.1
    bits[:, hot] = 1
    options = {"denoiser": "tv", "max_iter": 15}
    with_hot = pp.single_photon(count_ones(bits, oversampling=2), **options)
    without = pp.single_photon(count_ones(bits, oversampling=2, mask=~hot), **options)
    assert pp.psnr(without.image, camera[:64, :64]) > pp.psnr(with_hot.image, camera[:64, :64]) + 1


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (
            np.arange(256, dtype=np.uint8).reshape(4, 8, 8),
            {},
            "but 0 to 255 were found, .*; if eight jots share a byte",
        ),
        (np.full((4, 8, 8), 2, np.uint8), {"max_count": 1}, "max_count is 1, but counts up to 2 were found"),
        (
            np.zeros((4, 8, 8), np.uint8),
            {"start": 3, "frames": 2},
            "2 frames are asked for from frame 3 on, but it has 4",
        ),
        (np.full((4, 8, 8), 0.5), {}, "must be 0 or 1"),
        (np.full((4, 8, 8), -1), {}, "must be 0 or 1"),
        (np.zeros((4, 8, 8, 3), np.uint8), {}, r"has the shape \(4, 8, 8, 3\)"),
        (np.zeros((4, 9, 8), np.uint8), {"oversampling": 2}, "not divisible by the oversampling, 2"),
        (np.zeros((4, 8, 8), np.uint16), {"packed_axis": 2}, "packed ones as uint8"),
        (np.zeros((4, 8, 8), np.uint8), {"packed_axis": 3}, "packed_axis is 3, but there are 3 axes"),
        (np.zeros((4, 8, 8), np.uint8), {"mask": np.ones((4, 4), bool)}, "mask has the shape"),
        (np.zeros((4, 8, 8), np.uint8), {"frames": 5}, "5 frames are asked for, but it has 4"),
        (np.zeros((4, 8, 8), np.uint8), {"frame_shape": (9, 8)}, "less than the frame_shape"),
        (np.zeros((4, 8, 8), np.uint8), {"bit_order": "middle"}, "'big' or 'little'"),
        ("missing.npy", {}, "missing.npy: there is no such file"),
    ],
)
def test_bad_cubes(source, options, message):
    with pytest.raises(ValueError, match=message):
        count_ones(source, **options)


@pytest.mark.parametrize("ending", ["npy", "mat"])
def test_damaged_files(cube, ending, tmp_path):
    path = tmp_path / f"cube.{ending}"
    if ending == "npy":
        np.save(path, cube[:9])
    else:
        scipy.io.savemat(path, {"bits": cube[:9]}, do_compression=True)
    sound, rng = path.read_bytes(), np.random.default_rng(0)
    failures = 0
    for case in range(60):
        damaged = bytearray(sound[: rng.integers(len(sound))] if case % 3 == 0 else sound)
        for place in rng.integers(0, min(300, len(damaged) + 1), 4 if damaged else 0):
            damaged[min(place, len(damaged) - 1)] = rng.integers(256)
        path.write_bytes(damaged)
        try:
            count_ones(path)
        except ValueError:
            failures += 1
    assert failures > 20


def test_bad_files(tmp_path):
    (tmp_path / "a.bin").write_bytes(bytes(100))
    with pytest.raises(ValueError, match="frame_shape="):
        count_ones(tmp_path / "a.bin")
    with pytest.raises(ValueError, match="not a whole number of frames of 8 x 24 jots, 24 bytes each"):
        count_ones(tmp_path / "a.bin", frame_shape=(8, 24))
    for name in ("a.npy", "a.mat"):
        (tmp_path / name).write_bytes(b"\x93NUMPYnonsense")
        with pytest.raises(ValueError, match="not a readable"):
            count_ones(tmp_path / name)
    np.save(tmp_path / "pickled.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(ValueError, match="not a readable NPY file"):
        count_ones(tmp_path / "pickled.npy")
    counts = PhotonCounts(np.ones((2, 2), np.int64), np.ones((2, 2), np.int64), 4, 1)
    with pytest.raises(ValueError, match="oversampling is 2, but the counts were made with 4"):
        pp.single_photon(counts, oversampling=2)


@pytest.mark.parametrize("axis", [None, 0, 1, 2])
@pytest.mark.parametrize("time_axis", [0, 2])
def test_any_part_of_the_frames(cube, axis, time_axis):
    stored = np.moveaxis(cube, 0, time_axis)
    stored = stored if axis is None else np.packbits(stored, axis=axis)
    counts = count_ones(stored, packed_axis=axis, time_axis=time_axis, start=45, frames=77)
    np.testing.assert_array_equal(counts.ones, cube[45:122].sum(axis=0))
    assert counts.frames == 77
    assert (counts.trials == 77).all()


def test_counts_of_several_bits():
    rng = np.random.default_rng(0)
    frames = rng.poisson(2.0, (50, 16, 24)).astype(np.uint8)
    counts = count_ones(frames, oversampling=2)
    np.testing.assert_array_equal(counts.ones, frames.sum(axis=0).reshape(8, 2, 12, 2).sum(axis=(1, 3)))
    assert (counts.trials == 4 * 50 * counts.exposures).all()
    # So many exposures that the mean number of photons is the mean count.
    share = counts.ones.sum() / counts.trials.sum()
    assert -np.log1p(-share) * counts.exposures == pytest.approx(frames.mean(), rel=0.01)
    assert count_ones(frames, max_count=15).exposures == 15


def test_hot_and_dead_jots_are_found_and_detail_is_not():
    rng = np.random.default_rng(0)
    rows, columns = np.mgrid[:64, :64]
    chance = 0.1 + 0.3 * (((rows // 5) + (columns // 7)) % 2)
    ones = rng.binomial(500, chance)
    assert find_defects(ones, 500).works.all()
    ones[10, 10], ones[0, 0], ones[30, 31], ones[30, 33] = 480, 400, 480, 460
    ones[50, 20] = 0
    found = find_defects(ones, 500)
    assert np.argwhere(found.hot).tolist() == [[0, 0], [10, 10], [30, 31], [30, 33]]
    assert np.argwhere(found.dead).tolist() == [[50, 20]]
    # A single frame convicts nobody.
    assert not find_defects((rng.random((64, 64)) < chance).astype(int), 1).hot.any()


def test_bytes_that_are_frames_of_one_jot_are_noticed():
    rng = np.random.default_rng(0)
    chance = 0.3 + 0.2 * np.sin(np.arange(24) / 1.5) * np.cos(np.arange(64) / 2.0)[:, None]
    staircase = rng.binomial(500, np.repeat(chance, 8, axis=1))
    assert "another axis" in questions(staircase, 500, 1, "big")[0]
    smooth = rng.binomial(500, chance)
    assert questions(smooth, 500, 1, "big") == []


@pytest.mark.parametrize(("white", "dtype"), [(255, np.uint8), (65535, np.uint16), (255.0, np.float32)])
def test_black_and_white_stand_for_bits(white, dtype):
    bits = (np.random.default_rng(0).random((300, 16, 24)) < 0.2).astype(dtype)
    bits[:248] = 0  # frames without a one say nothing
    expected = count_ones(bits, oversampling=2)
    counts = count_ones(bits * dtype(white), oversampling=2)
    np.testing.assert_array_equal(counts.ones, expected.ones)
    np.testing.assert_array_equal(counts.trials, expected.trials)
    assert counts.exposures == 1
    mixed = bits * dtype(white)
    mixed[:100] = 1
    with pytest.raises(pp.io.ImageFileError, match="some of its values are 0 and"):
        count_ones(mixed)
