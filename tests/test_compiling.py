"""The compile cache: copies of the package are run in processes of their own, killed, starved and deceived."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import plugplay

posix = pytest.mark.skipif(os.name != "posix", reason="owners and modes are POSIX's")

# A kernel that compiles in no time stands for the real ones.
PROBE = """
from plugplay.denoisers.bm3d import probe
print(probe.double(21), "hit" if probe.double.stats.cache_hits else "miss")
"""
KERNEL = """
from plugplay.compiling import kernel
from plugplay.denoisers.bm3d.helper import factor

@kernel
def double(x):
    return factor() * x
"""
HELPER = """
from plugplay.compiling import inline

@inline
def factor():
    return {}
"""
# Forked children compile and are killed at the n-th call that touches the disk; others look at what they left.
KILLS = """
import os, sys
from pathlib import Path
from plugplay.denoisers.bm3d import probe

def in_child(work):
    child = os.fork()
    if child == 0:
        work()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def killed_at(n):
    calls = 0
    def counted(function):
        def wrapper(*arguments, **options):
            nonlocal calls
            calls += 1
            if calls == n:
                os._exit(9)
            return function(*arguments, **options)
        return wrapper
    for name in ("open", "fsync", "replace"):
        setattr(os, name, counted(getattr(os, name)))
    Path.write_bytes = counted(Path.write_bytes)
    assert probe.double(21) == 42

def look():
    assert probe.double(21) == 42

import numba
numba.njit(lambda x: x + 1)(1)  # once for all the children: what every first compilation sets up
n, code = 0, 9
while code == 9:
    n += 1
    code = in_child(lambda: killed_at(n))
    assert in_child(look) == 0, n
    for file in (Path(probe.__file__).parent / "__pycache__").glob("*.nbc"):
        file.unlink()
left = [f.name for f in (Path(probe.__file__).parent / "__pycache__").iterdir() if f.name.startswith(".plugplay")]
print(n, code, len(left))
"""
# Two processes wait for each other just before their files get their names.
MEETING = """
import os, sys, time
from pathlib import Path
from plugplay.denoisers.bm3d import probe
me, here, argument = sys.argv[1], Path(sys.argv[2]), eval(sys.argv[3])
replace = os.replace
def late(*arguments):
    (here / me).touch()
    while len(list(here.iterdir())) < int(sys.argv[4]):
        time.sleep(0.005)
    replace(*arguments)
os.replace = late
print(probe.double(argument))
"""


@pytest.fixture
def copy(tmp_path):
    """Return a function that runs the probe in a copy of the package."""
    source = Path(plugplay.__file__).parent
    package = tmp_path / "site" / "plugplay"
    shutil.copytree(source, package, ignore=shutil.ignore_patterns("__pycache__"))
    folder = package / "denoisers" / "bm3d"
    (folder / "__init__.py").write_text("")
    (folder / "probe.py").write_text(KERNEL)
    (folder / "helper.py").write_text(HELPER.format(2))

    def start(code, *arguments, **environment):
        kept = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
        kept |= {"PYTHONPATH": str(tmp_path / "site"), "HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": ""}
        return subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            env={k: v for k, v in (kept | environment).items() if v is not None},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
        )

    def run(code=PROBE, *arguments, **environment):
        process = start(code, *arguments, **environment)
        output, message = process.communicate(timeout=120)
        assert process.returncode == 0, message
        return output.split(), message

    run.start = start
    run.folder = folder
    run.root = tmp_path
    run.cache = folder / "__pycache__"
    return run


def make_read_only(folder):
    # A file in the place of the directory stops even the superuser, who may write anywhere.
    shutil.rmtree(folder / "__pycache__", ignore_errors=True)
    (folder / "__pycache__").write_text("")


def test_second_process_loads_what_the_first_compiled(copy):
    (answer, found), message = copy()
    assert (answer, found) == ("42", "miss")
    assert message.count("compiling bm3d once, about 15 s") == 1
    assert list(copy.cache.glob("*.nbc"))
    (answer, found), message = copy()
    assert (answer, found) == ("42", "hit")
    assert message == ""


def test_edit_of_a_helper_module_is_noticed_and_old_code_removed(copy):
    copy()
    before = set(copy.cache.glob("*.nb?"))
    (copy.folder / "helper.py").write_text(HELPER.format(3))
    assert copy()[0] == ["63", "miss"]
    assert copy()[0] == ["63", "hit"]
    after = set(copy.cache.glob("*.nb?"))
    assert len(before) == len(after) == 1
    assert not before & after  # the name depends on the sources, so that nothing old can be found under it


def test_read_only_installation_uses_the_users_cache(copy):
    make_read_only(copy.folder)
    cache = copy.root / "cache"
    assert copy(XDG_CACHE_HOME=str(cache))[0] == ["42", "miss"]
    assert list((cache / "plugplay").rglob("*.nbc"))
    assert copy(XDG_CACHE_HOME=str(cache))[0] == ["42", "hit"]


def test_numba_cache_dir_is_honoured(copy):
    cache = copy.root / "elsewhere"
    assert copy(NUMBA_CACHE_DIR=str(cache))[0] == ["42", "miss"]
    assert list(cache.rglob("*.nbc"))
    assert copy(NUMBA_CACHE_DIR=str(cache))[0] == ["42", "hit"]


def test_works_where_nothing_can_be_written(copy):
    make_read_only(copy.folder)
    (copy.root / "file").write_text("")
    for home in ({"XDG_CACHE_HOME": str(copy.root / "file" / "cache")}, {"HOME": str(copy.root / "file" / "none")}):
        found, message = copy(**home)
        assert found == ["42", "miss"]
        assert message.count("NUMBA_CACHE_DIR") == 1


def test_broken_cache_files_are_replaced(copy):
    copy()
    for damage in (b"broken", None):
        for file in copy.cache.glob("*.nb?"):
            content = bytearray(file.read_bytes())
            content[len(content) // 2] ^= 1  # one bit of machine code
            file.write_bytes(damage or content)
        assert copy()[0] == ["42", "miss"]
    assert copy()[0] == ["42", "hit"]


@posix
def test_a_kill_at_any_write_leaves_nothing_wrong(copy):
    (points, code, left), _ = copy(KILLS)
    assert int(points) > 5  # open, write, fsync, rename, the folder's fsync at least
    assert (code, left) == ("0", "0")  # the last one was not killed, and the leftovers of the others are gone


@posix
def test_cold_processes_that_compile_different_types_at_once(copy):
    copy.cache.mkdir()
    meeting = copy.root / "meeting"
    meeting.mkdir()
    arguments = ("21", "21.5", "21", "2.5j")  # two of them even write the same file
    started = [copy.start(MEETING, str(i), str(meeting), a, str(len(arguments))) for i, a in enumerate(arguments)]
    answers = [process.communicate(timeout=120) for process in started]
    assert [answer.strip() for answer, _ in answers] == ["42", "43.0", "42", "5j"], answers
    assert len(list(copy.cache.glob("*.nbc"))) == 3
    probe = PROBE.replace("probe.double(21)", "probe.double(21), probe.double(21.5), probe.double(2.5j)")
    assert copy(probe.replace("if probe", "if 3 == sum(probe").replace("hits else", "hits.values()) else"))[0] == [
        *("42", "43.0", "5j"),
        "hit",
    ]


def test_code_of_another_signature_counts_as_none(copy):
    copy()
    (integers,) = copy.cache.glob("*.nbc")
    copy(PROBE.replace("21", "21.5"))
    (floats,) = set(copy.cache.glob("*.nbc")) - {integers}
    shutil.copy(floats, integers)
    assert copy()[0] == ["42", "miss"]


@posix
@pytest.mark.parametrize("place", ["installation", "NUMBA_CACHE_DIR", "file"])
def test_caches_that_others_can_write_are_not_used(copy, place):
    options = {"NUMBA_CACHE_DIR": str(copy.root / "shared")} if place == "NUMBA_CACHE_DIR" else {}
    copy(**options)
    (kept,) = copy.root.rglob("*.nbc")
    trap = b"cos\nmkdir\n(S'" + str(copy.root / "executed").encode() + b"'\ntR."
    evil = hashlib.sha256(trap).digest() + trap
    kept.write_bytes(evil)
    (kept if place == "file" else kept.parent).chmod(0o666 if place == "file" else 0o777)
    found, message = copy(**options)
    assert found == ["42", "miss"]
    assert not (copy.root / "executed").exists()
    if place != "file":
        assert message.count("other users can write") == 1
        assert kept.read_bytes() == evil  # nor is anything kept there
    if place == "file":  # it is replaced by one that only its owner can write
        assert copy(**options)[0] == ["42", "hit"]


@posix
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_caches_of_others_are_not_used(copy):
    copy()
    (kept,) = copy.root.rglob("*.nbc")
    os.chown(kept.parent, 12345, -1)
    found, message = copy()
    assert found == ["42", "miss"]
    assert message.count("belongs to another user") == 1


def test_a_full_disk_costs_the_cache_only(copy):
    full = """
import errno
from pathlib import Path
def write_bytes(self, data):
    with self.open("wb") as stream:
        stream.write(data[:100])
    raise OSError(errno.ENOSPC, "No space left on device")
Path.write_bytes = write_bytes
"""
    assert copy(full + PROBE)[0] == ["42", "miss"]
    assert not [path for path in copy.cache.iterdir() if path.suffix != ".pyc"]
    assert copy()[0] == ["42", "miss"]
