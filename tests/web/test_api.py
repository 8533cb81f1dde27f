"""The HTTP interface as a script uses it."""

import io as streams
import json
import subprocess
import sys
import time

import numpy as np
import pytest
from PIL import Image
from skimage import data

from plugplay import io, kernels

SLOW = {"kind": "denoise", "denoiser": "dsg-nlm"}


def command(line, folder):
    """Run the command that the page shows, in a folder with the files."""
    import os
    import shlex

    from web.serving import SOURCE

    words = shlex.split(line)
    assert words[0] == "plugplay"
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    subprocess.run([sys.executable, "-m", "plugplay", *words[1:]], cwd=folder, env=environment, check=True)


def shown(response):
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "image/png"
    return np.asarray(Image.open(streams.BytesIO(response.content)))


@pytest.fixture
def reference(tmp_path):
    path = tmp_path / "true.png"
    io.write(path, io.ImageFile.of(data.camera()[100:164, 200:272]))
    return path


@pytest.mark.parametrize(
    "task",
    [
        {"kind": "denoise", "denoiser": "tv"},
        {"kind": "denoise", "denoiser": "tv", "noise": "5/255"},
        {"kind": "deblur", "kernel": "gaussian:0.8", "denoiser": "tv", "max_iter": 3},
        {"kind": "upscale", "factor": 2, "denoiser": "tv", "max_iter": 3},
    ],
    ids=lambda task: task["kind"],
)
def test_result_is_that_of_the_command_line_and_of_python(client, upload, finished, noisy, task):
    job = finished(upload(noisy), task)
    assert job["status"] == "done", job["error"]
    result = client.get(f"/api/jobs/{job['id']}/result")
    assert "noisy%20image-restored.tif" in result.headers["content-disposition"]
    written = noisy.parent / job["output"]
    command(job["command"], noisy.parent)
    assert result.content == written.read_bytes()
    pixels = io.read(written).pixels
    assert pixels.dtype == np.uint16
    written.unlink()
    from web.serving import SOURCE

    run = [sys.executable, "-c", job["python"]]
    subprocess.run(run, cwd=noisy.parent, env={"PYTHONPATH": str(SOURCE)}, check=True)
    np.testing.assert_array_equal(io.read(written).pixels, pixels)


def test_mask_kernel_and_reference_come_along(client, upload, finished, noisy, reference, tmp_path):
    mask = np.full((64, 72), 255, np.uint8)
    mask[10:14, 5:40] = 0
    io.write(tmp_path / "mask.png", io.ImageFile.of(mask))
    np.save(tmp_path / "psf.npy", kernels.disk(1.5))
    task = {
        "kind": "deblur",
        "denoiser": "tv",
        "max_iter": 2,
        "kernel_file": upload(tmp_path / "psf.npy", "kernel")["id"],
        "reference_file": upload(reference, "reference")["id"],
    }
    job = finished(upload(noisy), task)
    assert job["status"] == "done", job["error"]
    assert job["pages"][0]["quality"]["psnr"] > 15
    assert 0 < job["pages"][0]["quality"]["ssim"] < 1
    assert "quality_before" in job["pages"][0]
    command(job["command"], tmp_path)
    assert client.get(f"/api/jobs/{job['id']}/result").content == (tmp_path / job["output"]).read_bytes()
    gaps = {
        "kind": "inpaint",
        "denoiser": "tv",
        "max_iter": 2,
        "mask_file": upload(tmp_path / "mask.png", "mask")["id"],
    }
    job = finished(upload(noisy), gaps)
    (tmp_path / job["output"]).unlink()
    command(job["command"], tmp_path)
    assert client.get(f"/api/jobs/{job['id']}/result").content == (tmp_path / job["output"]).read_bytes()


def test_stack_has_pages_and_keeps_its_depth(client, upload, finished):
    stack = np.random.default_rng(0).normal(0.5, 0.1, (3, 40, 48)).astype(np.float32)
    file = upload(stack, name="stack.npy")
    assert (file["pages"], file["width"], file["height"], file["dtype"]) == (3, 48, 40, "float32")
    views = [shown(client.get(f"/api/files/{file['id']}/view", params={"page": page})) for page in range(3)]
    assert views[0].shape == (40, 48)
    assert not np.array_equal(views[0], views[2])
    assert client.get(f"/api/files/{file['id']}/view", params={"page": 3}).status_code == 422
    job = finished(file, {"kind": "denoise", "denoiser": "gaussian"})
    assert len(job["pages"]) == 3
    restored = np.load(streams.BytesIO(client.get(f"/api/jobs/{job['id']}/result").content))
    assert (restored.shape, restored.dtype) == ((3, 40, 48), np.float32)
    assert restored.std() < stack.std()
    assert shown(client.get(f"/api/jobs/{job['id']}/after", params={"page": 2})).shape == (40, 48)


def test_missing_pixels_are_taken_for_such(client, upload, finished):
    image = np.tile(np.linspace(0, 1, 40), (40, 1))
    image[5:8, 10:20] = np.nan
    file = upload(image)
    assert file["missing"] == 30
    refused = finished(file, {"kind": "denoise", "denoiser": "tv"})
    assert refused["status"] == "failed"
    assert refused["error"]["field"] == "kind"
    job = finished(file, {"kind": "inpaint", "denoiser": "tv"})
    restored = np.load(streams.BytesIO(client.get(f"/api/jobs/{job['id']}/result").content))
    assert np.isfinite(restored).all()


def test_photon_cube(client, upload, finished, tmp_path):
    bits = (np.random.default_rng(0).random((6, 64, 64)) < 0.4).astype(np.uint8)
    np.save(tmp_path / "bits.npy", bits)
    file = upload(tmp_path / "bits.npy")
    assert file["kind"] == "photons"
    task = {"kind": "photon", "denoiser": "tv", "max_iter": 2, "photon": {"oversampling": 2}}
    assert shown(client.get(f"/api/files/{file['id']}/view", params={"task": json.dumps(task)})).shape == (32, 32)
    job = finished(file, task)
    assert job["output"] == "bits-restored.png"
    command(job["command"], tmp_path)
    assert client.get(f"/api/jobs/{job['id']}/result").content == (tmp_path / "bits-restored.png").read_bytes()
    packed = tmp_path / "cube.bin"
    packed.write_bytes(np.packbits(bits, axis=2).tobytes())
    file = upload(packed)
    refused = client.get(f"/api/files/{file['id']}/view", params={"task": json.dumps(task)})
    assert (refused.status_code, refused.json()["error"]["field"]) == (422, "photon")
    task["photon"] = {"oversampling": 2, "frame_shape": [64, 64]}
    assert finished(file, task)["status"] == "done"


@pytest.mark.parametrize(
    "task",
    [
        {"kind": "denoise"},
        {"kind": "deblur", "kernel": "motion:9,30"},
        {"kind": "upscale", "factor": 3},
    ],
    ids=lambda task: task["kind"],
)
def test_preview_shows_the_crop_that_was_asked_for(client, upload, noisy, task):
    file = upload(noisy)
    question = {"file": file["id"], "task": task, "client": "test", "page": 0, "centre": [0.1, 0.9]}
    response = client.post("/api/preview", json=question)
    rendered, box = shown(response), json.loads(response.headers["x-crop"])
    scale = task.get("factor", 1)
    assert rendered.shape == (box["height"] * scale, box["width"] * scale)
    assert box["top"] == 0
    assert box["left"] + box["width"] == 72
    if scale == 1:  # it resembles what was there, and is smoother
        view = shown(client.get(f"/api/files/{file['id']}/view")).astype(float)
        crop = view[: box["height"], box["left"] :]
        assert np.corrcoef(crop.ravel(), rendered.ravel())[0, 1] > 0.8


def test_newer_preview_takes_the_place_of_an_older_one(client, upload):
    import threading

    import httpx

    file = upload(np.random.default_rng(0).random((200, 200, 3)).astype(np.float32))
    question = {"file": file["id"], "client": "tab", "page": 0, "centre": [0.5, 0.5]}
    question["task"] = {"kind": "deblur", "kernel": "disk:6", "denoiser": "dsg-nlm"}
    codes = []

    def ask(base):
        codes.append(httpx.post(f"{base}/api/preview", json=question, timeout=60).status_code)

    older = threading.Thread(target=ask, args=(str(client.base_url),))
    older.start()
    time.sleep(0.3)
    newer = client.post("/api/preview", json={**question, "task": {"kind": "denoise", "denoiser": "tv"}})
    older.join()
    assert newer.status_code == 200
    assert codes == [409]


def test_cancelling_is_quick_and_the_next_job_runs(client, upload, finished):
    large = upload(np.random.default_rng(0).random((600, 600, 3)).astype(np.float32))
    slow = client.post("/api/jobs", json={"file": large["id"], "task": SLOW}).json()
    waiting = client.post("/api/jobs", json={"file": large["id"], "task": SLOW}).json()
    deadline = time.monotonic() + 60
    while client.get(f"/api/jobs/{slow['id']}").json()["status"] == "queued":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert client.get(f"/api/jobs/{waiting['id']}").json()["position"] == 1
    assert client.delete(f"/api/jobs/{waiting['id']}").json()["status"] == "cancelled"
    assert client.post(f"/api/jobs/{slow['id']}/cancel").json()["status"] == "cancelled"
    assert client.get(f"/api/jobs/{slow['id']}/result").status_code == 409
    small = upload(np.zeros((20, 20)))
    assert finished(small, {"kind": "denoise", "denoiser": "tv", "noise": 0.1})["status"] == "done"
    assert client.delete(f"/api/jobs/{slow['id']}").status_code == 204
    assert client.get(f"/api/jobs/{slow['id']}").status_code == 404


def test_one_request_is_enough_for_a_script(client, noisy):
    task = json.dumps({"kind": "denoise", "denoiser": "tv"})
    started = client.post("/api/jobs", files={"image": (noisy.name, noisy.read_bytes())}, data={"task": task})
    assert started.status_code == 201
    address = started.headers["location"]
    while client.get(address).json()["status"] in ("queued", "running"):
        time.sleep(0.05)
    assert client.get(f"{address}/result").status_code == 200
    used = client.get(f"{address}/parameters").json()
    assert used["task"]["denoiser"] == "tv"
    assert used["pages"][0]["parameters"]["noise"] > 0
    assert used["command"].startswith("plugplay denoise")


def test_wrong_files_are_refused_in_plain_words(client, server, tmp_path):
    damaged = (tmp_path / "a.png", tmp_path / "b.tif", tmp_path / "c.npy", tmp_path / "d.fits")
    heads = (b"\x89PNG\r\n\x1a\n\0\0\0\0", b"II*\0\xff\xff\xff\x7f", b"\x93NUMPY\x01\0\xff\xff", b"SIMPLE  =")
    cases = [(path.name, head) for path, head in zip(damaged, heads, strict=True)]
    for name, content in [*cases, ("notes.txt", b"hello"), ("empty.png", b""), ("../../x.png", b"hello")]:
        response = client.post("/api/files", files={"file": (name, content)})
        assert response.status_code == 422, name
        message = response.json()["error"]["message"]
        assert message
        for secret in (str(server[2]), "/tmp", "upload", "Traceback"):
            assert secret not in message
    left = [path for path in server[2].rglob("*") if path.is_file() and path.stat().st_size in (5, 9, 10, 12)]
    assert left == []


def test_companions_that_do_not_fit_are_blamed(upload, finished, noisy, tmp_path):
    io.write(tmp_path / "small.png", io.ImageFile.of(np.full((8, 8), 255, np.uint8)))
    image = upload(noisy)
    for role, kind in (("mask", "inpaint"), ("reference", "denoise")):
        other = upload(tmp_path / "small.png", role)
        job = finished(image, {"kind": kind, "denoiser": "tv", f"{role}_file": other["id"]})
        assert job["status"] == "failed"
        assert job["error"]["field"] == f"{role}_file"
    job = finished(image, {"kind": "deblur", "kernel": "disk:60", "denoiser": "tv"})
    assert job["error"]["field"] == "kernel"


@pytest.mark.parametrize(
    ("method", "path", "options", "status"),
    [
        ("GET", "/nothing", {}, 404),
        ("PUT", "/api/jobs", {}, 405),
        ("GET", "/static/../app.py", {}, 404),
        ("GET", "/static/%2e%2e/app.py", {}, 404),
        ("GET", "/api/files/../../etc/passwd", {}, 404),
        ("GET", "/api/files/" + "0" * 32, {}, 404),
        ("GET", "/api/jobs/x", {}, 404),
        ("POST", "/api/jobs", {"content": b"{"}, 415),
        ("POST", "/api/jobs", {"content": b"{", "headers": {"content-type": "application/json"}}, 400),
        ("POST", "/api/jobs", {"json": {"file": "x", "task": {}}}, 404),
        ("POST", "/api/jobs", {"json": [1]}, 400),
        ("POST", "/api/files", {"content": b"x"}, 400),
        ("POST", "/api/files?role=virus", {"files": {"file": b"x"}}, 422),
        ("POST", "/api/files", {"files": {"other": b"x"}}, 422),
        ("POST", "/api/preview", {"json": {"file": None}}, 404),
        ("POST", "/api/examples/none", {}, 404),
        ("GET", "/api/kernel?words=/etc/passwd", {}, 422),
        ("GET", "/api/kernel", {}, 422),
        ("POST", "/api/jobs", {"content": b"[" * 60000, "headers": {"content-type": "application/json"}}, 400),
        ("POST", "/api/jobs", {"content": b" " * 70000, "headers": {"content-type": "application/json"}}, 413),
    ],
)
def test_refusals(client, method, path, options, status):
    response = client.request(method, path, **options)
    assert response.status_code == status, response.text
    assert response.json()["error"]["message"]


def test_file_in_use_is_kept(client, upload, finished):
    file = upload(np.eye(20))
    job = finished(file, {"kind": "denoise", "denoiser": "tv", "noise": 0.1})
    assert client.delete(f"/api/files/{file['id']}").status_code == 409
    assert client.delete(f"/api/jobs/{job['id']}").status_code == 204
    assert client.delete(f"/api/files/{file['id']}").status_code == 204
    assert client.get(f"/api/files/{file['id']}").status_code == 404


@pytest.mark.parametrize("name", ["noise", "motion", "photons"])
def test_examples_are_files_like_any_other(client, finished, name):
    made = client.post(f"/api/examples/{name}").json()
    job = finished(made["file"], {**made["task"], "denoiser": "tv"})
    assert job["status"] == "done"
    page = job["pages"][0]
    assert page["quality"]["psnr"] > page["quality_before"]["psnr"]


def test_interface_is_described(client):
    from plugplay.web.api import api_routes

    described = client.get("/api/openapi.json").json()
    told = {(path, verb.upper()) for path, item in described["paths"].items() for verb in item if verb != "parameters"}
    routes = {(route.path, method) for route in api_routes(None) for method in route.methods if method != "HEAD"}
    assert told == routes
