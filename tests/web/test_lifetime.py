"""What is there while the server runs, and what is left when it has ended."""

import os
import signal
import time
from pathlib import Path

import httpx
import numpy as np
import pytest

from web.serving import running

linux = pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at processes in /proc")


def children(pid):
    """Return the processes that a process has started."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            found.append(int(status.parent.name))
    return found


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@linux
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda s: s.name)
def test_workers_end_with_the_server(tmp_path, ending):
    with running(temporary=tmp_path) as (address, process), httpx.Client(base_url=address, timeout=60) as client:
        np.save(tmp_path / "a.npy", np.random.default_rng(0).random((500, 500)))
        with (tmp_path / "a.npy").open("rb") as stream:
            file = client.post("/api/files", files={"file": stream}).json()
        job = client.post(
            "/api/jobs", json={"file": file["id"], "task": {"kind": "denoise", "denoiser": "dsg-nlm"}}
        ).json()
        while client.get(f"/api/jobs/{job['id']}").json()["status"] == "queued":
            time.sleep(0.05)
        workers = children(process.pid)
        assert len(workers) >= 2
        assert list(tmp_path.glob("plugplay-serve-*/*"))
        with client.stream("GET", f"/api/jobs/{job['id']}/events") as events:
            next(events.iter_lines())  # somebody is watching
            process.send_signal(ending)
            process.wait(30)
    deadline = time.monotonic() + 30
    while any(map(alive, workers)):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    if ending != signal.SIGKILL:
        assert not list(tmp_path.glob("plugplay-serve-*"))


def test_leftovers_of_a_killed_server_are_removed_a_day_later(tmp_path):
    old, new, other = (tmp_path / name for name in ("plugplay-serve-old", "plugplay-serve-new", "another"))
    for folder in (old, new, other):
        folder.mkdir()
        (folder / "file").touch()
    for folder in (old, other):
        os.utime(folder, (time.time() - 90_000,) * 2)
    with running(temporary=tmp_path):
        assert not old.exists()
        assert new.exists()
        assert other.exists()


def test_worker_that_dies_is_replaced(server, client):
    file = client.post("/api/examples/noise").json()["file"]
    for worker in children(server[1].pid):
        os.kill(worker, signal.SIGKILL)
    for _ in range(3):  # the first question may meet the dead
        response = client.get(f"/api/files/{file['id']}/view")
        if response.status_code == 200:
            break
    assert response.status_code == 200


def test_other_addresses_get_a_token(tmp_path):
    with running("--host", "0.0.0.0", temporary=tmp_path) as (address, _):
        base, _, token = address.partition("/?token=")
        assert len(token) >= 24
        assert httpx.get(f"{base}/api").status_code == 401
        assert httpx.get(f"{base}/api", headers={"authorization": f"Bearer {token}"}).status_code == 200
