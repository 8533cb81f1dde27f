"""Executors: the same values from all of them, whatever happens to their workers."""

import hashlib
import os
import pickle
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from plugplay import io
from plugplay.cli.image_verbs import Denoise
from plugplay.cli.jobs import Job
from plugplay.cli.planning import Settings
from plugplay.cli.sinks import Sink
from plugplay.cli.tasks import Task
from plugplay.scale import Adaptive, Processes, Serial, executor
from tests.scale import tasks


def test_values_errors_and_threads():
    ended = list(Processes(2, threads=3).map(tasks.square, [1, -2, 3, 4]))
    assert sorted(end.item for end in ended) == [-2, 1, 3, 4]
    by_item = {end.item: end for end in ended}
    assert by_item[-2].error == "-2 is negative"
    assert [by_item[item].value[:3] for item in (1, 3, 4)] == [(1, 3, "3"), (9, 3, "3"), (16, 3, "3")]
    pids = {end.value[3] for end in ended if end.value}
    assert os.getpid() not in pids
    assert len(pids) <= 2
    assert not any(_alive(pid) for pid in pids)


def test_a_poison_task_is_given_up_and_the_rest_is_done():
    ended = {end.item: end for end in Processes(2).map(tasks.poison, range(6))}
    assert [ended[item].value for item in (0, 1, 2, 4, 5)] == [0, 1, 2, 4, 5]
    assert ended[3].error == "its worker was killed 3 times, possibly out of memory; given up"


def test_a_task_whose_worker_was_killed_is_done_again(tmp_path):
    (ended,) = Processes(1).map(tasks.once_deadly, [str(tmp_path / "mark")])
    assert (ended.value, ended.error) == ("killed", None)


def test_memory_bounds_what_runs_side_by_side(tmp_path):
    log = tmp_path / "log"
    items = [(str(log), name) for name in "abcd"]
    assert len(list(Processes(2, memory=100).map(tasks.overlap, items, needs=lambda item: 60))) == 4
    words = log.read_text().split()
    assert words == [sign + name for name in "abcd" for sign in "+-"]  # one at a time, although there are two workers


def test_what_cannot_be_sent_is_said():
    (ended,) = Processes(1).map(tasks.square, [lambda: None])
    assert ended.error.startswith("it cannot be sent to a worker (")


def test_workers_end_with_whoever_started_them(tmp_path):
    mark = tmp_path / "pid"
    script = (
        "from plugplay.scale import Processes; from tests.scale import tasks\n"
        f"if __name__ == '__main__': list(Processes(1).map(tasks.announce, [{str(mark)!r}]))"
    )
    (tmp_path / "script.py").write_text(script)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen([sys.executable, str(tmp_path / "script.py")], env=environment)
    pid = _awaited(lambda: int(mark.read_text() or 0) if mark.exists() else 0)
    process.kill()
    process.wait()
    assert _awaited(lambda: not _alive(pid))


def test_small_tasks_go_side_by_side_and_large_ones_get_all_threads():
    needs = {item: 2**20 if item < 9 else 2**40 for item in range(11)}
    ended = {end.item: end.value for end in Adaptive(2).map(tasks.square, range(11), needs=needs.get)}
    assert all(ended[item][1] == 1 and ended[item][3] != os.getpid() for item in range(9))
    assert all(ended[item][1] == 2 and ended[item][3] == os.getpid() for item in (9, 10))
    few = list(Adaptive(2).map(tasks.square, range(3), needs=needs.get))
    assert {end.value[3] for end in few} == {os.getpid()}


@pytest.mark.parametrize(
    "text",
    ["slurm", "processes:", "processes:0", "processes:x", "serial:2", "dask:-1", "tcp://", "tcp://host", "tcp://:1"],
)
def test_unknown_executors(text):
    if text == "processes:":
        assert isinstance(executor(text), Processes)
    else:
        with pytest.raises(
            ValueError, match="unknown executor|a number of workers is needed|a scheduler is named by its host and port"
        ):
            executor(text)


def test_names():
    assert isinstance(executor(None), Adaptive)
    assert executor("serial", workers=2) == Serial(2)
    assert executor("processes:3", memory=5) == Processes(3, None, 5)


def test_a_folder_by_processes_has_the_bits_of_one_by_one(run, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for number in range(9):  # enough for workers by default
        io.write(folder / f"{number}.png", io.ImageFile.of(rng.integers(0, 255, (20, 30 + number), np.uint8)))
    (folder / "bad.png").write_bytes(b"rubbish")
    words = ("denoise", folder, "--denoiser", "gaussian", "--noise", "20/255")
    hashes = {}
    for on in ("serial", "processes:2"):
        done = run(*words, "-o", tmp_path / on, "--on", on, "--memory", "1G")
        assert done.returncode == 1
        assert "9 restored, 0 skipped, 1 failed" in done.stdout
        assert "bad.png is not an image file" in done.stderr
        hashes[on] = [hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted((tmp_path / on).glob("*.png"))]
    assert len(hashes["serial"]) == 9
    assert hashes["serial"] == hashes["processes:2"]
    again = run(*words, "-o", tmp_path / "serial", "--on", "serial")
    assert "0 restored, 9 skipped, 1 failed" in again.stdout
    for option, value in (("--on", "nowhere"), ("--memory", "plenty")):
        refused = run(*words, "-o", tmp_path / "x", option, value)
        assert (refused.returncode, refused.stderr.startswith(f"plugplay: {option}: ")) == (2, True)


def test_what_a_worker_notices_is_told_by_whoever_sent_it(tmp_path, capsys):
    flat = np.random.default_rng(0).integers(100, 110, (32, 32), np.uint8)  # does not fill its range
    io.write(tmp_path / "y.png", io.ImageFile.of(flat))
    task = Task(Denoise(), Settings(denoiser="gaussian"), Sink())
    here, there = (Job(tmp_path / "y.png", tmp_path / name, Path("y.png")) for name in ("here.png", "there.png"))
    told = task(here, 1)
    assert told.warnings
    assert not told.silent
    assert "warning: y.png: " in capsys.readouterr().err
    sent = pickle.loads(pickle.dumps(task))(there, 1)
    assert (sent.warnings, sent.silent) == (told.warnings, True)
    assert capsys.readouterr() == ("", "")


def _alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat") as stream:  # noqa: PTH123
        return stream.read().rpartition(")")[2].split()[0] != "Z"


def _awaited(condition):
    while not (found := condition()):  # pytest's own limit ends it
        time.sleep(0.05)
    return found
