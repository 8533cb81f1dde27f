"""MATLAB files of versions 5 to 7.2, against SciPy's reader on sound files, and without it on damaged ones."""

import contextlib

import numpy as np
import pytest
import scipy.io

from plugplay.io import ImageFileError
from plugplay.io.matlab import load_variable, variables
from plugplay.io.photons import count_ones

DTYPES = ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8")


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_of_every_type(tmp_path, dtype, compress):
    rng = np.random.default_rng(0)
    arrays = {
        name: (100 * rng.random(shape)).astype(dtype)
        for name, shape in {"a": (3, 4, 5), "long_name_of_it": (2, 3), "e": (1, 1), "abcd": (1, 2, 1, 7)}.items()
    }
    scipy.io.savemat(tmp_path / "a.mat", arrays, do_compression=compress)
    found = variables(tmp_path / "a.mat")
    assert set(found) == set(arrays)
    for name, array in arrays.items():
        loaded = load_variable(tmp_path / "a.mat", found[name])
        assert loaded.dtype == array.dtype
        np.testing.assert_array_equal(loaded, array)


def test_what_is_not_an_array_of_numbers_is_passed_over(tmp_path):
    others = {"text": "words", "cell": np.array([1, "a"], object), "struct": {"x": 1}, "complex": np.array([[1j, 2]])}
    others["sparse"] = scipy.sparse.eye_array(4).tocsc()
    scipy.io.savemat(tmp_path / "a.mat", others | {"bits": np.ones((4, 4, 3), bool)})
    found = variables(tmp_path / "a.mat")
    assert {name for name, variable in found.items() if variable.dtype is None} == set(others)
    assert count_ones(tmp_path / "a.mat").ones.tolist() == np.full((4, 4), 3).tolist()
    with pytest.raises(ImageFileError, match="array of real numbers"):
        count_ones(tmp_path / "a.mat", variable="complex")


def test_big_endian_files(tmp_path):
    def element(kind, content):
        return np.array([kind, len(content)], ">u4").tobytes() + content + bytes(-len(content) % 8)

    values = np.arange(24).astype(">i2")
    content = (
        element(6, np.array([6, 0], ">u4").tobytes())  # an array of doubles
        + element(5, np.array([2, 3, 4], ">i4").tobytes())
        + np.array([(1 << 16) | 1], ">u4").tobytes()  # a small element: type 1, one byte
        + b"x\0\0\0"
        + element(3, values.tobytes())  # stored as 16-bit integers
    )
    (tmp_path / "a.mat").write_bytes(b"MATLAB 5.0 MAT-file".ljust(124) + b"\x01\x00MI" + element(14, content))
    np.testing.assert_array_equal(scipy.io.loadmat(tmp_path / "a.mat")["x"], values.reshape(2, 3, 4, order="F"))
    loaded = load_variable(tmp_path / "a.mat", variables(tmp_path / "a.mat")["x"])
    assert loaded.dtype == np.float64
    np.testing.assert_array_equal(loaded, values.reshape(2, 3, 4, order="F"))


@pytest.mark.parametrize("compress", [False, True])
def test_no_byte_that_is_changed_ends_the_process(tmp_path, compress):
    bits = np.ones((4, 4, 2), np.uint8)
    scipy.io.savemat(tmp_path / "a.mat", {"bits": bits}, do_compression=compress)
    sound = (tmp_path / "a.mat").read_bytes()
    for place in range(100, len(sound)):
        for value in (0, 255):
            (tmp_path / "b.mat").write_bytes(sound[:place] + bytes([value]) + sound[place + 1 :])
            with contextlib.suppress(ImageFileError):
                assert count_ones(tmp_path / "b.mat").ones.size > 0


def test_files_of_other_versions(tmp_path):
    scipy.io.savemat(tmp_path / "a.mat", {"bits": np.ones((4, 4))}, format="4")
    for content in ((tmp_path / "a.mat").read_bytes(), b"", b"MATLAB"):
        (tmp_path / "b.mat").write_bytes(content)
        with pytest.raises(ImageFileError, match="versions 5 to 7.3 are read"):
            count_ones(tmp_path / "b.mat")
