"""Run every snippet of the documents as a reader would type it: ``python docs/tools/snippets.py [PAGE ...]``.

Each page, README and CONTRIBUTING included, gets a folder of its own with small files of the names that it speaks of
(``snippet_files.py``). Blocks of Python share one namespace, blocks of shell run in bash with the installed command.
Large numbers are made small first (`SMALLER`). Servers are started and ended with the page. What is not run is printed
with the reason: installing, what takes hours, what another test runs, and what is not installed here.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
WRITTEN = {"gallery", "api", "_build", "project"}

# The same command on less: a crop, a frame, a folder that this machine has.
SMALLER = (
    ("400,300,256,256", "8,8,48,48"),
    ("--frame-shape 1024,1024", "--frame-shape 64,64"),
    ("--window 100 --stride 25", "--window 50 --stride 50"),
    ("motion:15,30", "motion:7,30"),
    ("processes:4", "processes:2"),
    ("--contact-sheet sheet.png", "--contact-sheet sheet.png --denoiser tv"),
    ("--tune sure", "--tune sure --denoiser tv"),
    ("reproduce all", "reproduce images --quick"),
    ('device="cuda"', 'device="cpu"'),
    ("plugplay demo", "plugplay demo --out demo"),
    ("napari -w plugplay", "timeout 60 python -m napari -w plugplay || [ $? = 124 ]"),  # until it is closed
)
# Lines that are not run, and why.
LEFT_OUT = (
    (r"pip install|python -m venv|bin/activate", "installs; .ci/run does so"),
    (r"pytest -n auto|ruff check|^mypy", "run by .ci/run"),
    (r"^\.ci/long", "takes hours, by hand before a release"),
    (r"^python (-m )?(benchmarks|training)", "takes minutes to days; tests/docs checks that it knows its options"),
    (r"^python -m tests\.fuzz", "run by tests/fuzz with other cases"),
    (r"^dask (scheduler|worker)", "started beside the page"),
    (r"^plugplay serve", "a server; those of serve.md talk to one"),
)
# Pages whose Python is run by tests that also check what the page says about it.
TESTED = {
    "bring-your-own-denoiser.md": "tests/docs/test_bring_your_own_denoiser.py",
    "own-model.md": "tests/docs/test_own_model.py",
    "CONTRIBUTING.md": "tests/docs/test_contributing.py",
}
# What a page cannot be run without.
NEEDS = {
    "training.md": ("onnxruntime", "torch"),
    "howto/clusters.md": ("dask", "distributed"),
    "scale.md": ("dask", "distributed", "zarr"),
    "start/astronomer.md": ("astropy",),
    "howto/masks.md": ("astropy",),
    "command-line.md": ("astropy",),
    "serve.md": ("starlette", "uvicorn"),
    "howto/napari.md": ("napari",),
}
BLOCK_NEEDS = {"# needs torch": ("torch",), "# needs weights": ("torch", "safetensors")}


@dataclass
class Report:
    """What became of a page: blocks that ran, lines that did not with the reason, and errors."""

    page: str
    ran: int = 0
    left_out: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    seconds: float = 0.0


def pages() -> list[Path]:
    """Return README, CONTRIBUTING and every page that is written by hand."""
    written = [path for path in DOCS.rglob("*.md") if not WRITTEN & set(path.relative_to(DOCS).parts)]
    return [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *sorted(path for path in written if path.name != "commands.md"),
    ]


def name_of(page: Path) -> str:
    """Return the name of a page within the documents."""
    return page.relative_to(DOCS if DOCS in page.parents else ROOT).as_posix()


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return kind (python or sh) and text of the blocks of a page; blocks of commands count without a label, too."""
    # All fences are read, of other kinds too: else the end of one of those would pass for the beginning of a block.
    found = re.findall(r"^```([^\n]*)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    unlabelled = re.compile(r"(plugplay|python|pip|curl) ")
    return [
        (kind or "sh", text)
        for kind, text in found
        if kind in ("python", "sh") or (not kind and unlabelled.match(text))
    ]


def smaller(text: str) -> str:
    """Return the same snippet on less data.

    Examples
    --------
    >>> smaller("plugplay deblur photo.jpg --kernel motion:15,30")
    'plugplay deblur photo.jpg --kernel motion:7,30'
    """
    for large, small in SMALLER:
        text = text.replace(large, small)
    return text


def reason(line: str) -> str | None:
    """Return why a line of shell is not run, or None.

    Examples
    --------
    >>> reason(".ci/long  # both fuzzers")
    'takes hours, by hand before a release'
    >>> reason("plugplay denoise noisy.png -o clean.png")
    """
    return next((why for pattern, why in LEFT_OUT if re.search(pattern, line)), None)


def parts(block: str) -> Iterator[str]:
    """Yield the lines of a block of shell, those that are continued as one, parts joined by && apart."""
    for line in re.sub(r"(\\|(?<=\|))\n", " ", block).splitlines():
        text = re.split(r"\s+#", line)[0].strip()
        yield from (part.strip() for part in text.split("&&") if part.strip() and not part.startswith("#"))


def run(page: Path) -> Report:
    """Run a page in a folder of its own, and tell what became of it."""
    report, began = Report(name_of(page)), sum(os.times()[:4])
    missing = [module for module in NEEDS.get(report.page, ()) if not importlib.util.find_spec(module)]
    if missing:
        report.left_out.append(f"the whole page: {', '.join(missing)} not installed")
        return report
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, contextlib.chdir(folder):
        text = smaller("".join(block for _, block in blocks(page)))
        try:
            with _servers(text, report.page) as places:
                _run_blocks(page, text, report, places)
        except Exception:
            report.errors.append(traceback.format_exc(limit=-3))
    report.seconds = sum(os.times()[:4]) - began
    return report


def _run_blocks(page: Path, text: str, report: Report, places: dict[str, str]) -> None:
    import snippet_files

    if page.parent.name != "start":  # those pages make their own
        snippet_files.make(Path(), text)
    names = snippet_files.names(report.page)
    for kind, block in blocks(page):
        if kind == "python":
            _python(smaller(block), names, report)
        else:
            _shell(smaller(block), report, places)


def _python(block: str, names: dict[str, object], report: Report) -> None:
    needs = next((modules for mark, modules in BLOCK_NEEDS.items() if block.startswith(mark)), None)
    missing = [module for module in needs or () if not importlib.util.find_spec(module)]
    if missing:
        report.left_out.append(f"a block of Python: {', '.join(missing)} not installed")
    elif report.page in TESTED and needs is None:
        report.left_out.append(f"a block of Python: run by {TESTED[report.page]}")
    elif "__main__" in block:  # a script
        Path("script.py").write_text(block, encoding="utf-8")
        _bash(f"{sys.executable} script.py", report)
    else:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            # Without the future of this module: annotations are those of a reader.
            exec(compile(block, report.page, "exec", dont_inherit=True), names)
        report.ran += 1


def _shell(block: str, report: Report, places: dict[str, str]) -> None:
    run_these = []
    for line in parts(block):
        why = reason(line)
        if why is None:
            run_these.append(line)
        else:
            report.left_out.append(f"{line}: {why}")
    if run_these:
        script = "\n".join(run_these)
        for written, here in places.items():
            script = script.replace(written, here)
        _bash(script, report)


def _bash(script: str, report: Report) -> None:
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "OPENBLAS_NUM_THREADS": "1",
        "SLURM_ARRAY_TASK_ID": "0",
        "QT_QPA_PLATFORM": "offscreen",
    }
    ended = subprocess.run(
        ["bash", "-euxo", "pipefail", "-c", script], env=environment, capture_output=True, text=True, timeout=900
    )
    report.ran += 1
    if ended.returncode:
        report.errors.append(f"exit code {ended.returncode}:\n{ended.stdout[-1500:]}\n{ended.stderr[-1500:]}")


@contextlib.contextmanager
def _servers(text: str, page: str) -> Iterator[dict[str, str]]:
    """Start what the commands of a page talk to; yield the written addresses with those of this run."""
    here, running = {}, []
    try:
        if "tcp://head:8786" in text:
            port = _free_port()
            here["tcp://head:8786"] = address = f"tcp://127.0.0.1:{port}"
            running.append(_started("dask", "scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"))
            running.append(_started("dask", "worker", address, "--nthreads", "1", "--no-dashboard"))
            _wait_for(port)
        if page == "serve.md":
            port = _free_port()
            here["127.0.0.1:8420"] = f"127.0.0.1:{port}"
            running.append(_started("plugplay", "serve", "--no-browser", "--port", str(port)))
            _wait_for(port)
        yield here
    finally:
        for process in running:
            process.send_signal(signal.SIGINT)
        for process in running:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def _started(*words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _wait_for(port: int, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)
        else:
            return


def main(arguments: list[str]) -> int:
    """Run the pages that are named, or all; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="*", help="names such as files.md or start/astronomer.md; all if none is given")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(arguments)
    if not shutil.which("bash") or not shutil.which("curl"):
        parser.error("bash and curl are needed to run blocks of shell")
    chosen = [page for page in pages() if blocks(page) and (not options.pages or name_of(page) in options.pages)]
    unknown = set(options.pages) - set(map(name_of, chosen))
    if unknown:
        parser.error(f"no snippets in {', '.join(sorted(unknown))}; pages are {', '.join(map(name_of, pages()))}")
    failed = 0
    with ProcessPoolExecutor(options.workers) as pool:
        for report in pool.map(run, chosen):
            failed += bool(report.errors)
            sys.stdout.write(f"{report.page}: {report.ran} blocks, {report.seconds:.0f} s of CPU time\n")
            sys.stdout.writelines(f"  not run: {line}\n" for line in report.left_out)
            sys.stdout.writelines(f"  FAILED: {error}\n" for error in report.errors)
            sys.stdout.flush()
    sys.stdout.write(f"{len(chosen)} pages, {failed} failed\n")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
