"""A server of our own, as users start it, for tests and screenshots."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src"
CHROMIUM = Path("/usr/bin/chromium")
CHROMIUM_OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@contextmanager
def running(*options: str, temporary: Path | None = None) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Start ``plugplay serve`` on a free port; give its address and process, and end it."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    if temporary is not None:
        environment["TMPDIR"] = str(temporary)
    command = [sys.executable, "-m", "plugplay", "serve", "--no-browser", "--port", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        address = None
        while address is None:
            line = process.stdout.readline()
            assert line, "the server has ended"
            address = re.search(r"http://\S+", line)
        yield address[0].rstrip("/"), process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()
