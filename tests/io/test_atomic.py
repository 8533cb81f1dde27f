"""Writing: complete or not at all, whatever happens; and nothing stays behind."""

import os
import secrets
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from plugplay import io
from plugplay.io import ImageFile, ImageFileError, atomic, sweep

posix = pytest.mark.skipif(os.name != "posix", reason="needs fork, signals and modes")
NAMES = ("a.png", "a.jpg", "a.webp", "a.tif", "a.fits", "a.npy", "a.npz")

# Children are killed at the n-th call that can change the disk, until one gets through.
KILLED = """
import os, sys
from pathlib import Path
import numpy as np
from plugplay import io
import plugplay.io.atomic

folder = Path(sys.argv[1])
names = sys.argv[2:]
image = io.ImageFile.of(np.full((8, 8), 7, np.uint8))

def killed_at(n, path):
    calls = 0
    def counted(function):
        def wrapper(*arguments, **options):
            nonlocal calls
            calls += 1
            if calls == n:
                os._exit(9)
            return function(*arguments, **options)
        return wrapper
    for name in ("open", "close", "fsync", "replace", "unlink", "chmod"):
        setattr(os, name, counted(getattr(os, name)))
    Path.open = counted(Path.open)
    io.write(path, image)
    os._exit(0)

for name in names:
    path = folder / name
    io.write(path, io.ImageFile.of(np.full((8, 8), 3, np.uint8)))  # which imports the encoder, for all the children
    old = path.read_bytes()
    n, code, seen = 0, 9, set()
    while code == 9:
        n += 1
        child = os.fork()
        if child == 0:
            killed_at(n, path)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        now = path.read_bytes()
        seen.add("old" if now == old else "new" if io.read(path).pages[0].max() in (6, 7, 8) else "broken")
    print(name, n, code, *sorted(seen))
"""


def image(value=7, shape=(8, 8)):
    return ImageFile.of(np.full(shape, value, np.uint8))


@posix
def test_a_kill_at_any_write_leaves_the_old_file_or_the_new_one(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path), *NAMES],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(io.__file__).parents[2])},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [line[0] for line in lines] == list(NAMES)
    for _, points, code, *seen in lines:
        assert int(points) >= 5  # create, open, flush, rename, flush the folder
        assert (code, seen) == ("0", ["new", "old"])
    assert len(list(tmp_path.iterdir())) > len(NAMES)  # the kills left something
    atomic.__wrapped__.__globals__["_sweep_once"].cache_clear()
    io.write(tmp_path / "next.png", image())
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*NAMES, "next.png"])


@posix
def test_contents_are_on_the_disk_before_the_name_changes(tmp_path, monkeypatch):
    events = []
    fsync, replace = os.fsync, os.replace

    def flushed(handle):
        events.append(("flush", os.fstat(handle).st_ino, os.fstat(handle).st_size))
        fsync(handle)

    def renamed(source, target):
        events.append(("rename", Path(source).stat().st_ino))
        replace(source, target)

    monkeypatch.setattr(os, "fsync", flushed)
    monkeypatch.setattr(os, "replace", renamed)
    monkeypatch.setattr(os, "rename", renamed)
    io.write(tmp_path / "a.npy", image())
    file, folder = (tmp_path / "a.npy").stat(), tmp_path.stat()
    assert [event[:2] for event in events] == [
        ("flush", file.st_ino),
        ("rename", file.st_ino),
        ("flush", folder.st_ino),
    ]
    assert events[0][2] == file.st_size


def test_nothing_is_created_before_everything_is_encoded(tmp_path, monkeypatch):
    seen = []
    encode = np.save
    monkeypatch.setattr(np, "save", lambda *a, **k: (seen.append(list(tmp_path.iterdir())), encode(*a, **k)))
    io.write(tmp_path / "a.npy", image())
    assert seen == [[]]


def test_large_images_are_encoded_into_the_temporary_file(tmp_path, monkeypatch):
    monkeypatch.setattr("plugplay.io.files.MAX_ENCODED_IN_MEMORY", 10)
    for name in NAMES:
        io.write(tmp_path / name, image())
        assert abs(int(io.read(tmp_path / name).pages[0].max()) - 7) <= 1
    assert len(list(tmp_path.iterdir())) == len(NAMES)


@posix
@pytest.mark.parametrize("umask", [0o022, 0o027, 0o077])
def test_modes_follow_the_umask_or_the_file_that_is_replaced(tmp_path, umask):
    before = os.umask(umask)
    try:
        io.write(tmp_path / "new.png", image())
        (tmp_path / "old.png").touch(0o640)
        (tmp_path / "old.png").chmod(0o604)
        io.write(tmp_path / "old.png", image())
        io.save_arrays(tmp_path / "state.npz", {"x": np.eye(2)})
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert modes == {"new.png": 0o666 & ~umask, "old.png": 0o604, "state.npz": 0o666 & ~umask}


@posix
def test_only_leftovers_are_swept(tmp_path):
    def named(host, process):
        path = tmp_path / f".plugplay-{host}-{process}-{secrets.token_hex(6)}.png"
        path.touch()
        return path

    with atomic(tmp_path / "own.png") as temporary:
        host = temporary.name.split("-")[1]
        child = subprocess.Popen([sys.executable, "-c", ""])
        child.wait()
        dead, elsewhere, old = named(host, child.pid), named("0" * 8, 1), named("0" * 8, 1)
        reused = named(host, os.getpid())
        ours = named(host, os.getpid())
        now = time.time()
        os.utime(old, (now - 2 * 3600,) * 2)
        os.utime(reused, (now - 2 * 86400,) * 2)
        foreign = tmp_path / ".plugplay-notes.txt"
        foreign.touch()
        assert set(sweep(tmp_path)) == {dead, old, reused}
        assert {temporary, elsewhere, ours, foreign} == set(tmp_path.iterdir())
    assert sweep(tmp_path / "missing") == []


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    import errno

    io.write(tmp_path / "a.png", image(3))
    old = (tmp_path / "a.png").read_bytes()

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ImageFileError, match="cannot be written .No space left on device"):
        io.write(tmp_path / "a.png", image())
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]
    assert (tmp_path / "a.png").read_bytes() == old


def test_a_folder_that_is_no_folder(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ImageFileError, match="cannot be written"):
        io.write(tmp_path / "file" / "a.png", image())


@posix
def test_pipes_and_devices_are_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe.png")
    (tmp_path / "null.png").symlink_to("/dev/null")
    for name in ("pipe.png", "null.png"):
        with pytest.raises(ImageFileError, match="cannot be written .it exists and is not a file"):
            io.write(tmp_path / name, image())
    with pytest.raises(FileExistsError), atomic(tmp_path):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == ["null.png", "pipe.png"]
    assert (tmp_path / "pipe.png").is_fifo()


@pytest.mark.parametrize("name", ["ü" * 120 + ".png", "a" * 251 + ".npy", "x.png"])
def test_names_of_any_length(tmp_path, name):
    io.write(tmp_path / name, image())
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_memory_does_not_grow_with_the_number_of_files(tmp_path):
    import tracemalloc

    def work():
        for name in NAMES:
            io.write(tmp_path / name, image(shape=(64, 64)))
            io.read(tmp_path / name)

    work()
    tracemalloc.start()
    try:
        work()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(9):
            work()
        growth = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert growth / (9 * len(NAMES)) < 20_000  # bytes a file
