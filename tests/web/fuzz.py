"""Requests that nobody would send on purpose: ``python tests/web/fuzz.py 10000``.

What is sent follows from the seed. Every answer must be one of ours (no 5xx), no message may tell a path of the server,
and in the end the server answers, has no file left, and has its memory back.
"""

from __future__ import annotations

import io
import json
import random
import sys
import tempfile
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import numpy as np

PATHS = [
    "/",
    "/api",
    "/api/openapi.json",
    "/api/files",
    "/api/files/{id}",
    "/api/files/{id}/view",
    "/api/examples/{junk}",
    "/api/kernel",
    "/api/preview",
    "/api/jobs",
    "/api/jobs/{job}",
    "/api/jobs/{job}/cancel",
    "/api/jobs/{job}/before",
    "/api/jobs/{job}/after",
    "/api/jobs/{job}/preview",
    "/api/jobs/{job}/result",
    "/api/jobs/{job}/parameters",
    "/static/{junk}",
    "/{junk}",
]
SENT = ["/api/files", "/api/preview", "/api/jobs", "/api/jobs/{job}/cancel"]
METHODS = ["GET", "GET", "POST", "POST", "POST", "DELETE", "PUT", "HEAD", "OPTIONS", "PATCH"]
WORDS = [
    "",
    "0",
    "-1",
    "1e400",
    "nan",
    "true",
    "null",
    "auto",
    "poisson",
    "denoise",
    "deblur",
    "upscale",
    "inpaint",
    "photon",
    "bm3d",
    "tv",
    "gaussian:1.5",
    "motion:9,30",
    "disk:99",
    "/etc/passwd",
    "../../../../etc/passwd",
    "file:///etc/passwd",
    "%00",
    "\u202e",
    "a" * 5000,
    "☃",
    "'; DROP TABLE jobs; --",
    "<script>alert(1)</script>",
]
KEYS = [
    "kind",
    "noise",
    "kernel",
    "kernel_file",
    "mask_file",
    "reference_file",
    "factor",
    "denoiser",
    "max_iter",
    "photon",
    "file",
    "task",
    "client",
    "page",
    "centre",
    "oversampling",
    "frame_shape",
    "packed_axis",
    "__class__",
]


class Fuzzer:
    """Sends one request after another."""

    def __init__(self, client: httpx.Client, seed: int) -> None:
        self.client, self.random = client, random.Random(seed)
        self.files: list[str] = []
        self.jobs: list[str] = []
        self.statuses: Counter[int] = Counter()

    def once(self) -> None:
        """Send a request and look at the answer."""
        path, method = self.random.choice(PATHS), self.random.choice(METHODS)
        if self.random.random() < 0.6:
            method = "POST" if path in SENT else "GET"
        if self.random.random() < 0.15:
            path, method = self.random.choice(["/api/files", "/api/jobs", "/api/preview"]), "POST"
        path = path.replace("{id}", self.identifier(self.files)).replace("{job}", self.identifier(self.jobs))
        path = path.replace("{junk}", self.junk().replace("?", "").replace("#", "")[:200] or "x")
        options: dict[str, Any] = {
            "params": {self.random.choice(["page", "task", "words", "file", "role", "x"]): self.word()}
        }
        if method in ("POST", "PUT", "PATCH"):
            options.update(self.body())
        if self.random.random() < 0.1:
            options["headers"] = {
                **options.get("headers", {}),
                self.random.choice(["origin", "host", "cookie", "content-type", "range", "authorization"]): (
                    self.junk()
                    .encode("ascii", "ignore")
                    .decode()
                    .replace("\r", "")
                    .replace("\n", "")
                    .replace("\0", "")[:100]
                ),
            }
        try:
            response = self.client.request(method, path, **options)
        except (httpx.InvalidURL, httpx.LocalProtocolError, UnicodeError, httpx.WriteError, httpx.ReadError):
            return  # the client itself refuses to send it, or the server closed while it was being sent
        except httpx.RemoteProtocolError:
            self.statuses[0] += 1  # the connection was closed, as it should be for what is not HTTP
            return
        self.statuses[response.status_code] += 1
        assert response.status_code < 500 or response.status_code == 507, (method, path, options, response.text)
        if response.status_code >= 400:
            for secret in (tempfile.gettempdir() + "/plugplay", "Traceback", "site-packages"):
                assert secret not in response.text, (method, path, response.text)
        if response.status_code == 201:
            found = response.json()
            if "status" in found:
                self.jobs.append(found["id"])
            else:
                made = [found.get("id") or found["file"]["id"], found.get("task", {}).get("reference_file")]
                self.files += [identifier for identifier in made if identifier]

    def identifier(self, known: list[str]) -> str:
        if known and self.random.random() < 0.7:
            return self.random.choice(known)
        return self.random.choice(["0" * 32, "x", "..", "%2e%2e", "a" * 500])

    def word(self) -> str:
        return self.random.choice([*WORDS, *self.files[-3:], *self.jobs[-3:]])

    def junk(self) -> str:
        return "".join(
            chr(self.random.choice([self.random.randrange(1, 127), self.random.randrange(1, 0xD7FF)]))
            for _ in range(12)
        )

    def value(self, depth: int = 0) -> Any:
        kind = self.random.randrange(9 if depth < 3 else 6)
        simple = [self.word(), self.random.randrange(-5, 100), self.random.random(), None, True, 10**30]
        if kind < 6:
            return simple[kind]
        if kind == 6:
            return [self.value(depth + 1) for _ in range(self.random.randrange(4))]
        return {self.random.choice(KEYS): self.value(depth + 1) for _ in range(self.random.randrange(5))}

    def question(self) -> dict[str, Any]:
        task = {
            "kind": self.random.choice(["denoise", "deblur", "upscale", "inpaint", "photon"]),
            "denoiser": "gaussian",
            "max_iter": 1,
        }
        if task["kind"] == "deblur":
            task["kernel"] = "box:3"
        for _ in range(self.random.randrange(2)):
            task[self.random.choice(KEYS)] = self.value()
        asked = {"file": self.word() if not self.files else self.random.choice(self.files), "task": task}
        asked.update(
            {"client": "fuzz", "page": self.random.choice([0, 0, 1, -1]), "centre": [0.5, self.random.random()]}
        )
        if self.random.random() < 0.3:
            asked[self.random.choice(KEYS)] = self.value()
        return asked

    def body(self) -> dict[str, Any]:
        kind = self.random.randrange(5)
        if kind == 0:
            return {"json": self.value()}
        if kind == 1:
            return {"json": self.question()}
        if kind == 2:
            return {
                "content": self.random.randbytes(self.random.randrange(2000)),
                "headers": {
                    "content-type": self.random.choice(
                        [
                            "application/json",
                            "multipart/form-data",
                            "multipart/form-data; boundary=x",
                            "text/plain",
                            "multipart/form-data; charset=hex; boundary=y",
                        ]
                    )
                },
            }
        name = self.random.choice(
            ["a.png", "a.tif", "a.npy", "a.bin", "a.mat", "a.fits", "a", "../../x.png", self.junk()]
        )
        fields = self.random.sample(["file", "file", "image", "image", "mask", "kernel", "junk"], 2)
        files = {field: (name, self.content()) for field in fields}
        return {"files": files, "data": {"task": json.dumps(self.question()["task"])}}

    def content(self) -> bytes:
        """Return a small file that is sound, damaged or made of noise."""
        kind = self.random.randrange(4)
        if kind == 0:
            return self.random.randbytes(self.random.randrange(3000))
        stream = io.BytesIO()
        rng = np.random.default_rng(self.random.randrange(2**32))
        if kind == 1:
            np.save(stream, rng.random((self.random.randrange(1, 30), self.random.randrange(1, 30))).astype(np.float32))
        elif kind == 2:
            np.save(stream, rng.integers(0, 2, (3, 16, 16), dtype=np.uint8))
        else:
            size = self.random.choice([4, 4, 16, 100_000])  # a header may lie about its size
            raw = zlib.compress(rng.integers(0, 255, 17 * 16, dtype=np.uint8).tobytes())
            head = b"IHDR" + size.to_bytes(4, "big") * 2 + bytes([8, 0, 0, 0, 0])
            chunks = [head, b"IDAT" + raw, b"IEND"]
            stream.write(b"\x89PNG\r\n\x1a\n")
            for chunk in chunks:
                stream.write((len(chunk) - 4).to_bytes(4, "big") + chunk + zlib.crc32(chunk).to_bytes(4, "big"))
        content = bytearray(stream.getvalue())
        for _ in range(self.random.randrange(4)):
            content[self.random.randrange(len(content))] = self.random.randrange(256)
        return bytes(content[: self.random.randrange(1, len(content) + 1)] if self.random.random() < 0.2 else content)

    def clean_up(self) -> None:
        """Remove what was made."""
        for job in self.jobs:
            self.client.post(f"/api/jobs/{job}/cancel")
            assert self.client.delete(f"/api/jobs/{job}").status_code in (204, 404)
        for file in self.files:
            self.client.delete(f"/api/files/{file}")


def memory(pid: int) -> int:
    """Return the resident memory of a process in bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096


def main(count: int) -> None:
    """Fuzz a server of our own and report."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from web.serving import running

    with (
        tempfile.TemporaryDirectory() as folder,
        running(temporary=Path(folder)) as (address, process),
        httpx.Client(base_url=address, timeout=120) as client,
    ):
        warm = Fuzzer(client, 0)
        for _ in range(200):
            warm.once()
        warm.clean_up()
        before = memory(process.pid)
        fuzzer = Fuzzer(client, 1)
        for number in range(count):
            fuzzer.once()
            if number % 500 == 499:
                fuzzer.clean_up()
                fuzzer.files.clear()
                fuzzer.jobs.clear()
                counts = dict(sorted(fuzzer.statuses.items()))
                sys.stdout.write(f"{number + 1} {counts} {memory(process.pid) / 2**20:.0f} MiB\n")
                sys.stdout.flush()
        fuzzer.clean_up()
        assert client.get("/").status_code == 200
        after = memory(process.pid)
        left = [path for path in Path(folder).rglob("*") if path.is_file()]
        sys.stdout.write(f"server: {before / 2**20:.0f} MiB before, {after / 2**20:.0f} MiB after\n")
        sys.stdout.write(f"files left: {len(left)}\n")
        assert not left
        assert after < before + 2**26


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
