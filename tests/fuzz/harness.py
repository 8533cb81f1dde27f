"""Runs cases in a process of its own, under limits of memory and time, so that whatever happens is one failure.

A case is a seed and a number: the same two make the same case on every machine.
"""

from __future__ import annotations

import argparse
import faulthandler
import importlib
import json
import logging
import os
import re
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
# Beyond what the imported libraries take.
MEMORY = 2**30
SECONDS = 30
KINDS = ("files", "calls")


@dataclass(frozen=True)
class Failure:
    """What went wrong in one case: `title` tells kinds of failures apart, `detail` helps to mend it."""

    kind: str
    seed: int
    case: int
    title: str
    detail: str

    def __str__(self) -> str:
        again = f"python -m tests.fuzz --only {self.kind} --seed {self.seed} --first {self.case} --cases 1"
        return f"{self.title}\n    again: {again}\n    {self.detail}"


class DefectError(Exception):
    """A promise that was not kept, found by a fuzzer."""


def fuzz(kind: str, *, seed: int, first: int, cases: int) -> list[Failure]:
    """Run `cases` cases from `first` on, and return what failed; crashes and hangs fail one case each."""
    failures: list[Failure] = []
    end = first + cases
    while first < end:
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report"
            arguments = ["--worker", str(report), "--only", kind, "--seed", str(seed)]
            words = [sys.executable, "-m", "tests.fuzz", *arguments, "--first", str(first), "--cases", str(end - first)]
            source = str(ROOT / "src")
            environment = {**os.environ, "PYTHONPATH": source, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}
            done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
            lines = [json.loads(line) for line in report.read_text().splitlines()] if report.exists() else []
        failures += [Failure(**line["failure"]) for line in lines if "failure" in line]
        reached = max((line["case"] for line in lines if "case" in line), default=first)
        if done.returncode == 0:
            break
        if not lines:
            raise RuntimeError(f"the fuzzer itself does not start: {done.stderr[-2000:]}")
        failures.append(Failure(kind, seed, reached, _last_words(done), done.stderr[-2000:]))
        first = reached + 1
    return failures


def _last_words(done: subprocess.CompletedProcess[str]) -> str:
    """Return what ended a process: a place where it hung, or its exit code."""
    place = re.search(r'plugplay/(?:[a-z0-9_]+/)*([a-z0-9_]+\.py)", line \d+ in (\w+)', done.stderr)
    if done.stderr.startswith("Timeout") and place is not None:
        return f"hangs in {place[1]}:{place[2]}"
    return f"the process ended with {done.returncode}"


def work(kind: str, *, seed: int, first: int, cases: int, report: Path) -> None:
    """Run cases in this process, which is limited."""
    module = importlib.import_module(f"tests.fuzz.{kind}")
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder, report.open("w") as stream:

        def say(**line: object) -> None:
            stream.write(json.dumps(line) + "\n")
            stream.flush()

        suite = module.Suite(Path(folder))
        limit_memory()
        for case in range(first, first + cases):
            say(case=case)
            faulthandler.dump_traceback_later(SECONDS, exit=True)
            title, detail = outcome(suite, seed, case)
            if title:
                say(failure={"kind": kind, "seed": seed, "case": case, "title": title, "detail": detail})
        faulthandler.cancel_dump_traceback_later()


def outcome(suite: object, seed: int, case: int) -> tuple[str, str]:
    """Return the title and the details of what failed in one case; nothing if nothing did."""
    rng = np.random.default_rng([seed, case])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            suite.run(rng)  # type: ignore[attr-defined]
        except DefectError as defect:
            return str(defect).partition("\n")[0], str(defect)
        except Exception as error:  # the suite itself lets only defects through
            return f"fuzzer: {type(error).__name__}: {error}", traceback.format_exc()
    return "", ""


def limit_memory() -> None:
    """Allow this process so much address space and no more."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if Path("/proc/self/statm").exists() else 0
    if pages:
        allowed = pages * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (allowed, allowed))


def main() -> int:
    """Run the fuzzers from the command line; return 1 if anything failed that is not known."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000, help="cases of each kind (default: 1000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--only", choices=KINDS)
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker is not None:
        work(options.only, seed=options.seed, first=options.first, cases=options.cases, report=options.worker)
        return 0
    from tests.fuzz.known import is_known

    bad = 0
    for kind in KINDS if options.only is None else (options.only,):
        start = time.perf_counter()
        failures = fuzz(kind, seed=options.seed, first=options.first, cases=options.cases)
        new = [failure for failure in failures if not is_known(failure.title)]
        known = len(failures) - len(new)
        seconds = time.perf_counter() - start
        print(f"{kind}: {options.cases} cases in {seconds:.0f} s, {len(new)} failed, {known} in known ways")  # noqa: T201
        for title, count in Counter(failure.title for failure in failures).most_common():
            example = next(failure for failure in failures if failure.title == title)
            print(f"  known, {count} x {title}" if is_known(title) else f"\n{count} x {example}")  # noqa: T201
        bad += len(new)
    return 1 if bad else 0
