"""What may be opened, what must not be overwritten, and names that no terminal should see."""

import os
import socket
import sys

import numpy as np
import pytest

from plugplay import io
from plugplay.io import ImageFileError, check_targets, printable, same_file
from plugplay.io.photons import count_ones

posix = pytest.mark.skipif(os.name != "posix", reason="pipes and devices are POSIX's")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("plain name.png", "plain name.png"),
        ("Zürich-東京-🙂.png", "Zürich-東京-🙂.png"),
        ("two\nlines\r.png", r"two\nlines\r.png"),
        ("\x1b]0;title\x07\x1b[2J.png", r"\x1b]0;title\x07\x1b[2J.png"),
        ("\x9b31m", r"\x9b31m"),
        ("bytes\udcff.png", r"bytes\udcff.png"),
        ("right\u202eto left", r"right\u202eto left"),
        ("line\u2028separator", r"line\u2028separator"),
        (b"raw\xff", r"raw\udcff"),
    ],
)
def test_every_name_can_be_printed(name, shown):
    assert printable(name) == shown
    printable(name).encode("utf-8")
    assert printable(name, encoding="ascii").isascii()


@posix
@pytest.mark.parametrize("name", ["new\nline", "esc\x1b[31m", "bytes\udcff"])
def test_errors_and_warnings_show_names_escaped(tmp_path, name):
    path = tmp_path / f"{name}.png"
    path.write_bytes(b"nonsense")
    for call in (lambda: io.read(path), lambda: io.read(tmp_path / f"{name}.tif"), lambda: count_ones(path)):
        with pytest.raises(ImageFileError) as caught:
            call()
        assert printable(name) in str(caught.value)
        assert str(caught.value).isprintable()
    with pytest.warns(io.ImageLossWarning) as warned:
        io.write(tmp_path / f"{name}.jpg", io.ImageFile.of(np.zeros((4, 4), np.uint16)))
    assert str(warned[0].message).isprintable()


@posix
def test_what_is_no_file_is_refused_and_never_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.png")
    (tmp_path / "loop.png").symlink_to(tmp_path / "loop.png")
    (tmp_path / "link.png").symlink_to(tmp_path / "pipe.png")
    (tmp_path / "null.png").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket.png"))
        kinds = {
            "pipe": "a pipe",
            "loop": "a link to itself",
            "link": "a pipe",
            "null": "a device",
            "socket": "a socket",
        }
        for name, kind in kinds.items():
            for reader in (io.read, count_ones, io.load_arrays):
                with pytest.raises(ImageFileError, match=f"{name}.png: .*{kind}") as caught:
                    reader(tmp_path / f"{name}.png")
                assert "\n" not in str(caught.value)


@posix
def test_one_file_under_many_names(tmp_path):
    file = tmp_path / "a.png"
    file.touch()
    (tmp_path / "soft.png").symlink_to(file)
    os.link(file, tmp_path / "hard.png")
    (tmp_path / "dangling.png").symlink_to(tmp_path / "new.png")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "sub").mkdir()
    for name in ("a.png", "soft.png", "hard.png", "sub/../a.png", "./a.png"):
        assert same_file(file, tmp_path / name)
    assert same_file(tmp_path / "dangling.png", tmp_path / "new.png")
    assert same_file(tmp_path / "new.png", tmp_path / "NEW.png")  # neither is there: on some disks they are one
    assert same_file(tmp_path / "é.png", tmp_path / "e\u0301.png")
    for name in ("b.png", "loop", "loop/a.png", "sub"):
        assert not same_file(file, tmp_path / name)
    assert not same_file("a\0", file)


def test_nothing_is_written_over_what_is_read_or_written(tmp_path):
    source, result = tmp_path / "p.png", tmp_path / "q.png"
    source.touch()
    check_targets({"the result": result, "--plot": tmp_path / "r.png"}, {"the input": source})
    for targets, message in (
        ({"the result": source}, "the result is the same file as the input, .*p.png"),
        ({"the result": result, "--plot": source}, "--plot is the same file as the input"),
        ({"the result": result, "--plot": result}, "the result is the same file as --plot"),
    ):
        with pytest.raises(ImageFileError, match=message):
            check_targets(targets, {"the input": source, "--mask": tmp_path / "m.png"})


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the disk may not tell cases apart")
def test_names_that_differ_in_case_are_two_files_where_the_disk_says_so(tmp_path):
    (tmp_path / "a.png").touch()
    assert not same_file(tmp_path / "a.png", tmp_path / "A.png")
