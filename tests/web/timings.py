"""How long the page and the preview take: ``python tests/web/timings.py``."""

from __future__ import annotations

import io
import json
import os
import sys
import time
from pathlib import Path

import httpx
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from plugplay.web.app import assets
from web.serving import running


def _cancelled(client: httpx.Client, denoiser: str) -> float:
    """Return how long it takes to cancel a large job that is at work."""
    stream = io.BytesIO()
    np.save(stream, np.random.default_rng(0).random((1500, 2000, 3)).astype(np.float32))
    task = json.dumps({"kind": "deblur", "kernel": "disk:3", "denoiser": denoiser, "noise": 0.05})
    files = {"image": ("large.npy", stream.getvalue())}
    job = client.post("/api/jobs", files=files, data={"task": task}).json()
    while client.get(f"/api/jobs/{job['id']}").json()["status"] == "queued":
        time.sleep(0.1)
    time.sleep(8)
    began = time.perf_counter()
    assert client.post(f"/api/jobs/{job['id']}/cancel").json()["status"] == "cancelled"
    return time.perf_counter() - began


def main() -> None:
    """Print the figures that the documentation and the reviews quote."""
    out = sys.stdout.write
    with running() as (address, _), httpx.Client(base_url=address, timeout=120) as client:
        began = time.perf_counter()
        for name in assets():
            client.get("/" if name == "index.html" else f"/static/{name}").raise_for_status()
        out(f"page with all its files, right after the server listens: {1000 * (time.perf_counter() - began):.0f} ms\n")
        out(f"page weight: {sum(map(len, assets().values()))} bytes\n")
        tasks = {"noise": {"kind": "upscale", "factor": 2}, "motion": None, "photons": None}
        for name, other in tasks.items():
            made = client.post(f"/api/examples/{name}").json()
            for task in filter(None, (made["task"], other)):
                asked = {"file": made["file"]["id"], "task": task, "client": "timing", "page": 0}
                taken = []
                for place in (0.5, 0.4, 0.6, 0.5, 0.3):
                    began = time.perf_counter()
                    client.post("/api/preview", json={**asked, "centre": [place, 0.5]}).raise_for_status()
                    taken.append(time.perf_counter() - began)
                out(f"preview, {name}, {task['kind']}: first {taken[0]:.2f} s, then {min(taken[1:]):.2f} s or more\n")
        for denoiser in ("bm3d", "dsg-nlm"):
            out(f"cancelling a job with {denoiser}: {_cancelled(client, denoiser):.2f} s\n")
        out(f"load average meanwhile: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")


if __name__ == "__main__":
    main()
