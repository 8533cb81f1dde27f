"""A server for all tests of this folder, and files to send to it."""

import io as streams

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
httpx = pytest.importorskip("httpx")

from skimage import data  # noqa: E402

from plugplay import io  # noqa: E402
from web.serving import running  # noqa: E402


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    temporary = tmp_path_factory.mktemp("server")
    with running(temporary=temporary) as (address, process):
        yield address, process, temporary


@pytest.fixture
def client(server):
    with httpx.Client(base_url=server[0], timeout=120) as made:
        yield made


@pytest.fixture
def noisy(tmp_path):
    """A 16-bit gray image with noise, as a TIFF file."""
    path = tmp_path / "noisy image.tif"
    clean = data.camera()[100:164, 200:272] / 255
    pixels = clean + np.random.default_rng(0).normal(0, 0.05, clean.shape)
    io.write(path, io.ImageFile.of(np.rint(np.clip(pixels, 0, 1) * 65535).astype(np.uint16)))
    return path


@pytest.fixture
def upload(client):
    """Send a file, or an array as NPY, and return what the server found in it."""

    def send(source, role="image", name=None):
        if isinstance(source, np.ndarray):
            stream = streams.BytesIO()
            np.save(stream, source)
            content, name = stream.getvalue(), name or "array.npy"
        else:
            content, name = source.read_bytes(), name or source.name
        response = client.post("/api/files", params={"role": role}, files={"file": (name, content)})
        assert response.status_code == 201, response.text
        return response.json()

    return send


@pytest.fixture
def finished(client):
    """Start a job and wait for its end, by its events."""
    import json

    def run(file, task):
        started = client.post("/api/jobs", json={"file": file["id"], "task": task})
        assert started.status_code == 201, started.text
        record = None
        with client.stream("GET", f"/api/jobs/{started.json()['id']}/events") as events:
            for line in events.iter_lines():
                if line.startswith("data: "):
                    record = json.loads(line[6:])
        return record

    return run
