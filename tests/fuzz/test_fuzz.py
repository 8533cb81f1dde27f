"""The short runs of both fuzzers, and tests of the fuzzers themselves."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from fuzz.harness import ROOT, fuzz
from fuzz.known import is_known

limited = pytest.mark.skipif(os.name != "posix", reason="memory is limited by POSIX's means")


@limited
@pytest.mark.parametrize(("kind", "cases"), [("files", 300), ("calls", 500)])
def test_nothing_new_fails(kind, cases):
    failures = [failure for failure in fuzz(kind, seed=0, first=0, cases=cases) if not is_known(failure.title)]
    assert not failures, "\n".join(map(str, failures))


FAKE = """
import os
from tests.fuzz.harness import DefectError
class Suite:
    def __init__(self, folder): self.folder = folder
    def run(self, rng):
        kind = int(rng.integers(6))
        if kind == 0: raise DefectError("a promise")
        if kind == 1: raise KeyError("not caught")
        if kind == 2: os.abort()
        if kind == 3: bytearray(2**31)
"""


@limited
def test_the_harness_sees_defects_crashes_and_memory(tmp_path):
    # A suite of accidents in the place of the real one.
    code = f"""
import sys, types
module = types.ModuleType("tests.fuzz.calls")
exec({FAKE!r}, module.__dict__)
sys.modules["tests.fuzz.calls"] = module
from pathlib import Path
from tests.fuzz import harness
harness.work("calls", seed=3, first=int(sys.argv[1]), cases=int(sys.argv[2]), report=Path(sys.argv[3]))
"""
    kinds = [int(np.random.default_rng([3, case]).integers(6)) for case in range(30)]
    first, seen = 0, {}
    while first < 30:
        report = tmp_path / "report"
        words = [sys.executable, "-c", code, str(first), str(30 - first), str(report)]
        environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
        done = subprocess.run(words, env=environment, capture_output=True, check=False, timeout=60)
        lines = [json.loads(line) for line in report.read_text().splitlines()]
        seen |= {line["failure"]["case"]: line["failure"]["title"] for line in lines if "failure" in line}
        if done.returncode == 0:
            break
        first = max(line["case"] for line in lines if "case" in line)
        seen[first] = f"crash {done.returncode}"
        first += 1
    titles = {0: "a promise", 1: "fuzzer: KeyError: 'not caught'", 2: "crash -6", 3: "fuzzer: MemoryError: "}
    assert seen == {case: titles[kind] for case, kind in enumerate(kinds) if kind in titles}
    assert set(kinds) >= {0, 1, 2, 3}
