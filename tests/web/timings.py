"""How long the page and the preview take: ``python tests/web/timings.py``."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from plugplay.web.app import assets
from web.serving import running


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
        out(f"load average meanwhile: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")


if __name__ == "__main__":
    main()
