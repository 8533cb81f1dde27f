"""What made each output: shared by processes, right after every kill."""

import os
import subprocess
import sys

import numpy as np
import pytest

from plugplay import io
from plugplay.io import ImageFile
from plugplay.io.manifest import FILE_NAME, Finding, Manifest, code_digest, recipe_digest, stamp

RECIPE, OTHER = recipe_digest({}, {"noise": 0.1}), recipe_digest({}, {"noise": 0.2})


def test_the_recipe_depends_on_inputs_options_and_code(tmp_path, monkeypatch):
    assert recipe_digest({}, {"a": 1, "b": 2}) == recipe_digest({}, {"b": 2, "a": 1})
    assert RECIPE != OTHER
    (tmp_path / "in").write_text("x")
    before = recipe_digest({"in": stamp(tmp_path / "in")}, {})
    os.utime(tmp_path / "in", ns=(1, 1))
    assert recipe_digest({"in": stamp(tmp_path / "in")}, {}) != before
    assert stamp(tmp_path / "missing")["size"] is None
    monkeypatch.setattr("plugplay.__version__", "another")
    code_digest.cache_clear()
    assert recipe_digest({}, {"noise": 0.1}) != RECIPE
    monkeypatch.undo()
    code_digest.cache_clear()
    assert recipe_digest({}, {"noise": 0.1}) == RECIPE


def test_copies_are_recognised_and_changes_too(tmp_path):
    manifest, path = Manifest(tmp_path), tmp_path / "a.txt"
    path.write_text("one")
    assert manifest.find("a.txt", RECIPE) is Finding.FOREIGN
    manifest.record("a.txt", RECIPE, path)
    assert (manifest.find("a.txt", RECIPE), manifest.find("a.txt", OTHER)) == (Finding.SAME, Finding.OURS)
    os.utime(path, ns=(5, 5))  # copied to another disk and back
    assert manifest.find("a.txt", RECIPE) is Finding.SAME
    path.write_text("two")  # of the same size
    assert manifest.find("a.txt", RECIPE) is Finding.FOREIGN
    path.unlink()
    assert manifest.find("a.txt", RECIPE) is Finding.ABSENT
    path.symlink_to(tmp_path / "nowhere")
    assert manifest.find("a.txt", RECIPE) is Finding.FOREIGN


def test_a_kill_at_any_moment_leaves_no_output_without_its_line(tmp_path):
    """`record` comes before the new name: until then the old output counts, from then on the new one."""
    manifest, path = Manifest(tmp_path), tmp_path / "a.npy"

    class KilledError(Exception):
        pass

    def kill(temporary):
        manifest.record("a.npy", OTHER, temporary)
        raise KilledError

    io.write(path, ImageFile.of(np.zeros((2, 2))), ready=lambda complete: manifest.record("a.npy", RECIPE, complete))
    assert manifest.find("a.npy", RECIPE) is Finding.SAME
    with pytest.raises(io.ImageFileError):
        io.write(path, ImageFile.of(np.ones((2, 2))), ready=kill)
    assert Manifest(tmp_path).find("a.npy", RECIPE) is Finding.SAME
    assert Manifest(tmp_path).find("a.npy", OTHER) is Finding.OURS


def test_lines_that_were_cut_short_do_no_harm(tmp_path):
    (tmp_path / "a.txt").write_text("one")
    Manifest(tmp_path).record("a.txt", RECIPE, tmp_path / "a.txt")
    lines = tmp_path / FILE_NAME
    content = lines.read_bytes()
    for rubbish in (content[: len(content) // 2], b"\xff\xfe", b'{"name": 3}\n', b"[1]\n", b'{"name": ["a"]}\n'):
        lines.write_bytes(rubbish)
        manifest = Manifest(tmp_path)
        assert manifest.find("a.txt", RECIPE) is Finding.FOREIGN
        manifest.record("a.txt", RECIPE, tmp_path / "a.txt")
        assert manifest.find("a.txt", RECIPE) is Finding.SAME
        assert Manifest(tmp_path).find("a.txt", RECIPE) is Finding.SAME


def test_processes_share_a_manifest(tmp_path):
    code = (
        "import sys, pathlib\n"
        "from plugplay.io.manifest import Manifest\n"
        "folder, who = pathlib.Path(sys.argv[1]), sys.argv[2]\n"
        "for number in range(50):\n"
        "    path = folder / f'{who}-{number}'\n"
        "    path.write_text(who * number)\n"
        "    Manifest(folder).record(path.name, 'recipe', path)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    processes = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path), who], env=environment) for who in "abcd"]
    assert [process.wait(60) for process in processes] == [0] * 4
    manifest = Manifest(tmp_path)
    names = [f"{who}-{number}" for who in "abcd" for number in range(50)]
    assert all(manifest.find(name, "recipe") is Finding.SAME for name in names)


def test_what_others_append_is_seen(tmp_path):
    (tmp_path / "a\n\x1b\udcff.txt").write_text("one")
    watching = Manifest(tmp_path)
    assert watching.find("a\n\x1b\udcff.txt", RECIPE) is Finding.FOREIGN
    Manifest(tmp_path).record("a\n\x1b\udcff.txt", RECIPE, tmp_path / "a\n\x1b\udcff.txt")
    assert watching.find("a\n\x1b\udcff.txt", RECIPE) is Finding.SAME
