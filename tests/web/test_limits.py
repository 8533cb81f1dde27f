"""Too large, too slow, too many, aborted: the server goes on, and nothing is left behind."""

import asyncio
import contextlib
import io as streams
import json
import socket
import threading
import time

import httpx
import numpy as np
import pytest
import uvicorn

from plugplay.web.app import create_app, loopback_hosts
from plugplay.web.uploads import Limits

LIMITS = Limits(upload_bytes=200_000, stored_bytes=3_000_000, stored_files=40, quiet_seconds=1.0, waiting_jobs=2)


@pytest.fixture(scope="module")
def small():
    """Give the address of a server with small limits, and its service."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    app = create_app(hosts=loopback_hosts(port), limits=LIMITS)
    config = uvicorn.Config(app, log_level="warning", lifespan="on", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    server.install_signal_handlers = lambda: None
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    assert server.started
    yield f"127.0.0.1:{port}", app.state.service
    server.should_exit = True
    thread.join()
    assert not app.state.service.files.root.exists()


def array(side):
    stream = streams.BytesIO()
    np.save(stream, np.random.default_rng(0).random((side, side)).astype(np.float32))
    return stream.getvalue()


def stored(service):
    return sorted(path for path in service.files.root.rglob("*") if path.is_file())


def test_declared_size_is_refused_before_anything_is_read(small):
    host, port = small[0].split(":")
    with socket.create_connection((host, int(port)), timeout=20) as line:
        head = f"POST /api/files HTTP/1.1\r\nHost: {small[0]}\r\nContent-Length: 99999999\r\n"
        line.sendall((head + "Content-Type: multipart/form-data; boundary=x\r\n\r\n").encode())
        assert b" 413 " in line.recv(4096).split(b"\r\n")[0]


def test_size_that_is_not_declared_is_measured(small):
    def endless():
        yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.npy"\r\n\r\n'
        for _ in range(1000):
            yield b"0" * 10_000

    headers = {"content-type": "multipart/form-data; boundary=x"}
    before = stored(small[1])
    with contextlib.suppress(httpx.WriteError):  # the server may close before all is sent
        response = httpx.post(f"http://{small[0]}/api/files", content=endless(), headers=headers, timeout=30)
        assert response.status_code == 413
    assert stored(small[1]) == before


def test_client_that_stops_sending_is_given_up(small):
    host, port = small[0].split(":")
    with socket.create_connection((host, int(port)), timeout=30) as line:
        head = f"POST /api/files HTTP/1.1\r\nHost: {small[0]}\r\nContent-Length: 1000\r\n"
        line.sendall((head + "Content-Type: multipart/form-data; boundary=x\r\n\r\n--x\r\n").encode())
        assert b" 408 " in line.recv(4096).split(b"\r\n")[0]


def test_simultaneous_and_aborted_uploads(small):
    address, service = small
    content = array(60)

    async def go():
        async with httpx.AsyncClient(base_url=f"http://{address}", timeout=120) as client:

            async def send():
                response = await client.post("/api/files", files={"file": ("a.npy", content)})
                assert response.status_code == 201
                return response.json()["id"]

            async def abort():
                _, writer = await asyncio.open_connection(*address.split(":"))
                head = f"POST /api/files HTTP/1.1\r\nHost: {address}\r\nContent-Length: 90000\r\n"
                part = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.npy"\r\n\r\n' + "0" * 5000
                writer.write((head + "Content-Type: multipart/form-data; boundary=x\r\n\r\n" + part).encode())
                await writer.drain()
                writer.close()
                await writer.wait_closed()

            sent = await asyncio.gather(*(send() for _ in range(8)), *(abort() for _ in range(8)))
            for identifier in sent[:8]:
                assert (await client.delete(f"/api/files/{identifier}")).status_code == 204

    before = stored(service)
    asyncio.run(go())
    assert stored(service) == before


def test_there_is_an_end_to_room_and_to_the_queue(small):
    address, service = small
    with httpx.Client(base_url=f"http://{address}", timeout=120) as client:
        content, kept = array(200), []
        for _ in range(40):
            response = client.post("/api/files", files={"file": ("a.npy", content)})
            if response.status_code != 201:
                break
            kept.append(response.json()["id"])
        assert response.status_code in (413, 507)
        assert 10 < len(kept) < 20
        task = {"kind": "denoise", "denoiser": "dsg-nlm", "noise": 0.1}
        started = [client.post("/api/jobs", json={"file": kept[0], "task": task}) for _ in range(8)]
        assert 429 in [response.status_code for response in started]
        for response in started:
            if response.status_code == 201:
                assert client.post(f"/api/jobs/{response.json()['id']}/cancel").status_code == 200
                assert client.delete(f"/api/jobs/{response.json()['id']}").status_code == 204
        for identifier in kept:
            assert client.delete(f"/api/files/{identifier}").status_code == 204
    assert stored(service) == []


def test_what_nobody_asks_for_is_swept_after_a_day(small):
    address, service = small
    with httpx.Client(base_url=f"http://{address}", timeout=60) as client:
        file = client.post("/api/files", files={"file": ("a.npy", array(20))}).json()
        task = {"kind": "denoise", "denoiser": "tv", "noise": 0.1}
        job = client.post("/api/jobs", json={"file": file["id"], "task": task}).json()
        with client.stream("GET", f"/api/jobs/{job['id']}/events") as events:
            last = [json.loads(line[6:]) for line in events.iter_lines() if line.startswith("data: ")][-1]
        assert last["status"] == "done"
        now = time.time()
        for later, there in ((23 * 3600, True), (25 * 3600, False)):
            service.jobs.sweep(now + later)
            service.files.sweep(now + later, service.jobs.files_in_use())
            assert (client.get(f"/api/jobs/{job['id']}").status_code == 200) is there
    assert stored(service) == []


def test_companions_without_an_image_are_not_kept(small):
    address, service = small
    before = stored(service)
    files = {"mask": ("mask.npy", array(20)), "reference": ("true.npy", array(20))}
    response = httpx.post(f"http://{address}/api/jobs", files=files, data={"task": '{"kind": "denoise"}'}, timeout=60)
    assert (response.status_code, response.json()["error"]["field"]) == (422, "image")
    assert stored(service) == before


def test_files_that_came_with_a_job_go_with_it(small):
    address, service = small
    before = stored(service)
    with httpx.Client(base_url=f"http://{address}", timeout=60) as client:
        files = {"image": ("a.npy", array(20)), "reference": ("true.npy", array(20))}
        job = client.post("/api/jobs", files=files, data={"task": '{"kind": "denoise", "denoiser": "tv"}'}).json()
        client.post(f"/api/jobs/{job['id']}/cancel")
        assert client.delete(f"/api/jobs/{job['id']}").status_code == 204
    assert stored(service) == before
