"""The compile cache: copies of the package are run in processes of their own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import plugplay

# A kernel that compiles in no time stands for the real ones.
PROBE = """
from plugplay.denoisers.bm3d import probe
print(probe.double(21), "hit" if probe.double.stats.cache_hits else "miss")
"""
KERNEL = """
from plugplay.denoisers.compiling import kernel
from plugplay.denoisers.bm3d.helper import factor

@kernel
def double(x):
    return factor() * x
"""
HELPER = """
from plugplay.denoisers.compiling import inline

@inline
def factor():
    return {}
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

    def run(**environment):
        kept = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
        kept |= {"PYTHONPATH": str(tmp_path / "site"), "HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": ""}
        done = subprocess.run(
            [sys.executable, "-c", PROBE], env=kept | environment, capture_output=True, text=True, check=True
        )
        return done.stdout.split(), done.stderr

    run.folder = folder
    run.root = tmp_path
    return run


def make_read_only(folder):
    # A file in the place of the directory stops even the superuser, who may write anywhere.
    shutil.rmtree(folder / "__pycache__", ignore_errors=True)
    (folder / "__pycache__").write_text("")


def test_second_process_loads_what_the_first_compiled(copy):
    (answer, found), message = copy()
    assert (answer, found) == ("42", "miss")
    assert message.count("compiling bm3d once, about 10 s") == 1
    assert list((copy.folder / "__pycache__").glob("*.nbc"))
    (answer, found), message = copy()
    assert (answer, found) == ("42", "hit")
    assert message == ""


def test_edit_of_a_helper_module_is_noticed(copy):
    copy()
    (copy.folder / "helper.py").write_text(HELPER.format(3))
    assert copy()[0] == ["63", "miss"]
    assert copy()[0] == ["63", "hit"]


def test_read_only_installation_uses_the_users_cache(copy):
    make_read_only(copy.folder)
    cache = copy.root / "cache"
    assert copy(XDG_CACHE_HOME=str(cache))[0] == ["42", "miss"]
    assert list(cache.rglob("*.nbc"))
    assert copy(XDG_CACHE_HOME=str(cache))[0] == ["42", "hit"]


def test_numba_cache_dir_is_honoured(copy):
    cache = copy.root / "elsewhere"
    assert copy(NUMBA_CACHE_DIR=str(cache))[0] == ["42", "miss"]
    assert list(cache.rglob("*.nbc"))
    assert copy(NUMBA_CACHE_DIR=str(cache))[0] == ["42", "hit"]


def test_works_where_nothing_can_be_written(copy):
    make_read_only(copy.folder)
    (copy.root / "file").write_text("")
    for _ in range(2):
        found, message = copy(XDG_CACHE_HOME=str(copy.root / "file" / "cache"))
        assert found == ["42", "miss"]
        assert message.count("NUMBA_CACHE_DIR") == 1


def test_broken_cache_files_are_replaced(copy):
    copy()
    for file in (copy.folder / "__pycache__").glob("*.nb?"):
        file.write_bytes(b"broken")
    assert copy()[0] == ["42", "miss"]
    assert copy()[0] == ["42", "hit"]
