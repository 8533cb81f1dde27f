"""Dask: a cluster of local workers, and schedulers that do not answer."""

import hashlib
import os
import socket
from dataclasses import replace

import numpy as np
import pytest

from tests.scale import tasks

distributed = pytest.importorskip("distributed")

import dask  # noqa: E402

import plugplay as pp  # noqa: E402
from plugplay.scale import Dask, LostSchedulerError, Processes, Serial, cluster, executor  # noqa: E402
from plugplay.scale.stores import opened  # noqa: E402
from plugplay.scale.whole import Parts  # noqa: E402

# Dask's own threads and sockets are closed when it likes.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def client():
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=0, processes=True
        ) as local,
        distributed.Client(local, set_as_default=False) as client,
    ):
        client.run(os.environ.update, {"OPENBLAS_NUM_THREADS": "1"})
        yield client


def test_values_errors_and_threads(client):
    ended = {end.item: end for end in Dask(client).map(tasks.square, [1, -2, 3])}
    assert ended[-2].error == "-2 is negative"
    assert [ended[item].value[:2] for item in (1, 3)] == [(1, 1), (9, 1)]
    assert os.getpid() not in {ended[item].value[3] for item in (1, 3)}


def test_a_task_whose_worker_was_killed_is_done_again(client, tmp_path):
    items = [str(tmp_path / name) for name in "ab"]
    assert [end.value for end in Dask(client).map(tasks.once_deadly, items)] == ["killed"] * 2


def test_tiles_have_the_same_bits_wherever_they_are_restored(client, tmp_path):
    y = np.random.default_rng(0).random((130, 100), np.float32)
    pytest.importorskip("zarr").create_array(str(tmp_path / "y.zarr"), data=y, chunks=(32, 32))
    model = pp.models.Deblurring(pp.kernels.gaussian(5, sigma=1.0))
    options = {"denoiser": "gaussian", "noise": 0.05, "max_iter": 3}
    parts = Parts.of(opened(tmp_path / "y.zarr"), tmp_path / "x.npy", model, options, core=64)
    assert len(parts.grid) == 6
    found = {}
    for crew in (Serial(2), Processes(2), Dask(client)):
        target = tmp_path / f"{type(crew).__name__}.npy"
        replace(parts, target=target).run(crew, "0" * 64)
        found[target.stem] = hashlib.sha256(target.read_bytes()).hexdigest()
    assert found["Serial"] == found["Processes"] == found["Dask"]


def test_other_versions_are_refused(client, monkeypatch):
    ours = cluster._versions()
    monkeypatch.setattr(cluster, "_versions", _older)
    monkeypatch.setattr(client, "run", lambda function: {"tcp://worker": ours})
    with pytest.raises(LostSchedulerError, match=r"has dask .*, but here it is 0\.1; install the same version there"):
        list(Dask(client).map(tasks.square, [1]))


def _older():
    return {name: "0.1" if name == "dask" else version for name, version in VERSIONS.items()}


VERSIONS = cluster._versions()


def test_a_poison_task_is_given_up_and_the_rest_is_done(client):
    ended = {end.item: end for end in Dask(client).map(tasks.poison, [2, 3, 4])}
    assert [ended[item].value for item in (2, 4)] == [2, 4]
    assert ended[3].error == "its worker was killed 3 times, possibly out of memory; given up"


def test_a_scheduler_that_goes_away_or_has_no_workers(monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE", 0.2)
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as local,
        distributed.Client(local, set_as_default=False) as client,
    ):
        ends = Dask(client, threads=1).map(tasks.plus_one, range(9))
        assert next(ends).value == 1
        local.close()
        with pytest.raises(LostSchedulerError, match="went away; what is finished is kept: start it again, and rerun"):
            list(ends)
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=None) as local,
        distributed.Client(local, set_as_default=False) as client,
        pytest.raises(LostSchedulerError, match="has no workers; start some with: dask worker inproc://"),
    ):
        list(Dask(client).map(tasks.plus_one, [1]))


def test_a_scheduler_that_does_not_answer(monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE", 0.5)
    with socket.socket() as deaf:  # somebody listens, and says nothing
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        address = f"tcp://127.0.0.1:{deaf.getsockname()[1]}"
        with pytest.raises(LostSchedulerError, match=f"no Dask scheduler answers at {address} within 0.5 s"):
            list(executor(address).map(tasks.square, [1]))
    with pytest.raises(LostSchedulerError, match="no Dask scheduler answers"):
        list(executor("tcp://127.0.0.1:1").map(tasks.square, [1]))
